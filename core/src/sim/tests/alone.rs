//! Puma in single mode: its acceptor and its reactor need the lock as its threads do.

use super::*;
use crate::load::closed;
use crate::model::puma;
use crate::workload::{Endpoint, cpu, io, ms, us};

/// One user of short requests beside one who computes, over 60 s.
fn beside(version: &str, load: Load) -> Recording {
    let workload = Workload::new()
        .endpoint(Endpoint::new("io", [io(ms(1)), cpu(us(1))]).users(1))
        .endpoint(Endpoint::new("cpu", [cpu(ms(3_600_000))]).users(1));
    let model = puma().threads(2).version(version).ruby("3.4");
    run(model, &workload, &load, &Machine::ideal(8), 1)
}

/// Of 100 ms each: the acceptor's wait for the lock, the thread's before it begins, and the thread's
/// after its blocking call. A kept connection whose request is there has the last one only.
#[test]
fn a_new_connection_waits_for_three_slices() {
    let typical = |load: Load| {
        let run = beside("8.0.2", load.duration(Duration::from_secs(60)));
        millis(run.endpoints[0].latency.percentile(50.0).unwrap())
    };
    let (new, kept) = (typical(closed(2)), typical(closed(2).keep_alive()));
    assert!((new - 300.0).abs() < 10.0, "{new}");
    assert!((kept - 100.0).abs() < 5.0, "{kept}");
    // 7.0.0 has the reactor wait for the lock, and then the thread, before the blocking call.
    let run = beside("7.0.0", closed(2).duration(Duration::from_secs(60)).keep_alive());
    let by_reactor = millis(run.endpoints[0].latency.percentile(50.0).unwrap());
    assert!((by_reactor - 300.0).abs() < 10.0, "{by_reactor}");
}

/// The second of two connections: 6.0 to 6.4 wait 5 ms for the first request to end before they accept it, in
/// single mode too; from 6.5 on a cluster's workers do alone.
#[test]
fn a_busy_process_accepts_as_its_version_does() {
    let latencies = |version: &str| {
        let model = puma().threads(2).version(version);
        let workload = Workload::from([io(ms(100))]);
        let all = run(model, &workload, &closed(2).requests(2), &Machine::ideal(8), 1);
        let latency = all.overall("all").latency;
        (millis(latency.min().unwrap()).round(), millis(latency.max().unwrap()).round())
    };
    for version in ["6.0.0", "6.4.3"] {
        assert_eq!(latencies(version), (100.0, 105.0), "{version}");
    }
    for version in ["5.6.9", "6.5.0", "7.0.0", "7.0.4", "8.0.2"] {
        assert_eq!(latencies(version), (100.0, 100.0), "{version}");
    }
}
