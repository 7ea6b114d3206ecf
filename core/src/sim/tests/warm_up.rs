//! What is left out of a simulated run, and that the rest is what was measured anyway.

use super::*;
use crate::Engine;
use crate::Experiment;
use crate::load::{WarmUp, closed, open};
use crate::report::Row;
use crate::workload::{exp, io, ms, secs};

fn row(load: Load, warm_up: impl Into<Option<WarmUp>>) -> Row {
    let mut experiment = Experiment::new(servers(4)).workload([io(exp(ms(20)))]).load(load);
    experiment.warmup = warm_up.into();
    experiment.run(Engine::Sim).unwrap().rows.remove(0)
}

#[test]
fn what_was_left_out_and_the_rest_are_the_whole_run() {
    let load = || open(150.0).duration(secs(100));
    let whole = row(load(), None);
    assert_eq!(whole.warm_up, None);
    let cut = row(load(), WarmUp::Time(secs(40)));
    let warm_up = cut.warm_up.unwrap();
    assert_eq!((warm_up.time_ms, warm_up.share, warm_up.settled), (40_000.0, Some(0.4), true));
    assert_eq!(
        (warm_up.requests + cut.requests, cut.unfinished),
        (whole.requests, whole.unfinished)
    );
    // The rate is that of the 60 s that are left; CPU and lock are those of the whole run.
    assert_eq!(cut.throughput_rps, Some(six_digits(cut.ok as f64 / 60.0)));
    assert_eq!((cut.cpu_share, cut.gvl.hold_share), (whole.cpu_share, whole.gvl.hold_share));
    let by_number = row(open(150.0).requests(3000), WarmUp::Requests(1000));
    assert_eq!((by_number.ok, by_number.warm_up.unwrap().requests), (2000, 1000));
}

fn six_digits(x: f64) -> f64 {
    format!("{x:.5e}").parse().unwrap()
}

/// 40 users who all begin at once are 40 in the queue of 4 threads; later they think.
#[test]
fn a_crowd_at_the_start_is_found_and_left_out() {
    let load = || closed(400).think(exp(secs(8))).duration(secs(120));
    let whole = row(load(), None);
    let cut = row(load(), WarmUp::Auto);
    let warm_up = cut.warm_up.unwrap();
    assert!(warm_up.settled && (200..1500).contains(&warm_up.requests), "{warm_up:?}");
    let mean = |row: &Row| row.latency_ms.mean.unwrap();
    assert!(mean(&cut) < 0.7 * mean(&whole), "{} {}", mean(&cut), mean(&whole));
    assert!(cut.warnings.iter().all(|warning| warning.kind != "warm-up"));
    // Asked for by its number, it is the same run.
    let again = row(load(), WarmUp::Requests(warm_up.requests));
    assert_eq!(again.latency_ms, cut.latency_ms);
}

#[test]
fn a_load_without_a_steady_state_never_settles() {
    let row = row(open(260.0).duration(secs(60)), WarmUp::Auto);
    let warm_up = row.warm_up.unwrap();
    assert_eq!((warm_up.settled, warm_up.requests), (false, 0));
    let kinds: Vec<_> = row.warnings.iter().map(|warning| warning.kind).collect();
    assert_eq!(kinds, ["unstable load", "warm-up"]);
}

#[test]
fn a_warm_up_longer_than_the_rest_is_told() {
    let row = row(open(100.0).duration(secs(10)), WarmUp::Time(secs(6)));
    let told: Vec<_> = row.warnings.iter().map(|w| (w.kind, w.text.as_str())).collect();
    assert_eq!(told[0].0, "warm-up");
    assert!(told[0].1.starts_with("6000 ms of 10000 ms (60 %) were left out"), "{told:?}");
}

/// The first answers after the cut did their work before it: no figure is impossible for that.
#[test]
fn a_cut_makes_nothing_impossible() {
    for seconds in 1..10 {
        let load = closed(4).duration(secs(10));
        let experiment = Experiment::new(servers(4)).workload([io(ms(900))]).load(load);
        let report = experiment.warmup(WarmUp::Time(secs(seconds))).run(Engine::Sim).unwrap();
        assert!(!report.is_impossible(), "{seconds}");
    }
}
