//! A lock in a document: a name, or a table of its base and what it changes.
//!
//! `model` and `cluster` read it. Keys are the record's own names, a row each in [`FIELDS`]; the checks
//! say which behaviours exclude each other, so that `policy` is given none that it cannot run.

use super::policies;
use super::record::{Charge, Fairness, ForcedSwitch, Gvl, Order, Release, Timer};
use crate::error::{Error, Mistake};
use crate::value::{Node, Value};
use crate::workload::duration;
use std::ops::RangeInclusive;
use std::time::Duration;

/// The shortest and the longest quantum that a lock may have.
pub(crate) const QUANTUM: RangeInclusive<Duration> =
    Duration::from_micros(10)..=Duration::from_secs(3600);
pub(crate) const QUANTUM_ALLOWED: &str =
    "a duration from 10us to 1h with a unit, such as \"100ms\"";

const FAIRNESS: &str = "fairness";
const PRIORITY: RangeInclusive<i64> = -3..=3;

/// A key of the table, and the field it stands for.
struct Field {
    key: &'static str,
    read: fn(&mut Gvl, &Node<'_>) -> Option<()>,
    print: fn(&Gvl) -> Value,
}

/// All keys but `base` and `fairness`, which comes first: what it sets may be changed by the others.
/// `timer` is before `quantum`, which sets the tick by it, and that before `tick`.
const FIELDS: [Field; 14] = [
    Field {
        key: "release",
        read: |g, n| put(&mut g.release, one_of(n, RELEASES)),
        print: |g| name_in(RELEASES, g.release),
    },
    Field {
        key: "timer",
        read: |g, n| put(&mut g.timer, one_of(n, TIMERS)),
        print: |g| name_in(TIMERS, g.timer),
    },
    Field {
        key: "charge",
        read: |g, n| put(&mut g.charge, one_of(n, CHARGES)),
        print: |g| name_in(CHARGES, g.charge),
    },
    Field {
        key: "quantum",
        read: |g, n| span(n).map(|quantum| g.set_quantum(quantum)),
        print: |g| Value::text(duration::print(g.quantum)),
    },
    Field {
        key: "tick",
        read: |g, n| put(&mut g.tick, span(n)),
        print: |g| Value::text(duration::print(g.tick)),
    },
    Field {
        key: "hot_steal",
        read: |g, n| put(&mut g.hot_steal, switch(n)),
        print: |g| Value::Bool(g.hot_steal),
    },
    Field {
        key: "delayed_handoff",
        read: |g, n| put(&mut g.delayed_handoff, switch(n)),
        print: |g| Value::Bool(g.delayed_handoff),
    },
    Field {
        key: "order",
        read: |g, n| put(&mut g.order, one_of(n, ORDERS)),
        print: |g| name_in(ORDERS, g.order),
    },
    Field {
        key: "requeue",
        read: |g, n| put(&mut g.requeue, switch(n)),
        print: |g| Value::Bool(g.requeue),
    },
    Field {
        key: "requester_steal",
        read: |g, n| put(&mut g.requester_steal, n.float(0.0..=1.0)),
        print: |g| Value::Float(g.requester_steal),
    },
    Field {
        key: "forced_switch",
        read: |g, n| put(&mut g.forced_switch, one_of(n, SWITCHES)),
        print: |g| name_in(SWITCHES, g.forced_switch),
    },
    Field {
        key: "priorities",
        read: |g, n| put(&mut g.priorities, switch(n)),
        print: |g| Value::Bool(g.priorities),
    },
    Field {
        key: "always_reset",
        read: |g, n| put(&mut g.always_reset, switch(n)),
        print: |g| Value::Bool(g.always_reset),
    },
    Field {
        key: "priority",
        read: |g, n| put(&mut g.priority, n.int(PRIORITY).map(|p| p as i8)),
        print: |g| Value::Int(g.priority.into()),
    },
];

const RELEASES: &[(&str, Release)] = &[("handoff", Release::Handoff), ("signal", Release::Signal)];
const TIMERS: &[(&str, Timer)] = &[
    ("thread", Timer::Thread),
    ("one-waiter", Timer::OneWaiter),
    ("each-waiter", Timer::EachWaiter),
];
const CHARGES: &[(&str, Charge)] =
    &[("per-tick", Charge::PerTick), ("on-request", Charge::OnRequest)];
const ORDERS: &[(&str, Order)] = &[("fifo", Order::Fifo), ("priority", Order::Priority)];
const SWITCHES: &[(&str, ForcedSwitch)] = &[
    ("never", ForcedSwitch::Never),
    ("after-yield", ForcedSwitch::AfterYield),
    ("if-requested", ForcedSwitch::IfRequested),
];
const FAIRNESSES: &[(&str, Fairness)] = &[("fifo", Fairness::Fifo), ("barging", Fairness::Barging)];

impl Gvl {
    /// Checks what the `with_` methods were given.
    ///
    /// # Errors
    /// A quantum or a tick outside 10us to 1h, a chance outside 0 to 1, a priority outside -3 to 3, and
    /// behaviours that exclude each other.
    pub fn check(&self) -> Result<(), Error> {
        let mut mistakes = Vec::new();
        for (key, d) in [("quantum", self.quantum), ("tick", self.tick)] {
            if self.exclusive && !QUANTUM.contains(&d) {
                mistakes.push((key, duration::print(d), QUANTUM_ALLOWED.to_owned()));
            }
        }
        if !(0.0..=1.0).contains(&self.requester_steal) {
            let given = self.requester_steal.to_string();
            mistakes.push(("requester_steal", given, "a number in 0..=1".to_owned()));
        }
        if !PRIORITY.contains(&self.priority.into()) {
            let expected = "a whole number in -3..=3".to_owned();
            mistakes.push(("priority", self.priority.to_string(), expected));
        }
        mistakes.extend(self.conflicts().into_iter().map(|(key, expected)| {
            let given = FIELDS.iter().find(|field| field.key == key);
            let given = given.expect("a conflict names a field");
            (key, (given.print)(self).to_string(), expected.to_owned())
        }));
        if mistakes.is_empty() {
            return Ok(());
        }
        let told = |(key, given, expected)| Mistake::new(format!("gvl.{key}"), given, expected);
        Err(Error::of_mistakes(mistakes.into_iter().map(told).collect()))
    }

