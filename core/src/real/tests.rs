//! The engine on real threads: counts, orders and ceilings that hold on any machine.

use super::Options;
use crate::executor::LongPoll;
use crate::gvl::Gvl;
use crate::load::{Load, closed, open};
use crate::measure::{Begin, Recording};
use crate::model::{Handlers, Model, pool, puma, uvicorn, webrick};
use crate::timeline::tests::assert_sound;
use crate::workload::{
    Endpoint, Interlock, Pool, Step, Workload, checkout, cpu, fail, hold, io, ms, native, us,
};
use std::time::Duration;

fn run(model: impl Into<Model>, workload: impl Into<Workload>, load: Load) -> Recording {
    let topology = model.into().topology();
    super::run(&topology, &workload.into(), &load, 1, Options::default(), &mut |_| {}).unwrap()
}

fn ok(recording: &Recording) -> u64 {
    recording.endpoints.iter().map(|e| e.ok()).sum()
}

#[test]
fn every_request_of_a_closed_loop_is_served_once() {
    for model in [
        Model::from(puma().threads(3)),
        pool().threads(2).into(),
        uvicorn().into(),
        uvicorn().handlers(Handlers::Blocking).into(),
        uvicorn().handlers(Handlers::Offloaded).into(),
        webrick().max_clients(4).into(),
    ] {
        let steps = [cpu(us(50)), io(us(200)), native(us(50)), hold(us(20))];
        let recording = run(model.clone(), steps, closed(7).requests(100));
        assert_eq!(ok(&recording), 100, "{model:?}");
        assert_eq!(recording.processes.get(&std::process::id()), Some(&100));
        let demand = recording.endpoints[0].demand;
        assert_eq!(demand.service, 100 * us(320));
        assert_eq!((demand.cpu, demand.locked), (100 * us(100), 100 * us(70)));
        assert_eq!(demand.held, 100 * us(20));
        // Nothing is faster than what it asked for.
        assert!(recording.endpoints[0].latency.min() >= Some(us(320)));
    }
}

#[test]
fn a_run_for_a_time_lasts_that_long() {
    let length = ms(50);
    let recording = run(puma().threads(2), [io(ms(1))], closed(4).duration(length));
    assert_eq!(recording.elapsed, length);
    assert!(recording.last_answer > Duration::ZERO && recording.last_answer <= length);
    // No more than slots / service time, and users keep both slots busy.
    assert!((1..=100).contains(&ok(&recording)), "{}", ok(&recording));
    assert!(recording.queue.depth_max >= 1);
}

#[test]
fn an_open_loop_counts_from_the_intended_start() {
    // One slot, requests of 2 ms every millisecond: the last ones wait longest.
    let load = open(1000.0).constant().requests(40);
    let recording = run(puma().threads(1), [io(ms(2))], load);
    assert_eq!(ok(&recording), 40);
    // The 40th was meant to start at 39 ms and cannot end before 80 ms.
    assert!(recording.endpoints[0].latency.max() >= Some(ms(41)));
}

#[test]
fn a_failing_handler_counts_no_success() {
    let recording = run(puma().threads(2), [fail(500)], closed(2).requests(30));
    assert_eq!(ok(&recording), 0);
    assert_eq!(recording.endpoints[0].failed.get("status 500"), Some(&30));
    assert_eq!(recording.endpoints[0].failed_latency.count(), 30);
}

#[test]
fn a_checkout_that_waits_too_long_fails() {
    let steps: [Step; 1] = [checkout("db", [io(ms(30))])];
    let workload = Workload::from(steps).pool(Pool::new("db", 1).timeout(ms(1)));
    for model in [Model::from(puma().threads(3)), uvicorn().into()] {
        let recording = run(model, workload.clone(), closed(3).requests(6));
        assert_eq!(recording.pools[0].held, recording.endpoints[0].demand.service);
        let failed = recording.endpoints[0].failed.get("checkout timeout").copied();
        assert!(failed >= Some(2), "{failed:?}");
        assert_eq!(ok(&recording) + failed.unwrap_or(0), 6);
    }
}

#[test]
fn bound_users_stay_with_their_endpoint() {
    let workload = Workload::new()
        .endpoint(Endpoint::new("cpu", [cpu(us(500))]).users(1))
        .endpoint(Endpoint::new("io", [io(us(500))]));
    let recording = run(puma().threads(3), workload, closed(3).requests(90));
    let counts: Vec<u64> = recording.endpoints.iter().map(|e| e.ok()).collect();
    assert_eq!(counts.iter().sum::<u64>(), 90);
    assert!(counts.iter().all(|n| *n > 0), "{counts:?}");
}

