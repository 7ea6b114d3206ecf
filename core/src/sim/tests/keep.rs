//! Connections that a thread looks at after it has answered, step by step.
//!
//! One worker on a machine where waking and switching take no time, so that what is served when can be
//! worked out by hand.

use super::*;
use crate::load::closed;
use crate::model::puma;
use crate::timeline::{Role, Timeline};
use crate::workload::{Dist, Endpoint, io, ms};

/// One worker of so many threads of that version.
fn worker(version: &str, threads: u32) -> Model {
    puma().workers(1).threads(threads).version(version).into()
}

/// Two users, `a` and `b`, whose requests take 10 ms each.
fn two() -> Workload {
    let user = |name| Endpoint::new(name, [io(ms(10))]).users(1);
    Workload::new().endpoint(user("a")).endpoint(user("b"))
}

fn timeline(model: Model, workload: &Workload, load: &Load) -> Timeline {
    let (topology, machine) = (model.topology(), Machine::ideal(8));
    let conditions = Conditions { timeline: Some(100_000), ..on(&machine) };
    let run = super::super::run(&topology, workload, load, conditions, 1, &mut |_| {});
    run.unwrap().timeline.unwrap()
}

/// What the threads begin, in order: whose request, and when in milliseconds.
fn served(model: Model, workload: &Workload, load: &Load) -> Vec<(String, f64)> {
    let timeline = timeline(model, workload, load);
    let requests = timeline.tracks.iter().flat_map(|track| &track.requests);
    let mut all: Vec<_> = requests.map(|r| (r.from, r.endpoint)).collect();
    all.sort_unstable();
    let name = |n: usize| timeline.endpoints[n].clone();
    all.into_iter().map(|(at, n)| (name(n), at as f64 / 1e6)).collect()
}

/// The same without the times, as `a` and `b` in a row.
fn order(version: &str, threads: u32, load: &Load) -> String {
    served(worker(version, threads), &two(), load).into_iter().map(|(name, _)| name).collect()
}

/// Ten of one client before the next, where all threads are busy and one waits to be accepted: the
/// connection is closed. Up to 5.3.1 it is left to the reactor. From 7 on the clients take turns.
#[test]
fn requests_of_one_client_in_a_row() {
    // The last one is another client's, which has been sent before.
    let load = closed(2).requests(41).keep_alive();
    let tens = ["a", "b", "a", "b"].map(|name| name.repeat(10)).concat();
    for version in ["5.0", "5.3.1", "5.3.2", "5.6.9", "6.0.0", "6.6.1"] {
        assert_eq!(order(version, 1, &load)[..40], tens, "{version}");
    }
    for version in ["7.0.0", "7.0.4", "7.1", "8.0.2", "main"] {
        assert_eq!(order(version, 1, &load)[..40], "ab".repeat(20), "{version}");
    }
}

/// A client that thinks for less than 0.2 s keeps the only thread of 6.x, ten times; the other waits.
#[test]
fn a_thread_waits_for_the_next_request_of_its_client() {
    let load = closed(2).think(Dist::Constant(ms(150))).requests(13).keep_alive();
    let found = served(worker("6.6.1", 1), &two(), &load);
    let mut expected: Vec<_> = (0..10).map(|n| ("a".to_owned(), f64::from(n) * 160.0)).collect();
    // `a` is closed with its tenth answer, at 1450 ms, and connects again at 1600 ms; `b` has the thread,
    // and sends no third request in the 200 ms after 1620 ms: those were the thirteen.
    let rest = [("b", 1450.0), ("b", 1610.0), ("a", 1820.0)];
    expected.extend(rest.map(|(name, at)| (name.to_owned(), at)));
    assert_eq!(found, expected);
    // From 7 on nobody waits for the thread that another one thinks at.
    let found = served(worker("7.0.4", 1), &two(), &load);
    let expected = [("a", 0.0), ("b", 10.0), ("a", 160.0), ("b", 170.0)];
    assert_eq!(found[..4], expected.map(|(name, at)| (name.to_owned(), at)));
}

/// After 0.2 s without a request the thread has the connection watched, and is free.
#[test]
fn a_thread_that_waits_gives_up_after_a_while() {
    let load = closed(2).think(Dist::Constant(ms(250))).requests(5).keep_alive();
    let found = served(worker("6.6.1", 1), &two(), &load);
    let expected = [
        ("a", 0.0),
        // The thread waits at `a` from 10 to 210 ms, and at `b` from 220 to 420 ms.
        ("b", 210.0),
        // Sent at 260 ms, and the next of `b` at 470 ms while the thread waits at `a` until 630 ms.
        ("a", 420.0),
        ("b", 630.0),
        // Sent at 680 ms; the thread waits at `b` until 840 ms.
        ("a", 840.0),
    ];
    assert_eq!(found, expected.map(|(name, at)| (name.to_owned(), at)));
}

/// From 7.1 on a thread goes on with its client where another thread waits, instead of waking that.
#[test]
fn a_thread_serves_on_where_another_one_waits() {
    let load = closed(1).requests(20).keep_alive();
    let one = Workload::from([io(ms(10))]);
    let woken = |version| {
        let timeline = timeline(worker(version, 2), &one, &load);
        let threads = timeline.tracks.iter().filter(|track| track.role == Role::Thread);
        let idle = threads.filter(|track| track.requests.is_empty()).map(|track| track.spans.len());
        idle.sum::<usize>()
    };
    let (queues, serves) = (woken("7.0.4"), woken("7.1"));
    assert!(queues > serves + 15, "{queues} {serves}");
}

/// From 7 on a connection is closed after 1000 requests: the next one opens another, which takes a turn
/// of the client more. Before, one alone is never closed.
#[test]
fn a_thousand_requests_over_one_connection() {
    let machine = Machine { client: Some(ms(1)), ..Machine::ideal(8) };
    let load = closed(1).requests(2100).keep_alive();
    let opened = |version| {
        let run = run(worker(version, 1), &Workload::from([io(ms(10))]), &load, &machine, 1);
        let latency = &run.endpoints[0].latency;
        let count = |n: f64| {
            let near = latency.buckets().filter(|(value, _)| (millis(*value) - n).abs() < 0.3);
            near.map(|(_, count)| count).sum::<u64>()
        };
        (count(12.0), count(11.0))
    };
    for version in ["7.0.0", "7.0.4", "8.0.2"] {
        assert_eq!(opened(version), (3, 2097), "{version}");
    }
    assert_eq!(opened("6.6.1"), (1, 2099));
}
