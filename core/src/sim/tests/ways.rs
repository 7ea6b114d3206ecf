//! Ways that requests take through servers, pools and cores.

use super::*;
use crate::load::{closed, open};
use crate::model::{apache, puma, unicorn, uvicorn, webrick};
use crate::workload::{Interlock, Pool, checkout, cpu, exp, fail, hold, io, ms, native, us};

/// Every model, sometimes several ways.
fn models() -> Vec<Model> {
    let mut models: Vec<Model> = vec![
        puma().threads(3).into(),
        puma().threads(5).min_threads(0).into(),
        pool().workers(2).threads(3).into(),
        webrick().into(),
        unicorn().workers(3).into(),
        unicorn().workers(3).version("5.8").into(),
        apache().into(),
        uvicorn().into(),
        uvicorn().workers(3).into(),
    ];
    for version in ["5.6.9", "6.6.1", "7.0.0", "7.0.4", "8.0.2", "main"] {
        models.push(puma().workers(2).threads(3).version(version).into());
    }
    for text in [
        "apache = { mpm = 'prefork' }",
        "apache = { mpm = 'worker', workers = 2, threads = 4, python = '3.11' }",
        "gunicorn = { workers = 2 }",
        "gunicorn = { workers = 2, worker_class = 'gthread', threads = 4 }",
        "gunicorn = { workers = 2, worker_class = 'uvicorn' }",
        "nginx = { server = { puma = { threads = 3 } } }",
        "nginx = { backends = 3, policy = 'least-conn', workers = 2, server = { uvicorn = {} } }",
        "nginx = { weights = [3, 1], server = { uvicorn = { handlers = 'def' } } }",
        "nginx = { policy = 'least-conn', server = { webrick = {} } }",
        "uvicorn = { handlers = 'def' }",
        "uvicorn = { handlers = 'blocking', workers = 2 }",
    ] {
        let document = format!(
            "workload = {{ steps = [{{ io = '1ms' }}] }}\n\
             load = {{ closed = {{ users = 1, requests = 1 }} }}\n[[model]]\n{text}\n"
        );
        let experiment = crate::Experiment::from_toml(&document).expect(text);
        models.push(experiment.models[0].model.clone());
    }
    models
}

fn workload() -> Workload {
    let steps = [
        cpu(us(300)),
        checkout("db", [io(exp(ms(2))), native(us(100))]),
        hold(us(50)),
        cpu(exp(us(200))),
    ];
    Workload::from(steps).pool(Pool::new("db", 4))
}

/// Every request ends once, on every model, under every load.
#[test]
fn every_request_ends_once() {
    let loads = [
        closed(10).requests(2000),
        closed(10).requests(2000).keep_alive(),
        closed(10).think(exp(ms(3))).requests(2000).keep_alive(),
        open(300.0).requests(2000),
    ];
    for model in models() {
        for load in &loads {
            for machine in [Machine::default(), Machine { cores: Some(1), ..<_>::default() }] {
                let label = format!("{model:?} {load:?} {machine:?}");
                let run = run(model.clone(), &workload(), load, &machine, 1);
                let all = run.overall("all");
                assert_eq!((all.requests(), run.unfinished), (2000, 0), "{label}");
                assert_eq!(run.processes.values().sum::<u64>(), all.ok(), "{label}");
                assert_eq!(all.ok(), 2000, "{label}");
                let cpu = all.demand.cpu;
                assert!(run.cpu >= cpu, "{label}: {:?} of {cpu:?}", run.cpu);
            }
        }
    }
}

/// So does every request inside of an interlock.
#[test]
fn every_request_leaves_the_interlock() {
    let workload = workload().interlock(Interlock::new(exp(ms(5)), 0.05));
    for model in models() {
        for load in [closed(10).requests(400), closed(10).requests(400).keep_alive()] {
            let run = run(model.clone(), &workload, &load, &Machine::default(), 1);
            assert_eq!((run.overall("all").ok(), run.unfinished), (400, 0), "{model:?}");
        }
    }
}

