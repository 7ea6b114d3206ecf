//! A proxy in front of servers of one thread each, worked out by hand.

use super::*;
use crate::cluster::balance::Policy;
use crate::load::closed;
use crate::model::nginx;
use crate::workload::{Endpoint, io, ms};

/// The latencies of a user of short requests beside one of long ones, in whole milliseconds.
fn short_beside_long(policy: Policy) -> Vec<u64> {
    let user = |name, length| Endpoint::new(name, [io(ms(length))]).users(1);
    let workload = Workload::new().endpoint(user("long", 100)).endpoint(user("short", 10));
    let model = nginx().policy(policy).server(servers(1));
    let run = run(model, &workload, &closed(2).requests(12), &Machine::ideal(8), 1);
    let buckets = run.endpoints[1].latency.buckets();
    let whole = |duration| millis(duration).round() as u64;
    buckets.flat_map(|(latency, n)| vec![whole(latency); n as usize]).collect()
}

/// By turns every second short request stands behind a long one, from its begin to its end but for what
/// was over: sent at 10 ms it ends at 110, at 120 at 210, at 220 at 310 and at 320 at 410.
#[test]
fn turns_put_short_requests_behind_long_ones() {
    assert_eq!(short_beside_long(Policy::RoundRobin), [10, 10, 10, 10, 90, 90, 90, 100]);
}

/// The backend with the fewest is the one that the long request is not at: short ones never wait, ten
/// of them in the time of a long one.
#[test]
fn the_fewest_connections_keep_them_apart() {
    assert_eq!(short_beside_long(Policy::LeastConn), [10; 10]);
}

/// Each backend has its share of the requests.
#[test]
fn weights_are_shares() {
    let model = nginx().backends(3).weights([5, 1, 1]).server(servers(1));
    let load = closed(1).requests(70);
    let run = run(model, &Workload::from([io(ms(1))]), &load, &Machine::ideal(8), 1);
    let answered: Vec<_> = run.workers.iter().map(|worker| worker.ok()).collect();
    assert_eq!(answered, [50, 10, 10]);
}

/// Two workers of the proxy count apart: neither knows where the other one's requests are.
#[test]
fn workers_of_a_proxy_count_apart() {
    let waits = |workers| {
        let model = nginx().backends(4).workers(workers).policy(Policy::LeastConn);
        let model = model.server(servers(1));
        let load = closed(4).requests(4000);
        let run = run(model, &Workload::from([io(ms(10))]), &load, &Machine::ideal(8), 1);
        mean_ms(&run)
    };
    assert_eq!(waits(1), 10.0);
    assert!(waits(4) > 11.0, "{}", waits(4));
}
