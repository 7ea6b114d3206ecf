//! Runs that would never end, or not fit.

use super::*;
use crate::load::{closed, open};
use crate::workload::{Dist, io, ms, secs};
use crate::{Engine, Experiment};

fn told(load: Load) -> String {
    let experiment = Experiment::new(servers(2)).workload([io(ms(100))]).load(load);
    experiment.run(Engine::Sim).unwrap_err().to_string()
}

#[test]
fn a_queue_that_would_not_fit_is_refused_before_it_grows() {
    let utilisation = "utilisation 250 of the slots (2 slots / 100 ms)";
    let expected = |backlog| {
        format!(
            "load.open.rate: 5000 is not allowed, expected less than the 20 requests per second \
             that are served, or a shorter run: at a {utilisation} some {backlog} requests would \
             wait at its end, more than the 200000 that are kept"
        )
    };
    assert_eq!(told(open(5000.0).duration(secs(3600))), expected(17_928_000));
    assert_eq!(told(open(5000.0).requests(1_000_000)), expected(996_000));
}

/// What the demands do not tell is left to the count: here a wait for who never comes.
#[test]
fn the_count_of_those_under_way_names_the_utilisation() {
    let workload = Workload::from([io(ms(100))]);
    let load = open(1e6).duration(secs(1));
    let offered = crate::measure::Offered {
        rate: 1e6,
        until: load.until().unwrap(),
        ceiling: crate::measure::Ceiling {
            kind: crate::measure::CeilingKind::Slots,
            rps: 2e6,
            formula: "a bound that does not hold".to_owned(),
        },
    };
    let topology = servers(2).topology();
    let machine = Machine::ideal(1);
    let conditions = Conditions { offered: Some(&offered), ..on(&machine) };
    let run = crate::sim::run(&topology, &workload, &load, conditions, 1, &mut |_| {});
    assert_eq!(
        run.unwrap_err().to_string(),
        "load: more than 200000 requests under way at a utilisation 0.5 of the slots (a bound that \
         does not hold), expected a load that the server keeps up with"
    );
}

#[test]
fn what_is_unstable_and_fits_is_run_and_doubted() {
    let experiment = Experiment::new(servers(2)).workload([io(ms(100))]);
    let report = experiment.load(open(25.0).duration(secs(60))).run(Engine::Sim).unwrap();
    let kinds: Vec<_> = report.rows[0].warnings.iter().map(|warning| warning.kind).collect();
    assert_eq!(kinds, ["unstable load"]);
}

#[test]
fn a_run_of_centuries_is_one_that_never_ends() {
    let never = "load: not over after 100 years of virtual time, expected a load that comes to its \
                 end";
    assert_eq!(told(open(1e-9).requests(1000)), never);
    let think = Dist::Constant(secs(86_400));
    assert_eq!(told(closed(1).think(think).requests(100_000)), never);
}

#[test]
fn a_load_without_an_end_is_refused() {
    let neither = |at| {
        format!("load.{at}: neither requests nor duration is not allowed, expected one of the two")
    };
    assert_eq!(told(open(5.0)), neither("open"));
    assert_eq!(told(closed(5)), neither("closed"));
}
