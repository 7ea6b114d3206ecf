//! Figures, verdicts and causes.

use super::*;
use crate::load::closed;
use crate::model::puma;
use crate::workload::{cpu, io, ms, secs};

fn row(experiment: &Experiment) -> ReproducedRow {
    Reproduction::run(experiment, 10, &|_| {}).unwrap().rows.remove(0)
}

fn of_one_thread(published: f64) -> Experiment {
    let experiment = Experiment::new(puma().threads(1)).published("throughput_rps", published);
    experiment.workload([io(ms(100))]).load(closed(2).requests(20))
}

#[test]
fn a_verdict_tells_how_near_a_figure_is() {
    for (published, verdict) in [
        (9.9, Verdict::Close),
        (9.2, Verdict::Near),
        (7.0, Verdict::Off),
        (16.3, Verdict::Impossible),
    ] {
        assert_eq!(row(&of_one_thread(published)).figures[0].verdict, verdict, "{published}");
    }
}

#[test]
fn what_cannot_be_says_so() {
    let cause = row(&of_one_thread(16.3)).cause.unwrap();
    assert!(cause.starts_with("impossible: published throughput_rps 16.3"), "{cause}");
}

#[test]
fn figures_of_locust_are_rounded_as_it_does() {
    let experiment = Experiment::new(puma().threads(3));
    let published = [("median_ms", 9100.0), ("max_ms", 12_161.0), ("throughput_rps", 0.99)];
    let experiment = published.into_iter().fold(experiment, |e, (key, x)| e.published(key, x));
    let experiment =
        experiment.workload([io(secs(3))]).load(closed(10).duration(secs(60)).keep_alive());
    let row = row(&experiment);
    assert_eq!(row.figure("median_ms").unwrap().mean, Some(9000.0));
    assert_eq!(row.figure("max_ms").unwrap().mean, Some(12_000.0));
    // 57 answers, the last of them after 57 s.
    assert!(row.figure("throughput_rps").unwrap().mean.is_some_and(|rps| rps > 0.99));
}

#[test]
fn failures_have_no_throughput() {
    let experiment = Experiment::new(puma().threads(1));
    let published = [("ok", 0.0), ("failed", 20.0), ("availability_pct", 0.0)];
    let experiment = published.into_iter().fold(experiment, |e, (key, x)| e.published(key, x));
    let steps = [cpu(ms(1)), crate::workload::fail(500)];
    let row = row(&experiment.workload(steps).load(closed(1).requests(20)));
    assert_eq!(row.figure("ok").unwrap().verdict, Verdict::Close);
    assert_eq!(row.figure("failed").unwrap().mean, Some(20.0));
    assert!(row.cause.unwrap().starts_with("no success: "));
}

#[test]
fn causes_stand_below_the_table() {
    let reproduced = Reproduction::run(&of_one_thread(16.3), 2, &|_| {}).unwrap();
    let text = Reproduction::table(&[reproduced]);
    assert!(text.contains("| puma 0x1 | throughput_rps |      16.3 |"), "{text}");
    assert!(text.ends_with('\n') && text.contains("\n\npuma 0x1: impossible: "), "{text}");
}