    /// Reads a lock from a document: a name, or a table of a base and the fields that differ from it.
    pub(crate) fn read(node: &Node<'_>) -> Option<Self> {
        if let Value::Text(name) = node.value() {
            return policies::base(name).or_else(|| node.refuse(Self::allowed()));
        }
        if !matches!(node.value(), Value::Table(_)) {
            return node.refuse(Self::allowed());
        }
        let keys: Vec<_> =
            ["base", FAIRNESS].into_iter().chain(FIELDS.iter().map(|field| field.key)).collect();
        let fields = node.table(&keys)?;
        let base = fields.need("base", &Self::allowed())?;
        let mut gvl = policies::base(base.text(&Self::allowed())?)
            .or_else(|| base.refuse(Self::allowed()))?;
        let mut is_sound = true;
        if let Some(node) = fields.get(FAIRNESS) {
            match one_of(node, FAIRNESSES) {
                Some(fairness) => gvl.set_fairness(fairness),
                None => is_sound = false,
            }
        }
        for field in &FIELDS {
            if let Some(node) = fields.get(field.key) {
                is_sound &= (field.read)(&mut gvl, node).is_some();
            }
        }
        if !is_sound {
            return None;
        }
        let conflicts = gvl.conflicts();
        for (key, expected) in &conflicts {
            // What the base brings is told at the table.
            match fields.get(key) {
                Some(node) => node.refuse::<()>(*expected),
                None => {
                    let field = FIELDS.iter().find(|field| field.key == *key);
                    let given = (field.expect("a conflict names a field").print)(&gvl);
                    node.refuse_as(
                        format!("{key} {given} of the base"),
                        format!("{key}: {expected}"),
                    )
                }
            };
        }
        conflicts.is_empty().then(|| gvl.named_anew())
    }

