//! A lock around every request that is exclusive for reloading code, worked out by hand.

use super::*;
use crate::load::closed;
use crate::model::{Handlers, uvicorn};
use crate::workload::{Endpoint, Interlock, io, ms, native};

fn latencies(model: impl Into<Model>, workload: &Workload, load: &Load) -> (f64, f64) {
    let all = run(model, workload, load, &Machine::ideal(8), 1).overall("all");
    let rounded = |duration: Option<Duration>| millis(duration.unwrap()).round();
    (rounded(all.latency.min()), rounded(all.latency.max()))
}

/// Two requests that both reload: the first from 0 to 100 ms, the second from 100 to 200 ms, and the
/// first waits behind it before both run, from 200 to 250 ms.
#[test]
fn reloading_is_done_alone_and_before_whoever_came_later() {
    let workload = Workload::from([io(ms(50))]).interlock(Interlock::new(ms(100), 1.0));
    let load = closed(2).requests(2);
    assert_eq!(latencies(servers(2), &workload, &load), (250.0, 250.0));
    assert_eq!(latencies(servers(1), &workload, &load), (150.0, 300.0));
    // On a loop the first one runs on before the second is looked at, which then waits for it to end.
    assert_eq!(latencies(uvicorn(), &workload, &load), (150.0, 300.0));
    // Each process has one of its own.
    let model = uvicorn().handlers(Handlers::Offloaded);
    assert_eq!(latencies(model, &workload, &load), (250.0, 250.0));
    let apart = crate::model::pool().workers(2).gvl(crate::gvl::Gvl::none());
    assert_eq!(latencies(apart, &workload, &load), (150.0, 150.0));
}

/// Where no code changes, all share it.
#[test]
fn nobody_waits_where_nothing_changes() {
    let workload = Workload::from([io(ms(50))]).interlock(Interlock::new(ms(100), 0.0));
    assert_eq!(latencies(servers(8), &workload, &closed(8).requests(80)), (50.0, 50.0));
}

/// A request that fails leaves it, and who reloads waits until all that run have ended: with a chance of
/// one in a hundred and eight threads, reloads take a share of the time that their mean does not tell.
#[test]
fn who_reloads_waits_for_all_that_run() {
    let steps = [native(ms(1)), io(ms(49)), crate::workload::fail(500)];
    let workload = Workload::new().endpoint(Endpoint::new("page", steps));
    let rps = |workload: &Workload| {
        let run = run(servers(8), workload, &closed(8).requests(4000), &Machine::ideal(8), 1);
        assert_eq!(run.overall("all").failures(), 4000);
        4000.0 / run.elapsed.as_secs_f64()
    };
    let (without, with) =
        (rps(&workload), rps(&workload.clone().interlock(Interlock::new(ms(100), 0.01))));
    assert!((without - 160.0).abs() < 0.5, "{without}");
    // Eight requests of 50 ms in a round; a round in twelve or so has a reload of 100 ms, and up to 50 ms
    // of waiting for those that run.
    assert!(with < 140.0 && with > 100.0, "{with}");
}
