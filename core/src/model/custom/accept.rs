//! How a server of one's own accepts, in a document: the record's fields by their names.

use crate::cluster::accept::{Accept, AcceptWait, Backoff, Between, Keep, Room, Then};
use crate::value::{Node, Value};
use crate::workload::duration;
use std::time::Duration;

const KEYS: [&str; 5] = ["wait", "only_when_free", "backoff", "burst", "between"];
const WAITS: &[(&str, AcceptWait)] = &[
    ("herd", AcceptWait::Herd),
    ("exclusive", AcceptWait::Exclusive),
    ("blocking", AcceptWait::Blocking),
];
const ROOMS: &[(&str, Room)] =
    &[("always", Room::Always), ("where-others-wait", Room::WhereOthersWait)];
const THENS: &[(&str, Then)] = &[
    ("watch", Then::Watch),
    ("queue", Then::Queue),
    ("serve-where-one-waits", Then::ServeWhereOneWaits),
];
const BURST_MAX: i64 = 65_535;
const REQUESTS_MAX: i64 = 1_000_000_000;
const BACKOFF_ALLOWED: &str =
    "\"none\", or a table of until_one_ends, when_full, when_full_for or proportional, a duration";
const BETWEEN_ALLOWED: &str = "\"closed\", \"watched\", or a table of held_by_thread, a duration, or \
                               of then and requests_max";
const THEN_ALLOWED: &str = "\"watch\", \"queue\", \"serve-where-one-waits\", or a table of wait, \
                            in_a_row and room";

/// What is left out of a document.
pub(super) const DEFAULT: Accept = Accept {
    wait: AcceptWait::Herd,
    only_when_free: false,
    backoff: Backoff::None,
    burst: 1,
    between: Between::Watched,
};

/// Reads the table.
pub(super) fn read(node: &Node<'_>) -> Option<Accept> {
    let fields = node.table(&KEYS)?;
    let of = |key| fields.get(key);
    let wait = of("wait").map_or(Some(DEFAULT.wait), |node| one_of(node, WAITS));
    let only_when_free = of("only_when_free").map_or(Some(DEFAULT.only_when_free), switch);
    let backoff = of("backoff").map_or(Some(DEFAULT.backoff), |node| read_backoff(node, wait));
    let burst = match of("burst") {
        Some(node) => read_burst(node, wait),
        None => Some(DEFAULT.burst),
    };
    let between = match of("between") {
        Some(node) => read_between(node, only_when_free),
        None => Some(DEFAULT.between),
    };
    Some(Accept {
        wait: wait?,
        only_when_free: only_when_free?,
        backoff: backoff?,
        burst: burst?,
        between: between?,
    })
}

/// Writes what [`read`] reads back.
pub(super) fn to_value(accept: &Accept) -> Value {
    Value::table([
        ("wait", name_in(WAITS, accept.wait)),
        ("only_when_free", Value::Bool(accept.only_when_free)),
        ("backoff", backoff_value(accept.backoff)),
        ("burst", Value::Int(accept.burst.into())),
        ("between", between_value(accept.between)),
    ])
}

fn read_burst(node: &Node<'_>, wait: Option<AcceptWait>) -> Option<u32> {
    let burst = node.int(1..=BURST_MAX)? as u32;
    if burst > 1 && wait == Some(AcceptWait::Blocking) {
        return node.refuse("1 where the wait is \"blocking\", which gives one connection");
    }
    Some(burst)
}

fn read_backoff(node: &Node<'_>, wait: Option<AcceptWait>) -> Option<Backoff> {
    if let Value::Text(text) = node.value() {
        return if text == "none" { Some(Backoff::None) } else { node.refuse(BACKOFF_ALLOWED) };
    }
    if wait == Some(AcceptWait::Blocking) {
        return node.refuse("\"none\" where the wait is \"blocking\", which accepts as it wakes");
    }
    if !matches!(node.value(), Value::Table(_)) {
        return node.refuse(BACKOFF_ALLOWED);
    }
    let fields = node.table(&["until_one_ends", "when_full", "when_full_for", "proportional"])?;
    let mut all = fields.iter();
    let (Some((key, length)), None) = (all.next(), all.next()) else {
        return node.refuse(BACKOFF_ALLOWED);
    };
    let length = duration::read(length)?;
    Some(match key {
        "until_one_ends" => Backoff::UntilOneEnds { most: length },
        "when_full" => Backoff::WhenFull { unit: length },
        "when_full_for" => Backoff::WhenFullFor { length },
        _ => Backoff::Proportional { most: length },
    })
}