    /// The document of this lock; [`Gvl::read`] reads the same lock back.
    pub(crate) fn to_value(&self) -> Value {
        let base = self.base_name();
        let changes = self.changes();
        if changes.is_empty() {
            return Value::text(base);
        }
        Value::table(std::iter::once(("base", Value::text(base))).chain(changes))
    }

    /// The name of the record that it was made from.
    pub(super) fn base_name(&self) -> &str {
        self.name().split(", ").next().unwrap_or_default()
    }

    /// What sets it apart from its base, by key.
    pub(super) fn changes(&self) -> Vec<(&'static str, Value)> {
        let Some(mut like) = policies::base(self.base_name()) else { return Vec::new() };
        let mut changes = Vec::new();
        if self.release != like.release {
            let fairness = match self.release {
                Release::Handoff => Fairness::Fifo,
                Release::Signal => Fairness::Barging,
            };
            like.set_fairness(fairness);
            changes.push((FAIRNESS, name_in(FAIRNESSES, fairness)));
        }
        for field in &FIELDS {
            if field.key == "quantum" {
                // Its tick goes with it, by the timer.
                like.timer = self.timer;
            }
            let value = (field.print)(self);
            if value != (field.print)(&like) {
                if field.key == "quantum" {
                    like.set_quantum(self.quantum);
                }
                changes.push((field.key, value));
            }
        }
        changes
    }

    /// Behaviours that exclude each other: which key, and what would do.
    fn conflicts(&self) -> Vec<(&'static str, &'static str)> {
        if !self.exclusive {
            return Vec::new();
        }
        let handed_over = self.release == Release::Handoff;
        let each = self.timer == Timer::EachWaiter;
        let rules = [
            (
                handed_over && self.timer != Timer::Thread,
                "timer",
                "\"thread\" where the lock is handed over: its waiters sleep until they have it",
            ),
            (
                handed_over && self.forced_switch != ForcedSwitch::Never,
                "forced_switch",
                "\"never\" where the lock is handed over: each release is a switch",
            ),
            (
                !handed_over && self.hot_steal,
                "hot_steal",
                "false where the lock is signalled: anyone may overtake",
            ),
            (
                !handed_over && self.delayed_handoff,
                "delayed_handoff",
                "false where the lock is signalled: nothing is handed over",
            ),
            (
                self.hot_steal && self.delayed_handoff,
                "delayed_handoff",
                "false beside hot_steal: the lock is still its own",
            ),
            (
                self.requeue && !each,
                "requeue",
                "false unless each waiter keeps the time (timer \"each-waiter\")",
            ),
            (
                self.requester_steal > 0.0 && !each,
                "requester_steal",
                "0 unless each waiter keeps the time (timer \"each-waiter\")",
            ),
        ];
        rules.into_iter().filter(|rule| rule.0).map(|(_, key, expected)| (key, expected)).collect()
    }
}

fn put<T>(place: &mut T, value: Option<T>) -> Option<()> {
    *place = value?;
    Some(())
}

fn one_of<T: Copy>(node: &Node<'_>, names: &[(&str, T)]) -> Option<T> {
    let found = match node.value() {
        Value::Text(text) => names.iter().find(|(name, _)| name == text),
        _ => None,
    };
    let all: Vec<_> = names.iter().map(|(name, _)| *name).collect();
    found.map(|(_, value)| *value).or_else(|| node.refuse(all.join(" or ")))
}

fn name_in<T: PartialEq>(names: &[(&str, T)], value: T) -> Value {
    let (name, _) = names.iter().find(|(_, v)| *v == value).expect("each value has a name");
    Value::text(*name)
}

fn switch(node: &Node<'_>) -> Option<bool> {
    match node.value() {
        Value::Bool(on) => Some(*on),
        _ => node.refuse("true or false"),
    }
}

fn span(node: &Node<'_>) -> Option<Duration> {
    duration::read_within(node, QUANTUM, QUANTUM_ALLOWED)
}

#[cfg(test)]
pub(crate) mod tests;
