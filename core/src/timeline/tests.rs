//! Timelines of logs that were made by hand.

use super::{Log, Role, Timeline, compare};
use crate::clock::Nanos;
use crate::gvl::Phase::{Blocked, Holding, Waiting};
use proptest::prelude::*;
use std::collections::BTreeMap;

fn of(log: Log, from: Nanos, to: Nanos) -> Timeline {
    Timeline::of_logs([(log, |process| (process, process + 1))], from..to, vec!["home".to_owned()])
}

/// Checks what always holds: phases without gaps, one holder of an exclusive lock, one thread on a core.
pub(crate) fn assert_sound(timeline: &Timeline, is_exclusive: bool) {
    let mut held: BTreeMap<u32, Vec<(Nanos, Nanos)>> = BTreeMap::new();
    let mut cores: BTreeMap<u32, Vec<(Nanos, Nanos)>> = BTreeMap::new();
    for track in &timeline.tracks {
        for two in track.spans.windows(2) {
            assert_eq!(two[0].to, two[1].from, "{} {}: a gap", track.process, track.name());
        }
        for span in &track.spans {
            assert!(span.from <= span.to && span.to <= timeline.end, "{span:?}");
            if span.phase == Holding {
                held.entry(track.process).or_default().push((span.from, span.to));
            } else {
                assert!(span.from < span.to, "{span:?}");
            }
        }
        for ran in &track.ran {
            cores.entry(ran.core).or_default().push((ran.from, ran.to));
        }
    }
    let holds: usize = held.values().map(Vec::len).sum();
    assert_eq!(timeline.grants().count(), holds);
    assert!(timeline.grants().is_sorted_by_key(|grant| grant.span.from));
    let held = held.values_mut().filter(|_| is_exclusive);
    for spans in held.chain(cores.values_mut()) {
        spans.sort_unstable();
        for two in spans.windows(2) {
            assert!(two[0].1 <= two[1].0, "{two:?} are at once");
        }
    }
}

/// The phases of a track as (phase, from, to).
fn spans(timeline: &Timeline, track: usize) -> Vec<(crate::gvl::Phase, Nanos, Nanos)> {
    timeline.tracks[track].spans.iter().map(|span| (span.phase, span.from, span.to)).collect()
}

/// Two threads that serve two requests each, in turn; each has the lock for ten, from 100 on.
fn turns(order: [usize; 4], max: usize) -> Log {
    let mut log = Log::new(max);
    let tracks = [0, 1].map(|n| log.begins(0, Role::Thread, n, 0));
    tracks.into_iter().for_each(|track| log.asks(track, 90));
    for (n, track) in order.into_iter().map(|n| tracks[n]).enumerate() {
        let at = 100 + 10 * n as Nanos;
        log.takes(track, true, at);
        log.serves(track, n as u64, 0, at);
        log.served(track, n as u64, at + 10);
        log.enters(track, Blocked, at + 10);
        log.asks(track, at + 10);
    }
    log
}

#[test]
fn phases_follow_each_other_from_a_threads_begin_to_its_end() {
    let mut log = Log::new(100);
    let one = log.begins(0, Role::Thread, 0, 5);
    log.asks(one, 20);
    log.takes(one, true, 30);
    log.enters(one, Blocked, 45);
    // A free lock.
    log.asks(one, 50);
    log.takes(one, false, 51);
    log.enters(one, Blocked, 60);
    log.ends(one, 80);
    let expected = [
        (Blocked, 0, 10),
        (Waiting, 10, 20),
        (Holding, 20, 35),
        (Blocked, 35, 41),
        (Holding, 41, 50),
        (Blocked, 50, 70),
    ];
    assert_eq!(spans(&of(log.clone(), 10, 100), 0), expected);
    // The window cuts, and what is outside of it is gone.
    let cut = [(Holding, 0, 5), (Blocked, 5, 11), (Holding, 11, 15)];
    assert_eq!(spans(&of(log.clone(), 40, 55), 0), cut);
    assert_eq!(of(log, 81, 90).tracks, []);
}

