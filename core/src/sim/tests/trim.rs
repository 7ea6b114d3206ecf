//! Threads of Puma that come with requests and go every 30 s, one at a time.

use super::*;
use crate::load::closed;
use crate::model::puma;
use crate::timeline::{Role, Timeline};
use crate::workload::{Dist, io, ms, secs};

fn recorded(min: u32, load: &Load) -> Timeline {
    let topology = Model::from(puma().threads(5).min_threads(min)).topology();
    let machine = Machine::ideal(8);
    let conditions = Conditions { timeline: Some(100_000), ..on(&machine) };
    let workload = Workload::from([io(ms(10))]);
    let run = super::super::run(&topology, &workload, load, conditions, 1, &mut |_| {});
    run.unwrap().timeline.unwrap()
}

/// The ends of the threads before that of the run, in seconds.
fn ends(timeline: &Timeline) -> Vec<f64> {
    let threads = timeline.tracks.iter().filter(|track| track.role == Role::Thread);
    let ends = threads.filter_map(|track| track.spans.last().map(|span| span.to));
    let mut ends: Vec<_> = ends.filter(|at| *at < timeline.end).collect();
    ends.sort_unstable();
    ends.into_iter().map(|at| at as f64 / 1e9).collect()
}

/// Five requests at once have five threads started; then nobody comes for long.
#[test]
fn one_ends_every_thirty_seconds() {
    let load = closed(5).think(Dist::Constant(secs(200))).duration(secs(201));
    assert_eq!(ends(&recorded(0, &load)), [30.0, 60.0, 90.0, 120.0, 150.0]);
    assert_eq!(ends(&recorded(2, &load)), [30.0, 60.0, 90.0]);
    assert_eq!(ends(&recorded(5, &load)), [] as [f64; 0]);
}

/// Whoever comes back finds fewer threads, and has others started.
#[test]
fn threads_come_back_with_requests() {
    let load = closed(5).think(Dist::Constant(secs(70))).duration(secs(141));
    let timeline = recorded(0, &load);
    let threads = timeline.tracks.iter().filter(|track| track.role == Role::Thread);
    // Two of five have ended at 30 s and 60 s, two are started at 70 s; the same again until 140 s.
    assert_eq!((threads.count(), ends(&timeline)), (9, vec![30.0, 60.0, 90.0, 120.0]));
}

/// Where every thread has something to do at the time of the look, none ends.
#[test]
fn busy_threads_stay() {
    let load = closed(5).duration(secs(100));
    assert_eq!(ends(&recorded(0, &load)), [] as [f64; 0]);
}