fn backoff_value(backoff: Backoff) -> Value {
    match backoff {
        Backoff::None => Value::text("none"),
        Backoff::UntilOneEnds { most } => span("until_one_ends", most),
        Backoff::WhenFull { unit } => span("when_full", unit),
        Backoff::WhenFullFor { length } => span("when_full_for", length),
        Backoff::Proportional { most } => span("proportional", most),
    }
}

fn read_between(node: &Node<'_>, only_when_free: Option<bool>) -> Option<Between> {
    match node.value() {
        Value::Text(text) if text == "closed" => return Some(Between::Closed),
        Value::Text(text) if text == "watched" => return Some(Between::Watched),
        Value::Table(_) => {}
        _ => return node.refuse(BETWEEN_ALLOWED),
    }
    let fields = node.table(&["held_by_thread", "requests_max", "then"])?;
    match (fields.get("held_by_thread"), fields.get("then")) {
        (Some(most), None) if fields.len() == 1 => {
            if only_when_free == Some(false) {
                return most
                    .refuse_as("this key", "only_when_free beside it, so that a thread waits");
            }
            Some(Between::HeldByThread { most: duration::read(most)? })
        }
        (None, Some(then)) => {
            let requests_max = match fields.get("requests_max") {
                Some(node) => node.int(1..=REQUESTS_MAX).map(|n| Some(n as u32)),
                None => Some(None),
            };
            let then = read_then(then);
            Some(Between::Kept(Keep { requests_max: requests_max?, then: then? }))
        }
        _ => node.refuse(BETWEEN_ALLOWED),
    }
}

fn between_value(between: Between) -> Value {
    match between {
        Between::Closed => Value::text("closed"),
        Between::Watched => Value::text("watched"),
        Between::HeldByThread { most } => span("held_by_thread", most),
        Between::Kept(Keep { requests_max, then }) => {
            let then = ("then", then_value(then));
            let most = requests_max.map(|n| ("requests_max", Value::Int(n.into())));
            Value::table(most.into_iter().chain([then]))
        }
    }
}

fn read_then(node: &Node<'_>) -> Option<Then> {
    if !matches!(node.value(), Value::Table(_)) {
        let named = |text: &&str| THENS.iter().find(|(name, _)| name == text);
        return match node.value() {
            Value::Text(text) => match named(&text.as_str()) {
                Some((_, then)) => Some(*then),
                None => node.refuse(THEN_ALLOWED),
            },
            _ => node.refuse(THEN_ALLOWED),
        };
    }
    let fields = node.table(&["wait", "in_a_row", "room"])?;
    let most = fields.need("wait", "how long a thread waits, a duration").and_then(duration::read);
    let in_a_row =
        fields.need("in_a_row", "a number of requests").and_then(|n| n.int(1..=REQUESTS_MAX));
    let room = fields.get("room").map_or(Some(Room::WhereOthersWait), |node| one_of(node, ROOMS));
    Some(Then::Wait { most: most?, in_a_row: in_a_row? as u32, room: room? })
}

fn then_value(then: Then) -> Value {
    match then {
        Then::Wait { most, in_a_row, room } => Value::table([
            ("wait", Value::text(duration::print(most))),
            ("in_a_row", Value::Int(in_a_row.into())),
            ("room", name_in(ROOMS, room)),
        ]),
        named => name_in(THENS, named),
    }
}

fn span(key: &str, length: Duration) -> Value {
    Value::table([(key, Value::text(duration::print(length)))])
}

fn switch(node: &Node<'_>) -> Option<bool> {
    match node.value() {
        Value::Bool(answer) => Some(*answer),
        _ => node.refuse("true or false"),
    }
}

fn one_of<T: Copy>(node: &Node<'_>, all: &[(&str, T)]) -> Option<T> {
    let quoted: Vec<_> = all.iter().map(|(name, _)| format!("\"{name}\"")).collect();
    let allowed = format!("one of {}", quoted.join(", "));
    let text = node.text(&allowed)?;
    match all.iter().find(|(name, _)| *name == text) {
        Some((_, value)) => Some(*value),
        None => node.refuse(allowed),
    }
}

fn name_in<T: PartialEq>(all: &[(&str, T)], value: T) -> Value {
    let (name, _) = all.iter().find(|(_, known)| *known == value).expect("every value has a name");
    Value::text(*name)
}
