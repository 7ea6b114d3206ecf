//! Properties of whole experiments, by the front door: nothing is lost, nothing beats its ceiling,
//! and the seed decides what is asked for.

use gvl_lab::experiment::Entry;
use gvl_lab::gvl::{Gvl, NAMES};
use gvl_lab::load::{closed, open};
use gvl_lab::model::{Handlers, Model, pool, puma, uvicorn, webrick};
use gvl_lab::report::Row;
use gvl_lab::workload::{
    Endpoint, Pool, Step, Workload, checkout, choose, cpu, exp, fail, hold, io, lognormal, ms,
    native, repeat, us,
};
use gvl_lab::{Engine, Experiment};
use proptest::prelude::*;

const REQUESTS: u64 = 30;

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        (0..300_u64).prop_map(|n| cpu(us(n))),
        (0..800_u64).prop_map(|n| io(exp(us(n)))),
        (0..300_u64).prop_map(|n| native(lognormal(us(n), 0.5))),
        (0..200_u64).prop_map(|n| hold(us(n))),
        (1..4_u32).prop_map(|n| repeat(n, [io(us(200))])),
        (1..400_u64).prop_map(|n| checkout("db", [io(us(n))])),
        Just(choose([(1.0, vec![fail(500)]), (3.0, vec![cpu(us(50))])])),
    ];
    prop::collection::vec(step, 1..5)
}

fn model() -> impl Strategy<Value = Model> {
    prop_oneof![
        (1..5_u32).prop_map(|n| puma().threads(n).into()),
        (1..5_u32).prop_map(|n| webrick().max_clients(n).into()),
        (1..5_u32, prop::sample::select(NAMES)).prop_map(|(n, lock)| {
            pool().threads(n).gvl(Gvl::named(lock).expect("a known name")).into()
        }),
        prop::sample::select(vec![Handlers::Async, Handlers::Offloaded, Handlers::Blocking])
            .prop_map(|handlers| uvicorn().handlers(handlers).offload_threads(3).into()),
    ]
}

fn experiment() -> impl Strategy<Value = Experiment> {
    let users = prop_oneof![Just(None), (1..6_u32).prop_map(Some)];
    (steps(), model(), users, 0..1000_u64).prop_map(|(steps, model, users, seed)| {
        let load = match users {
            Some(users) => closed(users),
            None => open(3000.0),
        };
        let workload = Workload::of(steps).pool(Pool::new("db", 2));
        Experiment::new(model).workload(workload).load(load.requests(REQUESTS)).seed(seed)
    })
}

fn run(experiment: &Experiment) -> Row {
    let report = experiment.run(Engine::Real).expect("a sound experiment runs");
    report.rows.into_iter().next().expect("a row for each model")
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 40, max_shrink_iters: 20, ..Default::default() })]

    #[test]
    fn each_request_has_one_outcome_and_none_beats_its_ceiling(experiment in experiment()) {
        let row = run(&experiment);
        let failed: u64 = row.failed.values().sum();
        prop_assert_eq!(row.requests, REQUESTS);
        prop_assert_eq!(row.ok + failed, REQUESTS);
        prop_assert_eq!(row.latency_ms.count, row.ok);
        prop_assert_eq!(row.processes.values().sum::<u64>(), row.ok);
        prop_assert_eq!(row.throughput_rps.is_some(), row.ok > 0);
        prop_assert!(!row.is_impossible(), "{:?}", row.warnings);
    }

    #[test]
    fn the_same_seed_asks_for_the_same_on_every_model(experiment in experiment(), other in model()) {
        // Checkouts may time out or not, but not within the 5 s that they wait here.
        let second = Experiment { models: vec![Entry::new(other)], ..experiment.clone() };
        let (first, second) = (run(&experiment), run(&second));
        prop_assert_eq!(&first.failed, &second.failed);
        // Behind a ceiling of one user or slot is the sum of what the successful requests asked
        // for; users are the same on both, where there are any.
        let users = |row: &Row| row
            .ceilings
            .iter()
            .find(|ceiling| ["users", "load limited"].contains(&ceiling.kind.name()))
            .map(|ceiling| ceiling.rps);
        prop_assert_eq!(users(&first), users(&second));
    }
}

#[test]
fn users_bound_to_endpoints_ask_for_those_alone() {
    let workload = Workload::new()
        .endpoint(Endpoint::new("io", [io(ms(1))]).users(3))
        .endpoint(Endpoint::new("fail", [cpu(us(100)), fail(503)]).users(1));
    let experiment = Experiment::new(puma().threads(4))
        .workload(workload)
        .load(closed(4).requests(200))
        .repeat(2);
    let row = run(&experiment);
    assert_eq!(row.requests, 400);
    let counts: Vec<_> =
        row.endpoints.iter().map(|e| (e.name.as_str(), e.ok > 0, e.failed.is_empty())).collect();
    assert_eq!(counts, [("io", true, true), ("fail", false, false)]);
    assert_eq!(row.endpoints.iter().map(|e| e.requests).sum::<u64>(), 400);
    assert_eq!(row.failed.get("status 503"), Some(&row.endpoints[1].requests));
}

#[test]
fn replications_are_merged_and_give_an_interval() {
    let experiment = Experiment::new(puma().threads(2))
        .workload([io(exp(us(500)))])
        .load(closed(2).requests(20))
        .repeat(3);
    let row = run(&experiment);
    assert_eq!((row.requests, row.latency_ms.count), (60, 60));
    let interval = row.interval.expect("three replications");
    assert_eq!(interval.replications, 3);
    let bounds = interval.throughput_rps;
    assert!(bounds.low <= bounds.mean && bounds.mean <= bounds.high, "{bounds:?}");
}

#[test]
fn one_slot_serves_one_request_at_a_time() {
    // A queue in front of one slot: of eight users at most one is served, the others wait.
    let experiment =
        Experiment::new(pool().threads(1)).workload([io(ms(1))]).load(closed(8).requests(80));
    let row = run(&experiment);
    assert_eq!((row.ok, row.slots, row.queue.depth_max <= 8), (80, Some(1), true));
    assert!(row.queue.depth_max >= 7, "{:?}", row.queue);
    assert!(row.throughput_rps.is_some_and(|rps| rps <= 1000.0), "{:?}", row.throughput_rps);
    assert_eq!(row.gvl.forced_yields, 0, "nobody else wanted the lock");
}

#[test]
fn an_observer_hears_rows_in_order_and_progress_that_only_grows() {
    let experiment = Experiment::new(puma().threads(2))
        .model(uvicorn())
        .workload([io(us(300))])
        .load(closed(4).requests(40));
    let mut heard = Vec::new();
    let observe = &mut |progress: &gvl_lab::Progress<'_>| {
        heard.push((progress.model.to_owned(), progress.done));
    };
    experiment.run_observed(Engine::Real, observe).expect("a sound experiment runs");
    assert!(heard.is_sorted_by(|a, b| a.1 <= b.1), "{heard:?}");
    heard.dedup_by_key(|(model, _)| model.clone());
    assert_eq!(heard.len(), 2);
    assert!(heard.iter().all(|(_, done)| (0.0..=1.0).contains(done)));
}