#[test]
fn waits_for_the_gvl_are_charged_to_the_request_that_waited() {
    let workload = Workload::new()
        .endpoint(Endpoint::new("cpu", [cpu(ms(40))]).users(1))
        .endpoint(Endpoint::new("io", [io(ms(1))]).users(1));
    let model = pool().threads(2).gvl(crate::gvl::Gvl::cpython());
    let recording = run(model, workload, closed(2).duration(ms(200)));
    let io = &recording.endpoints[1];
    assert!(io.gvl_waits > 0 && io.gvl_wait >= ms(1), "{io:?}");
    assert!(recording.gvl.waits.count() >= io.gvl_waits);
    assert!(recording.gvl.handoffs > 0 && recording.gvl.forced_yields > 0);
}

#[test]
fn a_blocking_handler_is_named_as_a_long_poll() {
    let workload = Workload::new()
        .endpoint(Endpoint::new("report", [hold(ms(15))]).users(1))
        .endpoint(Endpoint::new("ping", [io(ms(1))]).users(1));
    let recording = run(uvicorn(), workload, closed(2).duration(ms(100)));
    let event_loop = recording.event_loop.unwrap();
    let names: Vec<&str> = event_loop.long_polls.iter().map(|p: &LongPoll| &*p.task).collect();
    assert_eq!(names, ["report"]);
    assert!(event_loop.lag.max() >= Some(ms(4)));
}

#[test]
fn a_flood_ends_the_run() {
    let topology = Model::from(puma().threads(1)).topology();
    let load = open(1_000_000.0).constant().duration(Duration::from_secs(3600));
    let hour = [io(Duration::from_secs(3600))];
    let error =
        super::run(&topology, &hour.into(), &load, 1, Options::default(), &mut |_| {}).unwrap_err();
    assert_eq!(
        error.to_string(),
        "load: more than 100000 requests under way, expected a load that the server keeps up with"
    );
}

#[test]
fn a_run_that_is_cut_short_ends_at_once() {
    // Every thread is inside an hour of waiting or computing when the time is over.
    let hour = Duration::from_secs(3600);
    for steps in [[io(hour)], [cpu(hour)], [native(hour)], [hold(hour)]] {
        for model in [Model::from(puma().threads(2)), uvicorn().into()] {
            let recording = run(model, steps.clone(), closed(3).duration(ms(20)));
            assert_eq!(ok(&recording), 0);
        }
    }
}

#[test]
fn a_system_without_threads_ends_the_run() {
    let topology = Model::from(webrick().max_clients(4)).topology();
    let error = crate::sync::refusal::while_on(|| {
        super::run(
            &topology,
            &[io(ms(1))].into(),
            &closed(7).requests(100),
            1,
            Options::default(),
            &mut |_| {},
        )
        .unwrap_err()
    });
    assert_eq!(
        error.to_string(),
        "server: the system gives the executor no thread, expected a system that gives it threads"
    );
}

#[test]
fn a_warm_up_is_left_out_of_the_figures() {
    let topology = Model::from(puma().threads(2)).topology();
    let options = Options { begin: Some(Begin::After(30)), ..Options::default() };
    let (workload, load) = ([io(ms(1))].into(), closed(2).requests(100));
    let recording = super::run(&topology, &workload, &load, 1, options, &mut |_| {}).unwrap();
    let left_out = recording.left_out.unwrap();
    assert_eq!((left_out.requests, ok(&recording)), (30, 70));
    assert_eq!(recording.processes.values().sum::<u64>(), 70);
    // 30 requests of 1 ms on 2 threads, and then 70.
    assert!(left_out.time >= ms(15) && recording.elapsed >= ms(34), "{left_out:?}");
    assert!(recording.last_answer <= recording.elapsed);
}