#[test]
fn grants_tell_the_request_and_the_wait() {
    let timeline = of(turns([0, 1, 1, 0], 100), 0, 200);
    let told: Vec<_> = timeline
        .grants()
        .map(|g| (g.track.number, g.request.unwrap().number, g.span.from, g.waited))
        .collect();
    assert_eq!(told, [(0, 0, 100, 10), (1, 1, 110, 20), (1, 2, 120, 0), (0, 3, 130, 20)]);
}

#[test]
fn a_full_log_ends_for_all_where_the_first_event_is_missing() {
    // Two threads and the first ten events: with the waits of both, the third turn is cut short.
    let timeline = of(turns([0, 1, 0, 1], 12), 0, 200);
    assert_eq!((timeline.end, timeline.tracks.len()), (120, 2));
    assert!(timeline.dropped > 0);
    for n in 0..2 {
        let all: Nanos = spans(&timeline, n).iter().map(|(_, from, to)| to - from).sum();
        assert_eq!(all, 120);
    }
    let note = timeline.note().unwrap();
    assert!(
        note.contains(&format!("{} events after it found no room", timeline.dropped)),
        "{note}"
    );
    assert_eq!(of(turns([0, 1, 0, 1], 100), 0, 200).note(), None);
    // Without any room there is nothing, and that is told.
    let nothing = of(turns([0, 1, 0, 1], 0), 0, 200);
    assert_eq!((nothing.tracks.len(), nothing.dropped > 0), (0, true));
}

#[test]
fn who_waits_when_the_log_is_full_or_over_is_seen_to_wait() {
    let mut log = Log::new(100);
    let one = log.begins(0, Role::Thread, 0, 0);
    log.asks(one, 40);
    assert_eq!(spans(&of(log, 0, 100), 0), [(Blocked, 0, 40), (Waiting, 40, 100)]);
}

#[test]
fn a_difference_is_found_where_it_is() {
    let (one, same) = (of(turns([0, 1, 0, 1], 100), 0, 200), of(turns([1, 0, 1, 0], 100), 0, 200));
    assert_eq!(compare(&one, &same).differs_at, None, "threads do not matter");
    let mut log = turns([0, 1, 0, 1], 100);
    let late = log.begins(0, Role::Thread, 2, 0);
    log.takes(late, true, 150);
    log.serves(late, 9, 0, 151);
    let more = of(log, 0, 200);
    let orders = compare(&one, &more);
    assert_eq!((orders.one.len(), orders.other.len(), orders.differs_at), (4, 5, Some(4)));
}

proptest! {
    /// A worker's log comes to the master as it was.
    #[test]
    fn text_is_read_back(
        events in prop::collection::vec((0..3_usize, 0..7_u8, 0..u64::MAX / 2, 0..1000_u64), 0..40),
    ) {
        let mut log = Log::new(30);
        let roles = [Role::Thread, Role::Acceptor, Role::Loop];
        let tracks = roles.map(|role| log.begins(7, role, 0, 12));
        log.ends(tracks[1], 99);
        for (track, what, at, n) in events {
            let track = tracks[track];
            match what {
                0 => log.enters(track, Blocked, at),
                1 => log.asks(track, at),
                2 => log.takes(track, n > 500, at),
                3 => log.on(track, n as u32, at),
                4 => log.off(track, at),
                5 => log.serves(track, n, 3, at),
                _ => log.served(track, n, at),
            }
        }
        let read = Log::from_text(&log.to_text()).unwrap();
        log.settle();
        prop_assert_eq!(&read.heads, &log.heads);
        prop_assert_eq!(&read.events, &log.events);
        prop_assert_eq!((read.dropped, read.whole_until), (log.dropped, log.whole_until));
    }
}

#[test]
fn a_text_that_is_no_log_is_refused() {
    let text = turns([0, 1, 0, 1], 100).to_text();
    assert!(Log::from_text(&text).is_some());
    for (from, to) in
        [("\"events\":\"", "\"events\":\"9 "), ("\"events\":\"", "\"events\":\"x "), ("{", "")]
    {
        assert_eq!(Log::from_text(&text.replacen(from, to, 1)), None);
    }
}