/// The same seed gives the same run, another one another.
#[test]
fn a_seed_is_a_run() {
    for model in models() {
        let load = closed(10).think(exp(ms(3))).requests(500);
        let figures = |seed| {
            let run = run(model.clone(), &workload(), &load, &Machine::default(), seed);
            format!("{run:?}")
        };
        assert_eq!(figures(1), figures(1), "{model:?}");
        assert_ne!(figures(1), figures(2), "{model:?}");
    }
}

/// Fewer cores than threads that compute: the cores bound the throughput, and are shared evenly.
#[test]
fn cores_are_shared() {
    let workload = Workload::from([cpu(ms(50))]);
    for cores in [1, 2, 3] {
        let machine = Machine::ideal(cores);
        let load = closed(6).duration(Duration::from_secs(60));
        let run = run(servers(6), &workload, &load, &machine, 1);
        let rps = run.overall("all").ok() as f64 / 60.0;
        let bound = f64::from(cores) * 20.0;
        assert!(rps <= bound && rps > bound * 0.99, "{cores} cores: {rps}");
        assert_eq!(run.cpu, Duration::from_secs(60) * cores);
        // Who computes in turns ends at about the same time as the others.
        let latency = &run.overall("all").latency;
        let fair = 6.0 * 50.0 / f64::from(cores);
        assert!((mean_ms(&run) - fair).abs() < 0.02 * fair, "{}", mean_ms(&run));
        assert!(millis(latency.max().unwrap()) < 1.2 * fair);
    }
}

/// A thread that sleeps much is not kept from a core by those that compute.
#[test]
fn a_sleeper_gets_a_core_soon() {
    use crate::workload::Endpoint;
    let workload = Workload::new()
        .endpoint(Endpoint::new("io", [io(ms(5)), cpu(us(100))]).users(1))
        .endpoint(Endpoint::new("cpu", [cpu(ms(500))]).users(4));
    let load = closed(5).duration(Duration::from_secs(60));
    let machine = Machine { cores: Some(1), ..Machine::default() };
    let run = run(servers(5), &workload, &load, &machine, 1);
    let p99 = millis(run.endpoints[0].latency.percentile(99.0).unwrap());
    assert!(p99 < 5.0 + 3.0 + 0.2, "{p99}");
}

/// Switching threads takes CPU time.
#[test]
fn switches_cost() {
    let workload = Workload::from([cpu(ms(50))]);
    let load = closed(6).duration(Duration::from_secs(10));
    let used = |switch| {
        let machine = Machine { switch: Some(switch), ..Machine::ideal(1) };
        run(servers(6), &workload, &load, &machine, 1).overall("all").ok()
    };
    // Each slice of 3 ms costs another 1 ms.
    let (none, dear) = (used(Duration::ZERO), used(ms(1)));
    assert!(dear * 4 <= none * 3 + 4 && dear * 4 >= none * 3 - 30, "{none} {dear}");
}

/// Cores that are slower together: two compute at 0.6 of the speed, and the rest of the longer one alone.
#[test]
fn cores_slow_each_other_down() {
    let machine = Machine { together: Some(0.6), ..Machine::ideal(2) };
    let steps = |length| Workload::from([native(length)]);
    let took = |load, workload: &Workload| {
        let run = run(servers(2), workload, &load, &machine, 1);
        millis(run.overall("all").latency.max().unwrap())
    };
    assert_eq!(took(closed(1).requests(1), &steps(ms(60))), 60.0);
    assert_eq!(took(closed(2).requests(2), &steps(ms(60))), 100.0);
    // The second begins 60 ms later: what is left of the first, 40 ms, and as much of the second take
    // 40 ms / 0.6; its other 60 ms run alone.
    let staggered = closed(2).spawn_rate(1000.0 / 60.0).requests(2);
    let second = took(staggered, &steps(ms(100)));
    assert!((second - (40.0 / 0.6 + 60.0)).abs() < 0.001, "{second}");
}

