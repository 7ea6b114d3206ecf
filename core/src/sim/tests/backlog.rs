//! A full queue of connections to accept: who is dropped, and when it is tried again.

use super::*;
use crate::load::closed;
use crate::measure::{BacklogUse, Histogram};
use crate::model::unicorn;
use crate::workload::{io, ms, secs};

fn at_once(model: impl Into<Model>, users: u32, machine: &Machine) -> Recording {
    let load = closed(users).requests(users.into());
    run(model, &Workload::from([io(ms(10))]), &load, machine, 1)
}

fn drops(run: &Recording) -> u64 {
    run.backlog.expect("workers accept").drops
}

/// How many waited for at least so many whole seconds.
fn from(latency: &Histogram, seconds: u64) -> u64 {
    let above = latency.buckets().filter(|(middle, _)| *middle >= secs(seconds));
    above.map(|(_, count)| count).sum()
}

/// Who comes together with others finds room for `backlog` and one more; the rest come again after 1 s,
/// 3 s, 7 s and so on, at one moment: then the worker, which is idle, takes the first before the second
/// asks, and there is room for one more.
#[test]
fn latencies_have_steps_where_clients_ask_again() {
    for (users, backlog) in
        [(1_u64, 1_u64), (2, 1), (4, 1), (6, 1), (8, 1), (14, 1), (40, 9), (31, 4)]
    {
        let model = unicorn().backlog(backlog as u32);
        let run = at_once(model, users as u32, &Machine::ideal(2));
        let all = run.overall("all");
        assert_eq!((all.ok(), all.failures()), (users, 0));
        let room = backlog + 1;
        let left = |times: u64| users.saturating_sub(times * (room + 1) - 1);
        // Those that are left are dropped each time.
        assert_eq!(drops(&run), (1..=7).map(left).sum::<u64>(), "{users} of {room}");
        for (times, seconds) in [(1, 1), (2, 3), (3, 7), (4, 15), (5, 31), (6, 63)] {
            assert_eq!(
                from(&all.latency, seconds),
                left(times),
                "{users} of {room} at {seconds} s"
            );
        }
    }
}

#[test]
fn the_systems_own_limit_is_below_the_servers() {
    let machine = Machine { somaxconn: Some(1), ..Machine::ideal(2) };
    let run = at_once(unicorn(), 6, &machine);
    assert_eq!(run.backlog, Some(BacklogUse { size: 1, drops: 5, is_set: false }));
    let run = at_once(unicorn().backlog(9000), 6, &Machine::ideal(2));
    assert_eq!(run.backlog, Some(BacklogUse { size: 4096, drops: 0, is_set: true }));
    assert_eq!(at_once(servers(1), 6, &Machine::ideal(2)).backlog, None);
}

/// One is served, two wait for good, and the fourth is never let in: 7 SYNs, the last wait 64 s.
#[test]
fn who_is_never_let_in_fails_after_127_seconds() {
    let workload = Workload::from([io(secs(1000))]);
    let model = || unicorn().backlog(1);
    let load = closed(4).requests(4);
    let end = run(model(), &workload, &load, &Machine::ideal(2), 1);
    let all = end.overall("all");
    assert_eq!(all.failed.get("connect timeout"), Some(&1));
    assert_eq!(all.failed_latency.max(), Some(secs(127)));
    // The third once, at the start.
    assert_eq!((all.ok(), drops(&end)), (3, 8));

    // Its own patience cuts that short; a retry is a new connection, and begins anew.
    let load = closed(4).requests(4).timeout(secs(5));
    let end = run(model(), &workload, &load, &Machine::ideal(2), 1);
    let all = end.overall("all");
    assert_eq!((all.failed.get("timeout"), all.failures()), (Some(&4), 4));
    // The third at 0 s, the fourth at 0, 1 and 3 s. Whoever waited is served for nobody.
    assert_eq!((drops(&end), end.clients.unwrap().abandoned), (4, 3));
    let load = closed(4).requests(4).timeout(secs(5)).retries(1);
    let end = run(model(), &workload, &load, &Machine::ideal(2), 1);
    // Of the second attempts none is let in, since those that left stay in the queue: 3 each.
    assert_eq!((drops(&end), end.clients.unwrap().retries), (4 + 4 * 3, 4));

    // A client that is never let in may try again, too.
    let load = closed(4).requests(4).timeout(secs(500)).retries(1);
    let end = run(model(), &workload, &load, &Machine::ideal(2), 1);
    let all = end.overall("all");
    // Those that left stay in the queue, so that nobody's second attempt is let in.
    assert_eq!(all.failed.get("connect timeout"), Some(&4));
    assert_eq!(all.failed_latency.min(), Some(secs(254)));
    assert_eq!(end.clients.unwrap().retries, 4);
}
