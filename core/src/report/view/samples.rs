//! Reports for the tests of views.

use crate::executor::LongPoll;
use crate::measure::samples::{endpoint, ms, of_workers, recording, shape, worker};
use crate::measure::{GvlUse, LoopUse};
use crate::report::{Machine, Report, Row};
use crate::value::Value;

/// IO beside CPU on one lock, twice, with everything a row can have.
pub(crate) fn slow_io() -> Row {
    let io = endpoint("io", 50, 310).asking(104, 4, 4).waiting(100, 100).failing("timed out", 2);
    let cpu = endpoint("cpu", 5, 500).asking(400, 400, 400);
    let mut run = recording(5000, vec![io, cpu]);
    let (wait, hold, blocked) = (ms(10_000), ms(4_000), ms(6_000));
    run.gvl = GvlUse { wait, hold, blocked, handoffs: 200, ..Default::default() };
    (0..100).for_each(|_| run.gvl.waits.record(ms(100)));
    run.cpu = ms(4000);
    run.event_loop = Some(LoopUse {
        threshold: ms(20),
        long_polls: vec![LongPoll { task: "cpu".into(), count: 5, total: ms(2000), max: ms(410) }],
        ..Default::default()
    });
    let published = [("throughput_rps".to_owned(), 12.0), ("avg_ms".to_owned(), 300.0)];
    Row::of("puma", &shape(0, 5), &[run.clone(), run], &published)
}

/// Four workers of three threads: the first is crowded, and the last was lost once.
pub(crate) fn four_workers() -> Row {
    let (wait, hold, blocked) = (ms(1000), ms(600), ms(400));
    let mut crowded = worker(0, 100, 61, 310);
    crowded.gvl = GvlUse { wait, hold, blocked, ..Default::default() };
    crowded.cpu = ms(600);
    let mut lost = worker(3, 103, 4, 105).failing("worker lost", 2);
    lost.lost = 1;
    let workers =
        [crowded, worker(1, 101, 30, 110), worker(2, 102, 20, 105), lost, worker(3, 203, 3, 105)];
    let mut run = of_workers(2000, &workers);
    // The service time of each is 100 ms, whatever the queue added.
    run.endpoints[0] = run.endpoints[0].clone().asking(100, 10, 10);
    Row::of("puma", &shape(4, 3), &[run], &[])
}

/// A run whose every answer was a 500.
pub(crate) fn all_failed() -> Row {
    let run = recording(60_000, vec![endpoint("home", 0, 0).failing("status 500", 320)]);
    Row::of("webrick", &shape(0, 1), &[run], &[])
}

pub(crate) fn report(rows: Vec<Row>) -> Report {
    let experiment = Value::table([("name", Value::text("sample"))]);
    Report { experiment, engine: "real".to_owned(), seed: 1, machine: Machine::here(), rows }
}