/// A client with a lock of its own: each connection and each request takes its turn, and a server that
/// watches connections has accepted all of them before the first request comes.
#[test]
fn a_client_takes_its_turns() {
    let machine = Machine { client: Some(ms(1)), ..Machine::ideal(8) };
    let workload = Workload::from([io(ms(10))]);
    let took = |model: Model, load| {
        let latency = run(model, &workload, &load, &machine, 1).overall("all").latency;
        (millis(latency.min().unwrap()), millis(latency.max().unwrap()))
    };
    let single = || puma().threads(3).into();
    assert_eq!(took(single(), closed(1).requests(1)), (12.0, 12.0));
    // Three connect in three turns, and then send in three.
    assert_eq!(took(single(), closed(3).requests(3)), (14.0, 16.0));
    let four: Model = puma().workers(4).threads(3).into();
    let (least, _) = took(four.clone(), closed(12).requests(12));
    assert!((least - 23.0).abs() < 0.1, "{least}");
    // A connection that is open takes the second turn only.
    let (least, _) = took(four, closed(1).requests(5).keep_alive());
    assert!((least - 11.0).abs() < 0.1, "{least}");
}

/// The worker that accepted last is the likeliest to accept next, so that chance alone would spread
/// connections more evenly.
#[test]
fn a_herd_is_led_by_the_last_one() {
    let machine = Machine { client: Some(us(200)), ..Machine::default() };
    let workload = Workload::from([io(ms(50))]);
    let most = |seed| {
        let model = puma().workers(2).threads(12);
        let run = run(model, &workload, &closed(12).requests(12), &machine, seed);
        run.workers.iter().map(|worker| worker.ok()).max().unwrap_or_default()
    };
    let runs = 200;
    let uneven = (0..runs).filter(|seed| most(*seed) >= 9).count();
    // By chance alone 15 % of the runs would have 9 or more of 12 on one worker.
    assert!(uneven * 100 >= runs as usize * 20, "{uneven} of {runs}");
}

/// Threads beyond the connections wait for one, and fail where that takes too long.
#[test]
fn checkouts_time_out() {
    let one = |timeout| {
        let workload = Workload::from([checkout("db", [io(ms(100))])]);
        let workload = workload.pool(Pool::new("db", 1).timeout(ms(timeout)));
        let load = closed(4).duration(Duration::from_secs(10));
        run(servers(4), &workload, &load, &Machine::ideal(4), 1).overall("all")
    };
    let (patient, hasty) = (one(1000), one(150));
    assert_eq!((patient.failures(), patient.ok()), (0, 100));
    assert_eq!(hasty.ok(), 100);
    assert_eq!(hasty.failed.keys().collect::<Vec<_>>(), ["checkout timeout"]);
    assert_eq!(hasty.failed_latency.max(), Some(ms(150)));
}

#[test]
fn failures_are_counted_by_kind() {
    let workload = Workload::from([io(ms(1)), fail(500)]);
    let load = closed(2).requests(10);
    let all = run(servers(2), &workload, &load, &Machine::ideal(2), 1).overall("all");
    assert_eq!((all.ok(), all.failed.get("status 500")), (0, Some(&10)));
}

/// Users who keep their connection stay with the worker that accepted it.
#[test]
fn kept_connections_stick() {
    let model = puma().workers(4).threads(3);
    let load = closed(4).duration(Duration::from_secs(10)).keep_alive();
    let workload = Workload::from([io(ms(10))]);
    let run = run(model, &workload, &load, &Machine::default(), 1);
    let answered: Vec<u64> = run.workers.iter().map(|worker| worker.ok()).collect();
    // Four users of about a thousand requests each; a worker has a whole number of users.
    let a_user = answered.iter().sum::<u64>() as f64 / 4.0;
    for n in answered {
        let users = n as f64 / a_user;
        assert!((users - users.round()).abs() < 0.02, "{users}");
    }
}

/// A stream that is more than the server can take is told, not simulated until memory fills.
#[test]
fn an_overload_ends_with_an_error() {
    let topology = servers(1).topology();
    let workload = Workload::from([io(ms(1))]);
    let load = open(100_000.0).duration(Duration::from_secs(86_400));
    let error =
        crate::sim::run(&topology, &workload, &load, on(&Machine::default()), 1, &mut |_| {});
    assert!(error.unwrap_err().to_string().contains("under way"));
}

/// A thread that ended with its request is counted once: one lock is held for as long as there is time.
#[test]
fn threads_that_ended_are_counted_once() {
    let workload = Workload::from([cpu(ms(10))]);
    let run = run(webrick(), &workload, &closed(1).requests(50), &Machine::ideal(2), 1);
    assert_eq!((run.elapsed, run.gvl.hold), (ms(500), ms(500)));
}