#[test]
fn what_threads_do_is_recorded_soundly() {
    for (model, is_exclusive) in [
        (Model::from(pool().threads(4).gvl(Gvl::cruby())), true),
        (pool().threads(4).gvl(Gvl::cpython()).into(), true),
        (pool().threads(4).gvl(Gvl::none()).into(), false),
        (webrick().into(), true),
        (uvicorn().handlers(Handlers::Async).into(), true),
        (uvicorn().handlers(Handlers::Offloaded).offload_threads(3).into(), true),
    ] {
        let workload = Workload::of([cpu(us(100)), io(us(300)), cpu(us(50))]);
        let look = Options { timeline: Some(100_000), ..Options::default() };
        let (topology, load) = (model.topology(), closed(6).requests(60));
        let run = super::run(&topology, &workload, &load, 1, look, &mut |_| {}).unwrap();
        let timeline = run.timeline.unwrap();
        assert_sound(&timeline, is_exclusive);
        let mut served: Vec<_> =
            timeline.tracks.iter().flat_map(|t| &t.requests).map(|r| r.number).collect();
        served.sort_unstable();
        assert_eq!(served, (0..60).collect::<Vec<_>>());
        assert!(timeline.grants().any(|grant| grant.request.is_some()));
        assert_eq!((timeline.dropped, timeline.note()), (0, None));
    }
}

/// Requests that reload do so one after the other, in whatever way they are served.
#[test]
fn whoever_reloads_is_alone() {
    for model in [
        Model::from(pool().threads(4).gvl(Gvl::none())),
        puma().threads(3).into(),
        uvicorn().into(),
        uvicorn().handlers(Handlers::Blocking).into(),
        uvicorn().handlers(Handlers::Offloaded).into(),
    ] {
        let workload = Workload::of([io(us(100)), cpu(us(50))]);
        let workload = workload.interlock(Interlock::new(ms(1), 1.0));
        let recording = run(model.clone(), workload, closed(4).requests(40));
        assert_eq!(ok(&recording), 40, "{model:?}");
        assert!(recording.elapsed >= ms(40), "{model:?}: {:?}", recording.elapsed);
    }
}
/// Every attempt takes longer than its client waits: each fails as often as it is tried, and all that is
/// served is for nobody.
#[test]
fn clients_give_up_and_the_server_works_on() {
    for (model, may_drop) in [
        (Model::from(pool().threads(1)), false),
        (pool().threads(3).into(), false),
        (puma().threads(2).into(), true),
        (uvicorn().into(), false),
        (uvicorn().handlers(Handlers::Blocking).into(), false),
        (uvicorn().handlers(Handlers::Offloaded).into(), false),
        (webrick().max_clients(2).into(), false),
    ] {
        for pause in [us(0), us(300)] {
            let load = closed(3).requests(6).timeout(us(500)).retries(2).retry_after(pause);
            let recording = run(model.clone(), [io(ms(4))], load);
            let endpoint = &recording.endpoints[0];
            assert_eq!((endpoint.ok(), endpoint.failed.get("timeout")), (0, Some(&6)), "{model:?}");
            // Three times the patience, and the pauses between.
            assert!(endpoint.failed_latency.min() >= Some(us(1500) + 2 * pause), "{model:?}");
            let clients = recording.clients.unwrap();
            assert_eq!((clients.retries, recording.unfinished), (12, 0), "{model:?}");
            assert_eq!(clients.abandoned + clients.discarded, 18, "{model:?}");
            assert!(may_drop || clients.discarded == 0, "{model:?}");
            assert_eq!(clients.demand.service, clients.abandoned as u32 * ms(4), "{model:?}");
        }
    }
}

/// One thread that is busy for long while others wait: Puma does not begin what nobody waits for.
#[test]
fn what_waited_in_vain_is_dropped_by_puma_alone() {
    let load = || closed(5).requests(5).timeout(ms(1));
    let drops = |model: Model| run(model, [io(ms(60))], load()).clients.unwrap();
    let puma = drops(puma().threads(1).into());
    assert!(puma.discarded >= 1 && puma.discarded + puma.abandoned == 5, "{puma:?}");
    let pool = drops(pool().threads(1).into());
    assert_eq!((pool.discarded, pool.abandoned), (0, 5));
}

#[test]
fn who_is_answered_in_time_tries_once() {
    let load = closed(4).requests(40).timeout(Duration::from_secs(3600)).retries(2);
    let recording = run(puma().threads(2), [io(us(200)), fail(500)], load);
    let clients = recording.clients.unwrap();
    assert_eq!((clients.retries, clients.abandoned, clients.discarded), (0, 0, 0));
    assert_eq!(recording.endpoints[0].failed.get("status 500"), Some(&40));
    let without = run(puma(), [io(us(200))], closed(4).requests(40));
    assert_eq!(without.clients, None);
}
