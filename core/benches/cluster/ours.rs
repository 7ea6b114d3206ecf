//! A cluster of two workers of one thread.

use super::measure::{AHEAD, LARGE, Measure, SMALL, rate, round_trip};
use bytes::Bytes;
use gvl_lab::cluster::{App, Cluster, Reply};
use gvl_lab::executor::JoinHandle;
use std::collections::VecDeque;
use std::error::Error;

const TASKS: usize = 200_000;
const TRIPS: usize = 10_000;
const LARGE_TASKS: usize = 500;

/// Loads the application of a worker.
pub fn load(app: &mut App) -> Result<(), Box<dyn Error>> {
    app.handler("echo", |_, payload| Ok(payload));
    Ok(())
}

pub fn measure(measure: Measure) -> f64 {
    let cluster = Cluster::builder().workers(2).threads(1, 1).build().expect("two workers serve");
    let small = Bytes::from(vec![7; SMALL]);
    let large = Bytes::from(vec![7; LARGE]);
    let submit =
        |payload: &Bytes| cluster.submit("echo", payload.clone()).expect("the queue has no end");
    let one_by_one = |tasks: usize| {
        let handles: Vec<_> = (0..tasks).map(|_| submit(&small)).collect();
        handles.into_iter().for_each(|handle| take(handle, SMALL));
    };
    let larges = |tasks: usize, ahead: usize| {
        let mut under_way = VecDeque::new();
        for _ in 0..tasks {
            under_way.push_back(submit(&large));
            if under_way.len() == ahead {
                under_way.pop_front().into_iter().for_each(|handle| take(handle, LARGE));
            }
        }
        under_way.into_iter().for_each(|handle| take(handle, LARGE));
    };
    match measure {
        Measure::OneByOne => {
            one_by_one(TASKS / 10);
            rate(TASKS, one_by_one)
        }
        Measure::RoundTrip => round_trip(TRIPS, || take(submit(&small), SMALL)),
        Measure::Large => {
            larges(LARGE_TASKS / 10, 1);
            rate(LARGE_TASKS, |tasks| larges(tasks, 1))
        }
        Measure::LargeAhead => {
            larges(LARGE_TASKS / 10, AHEAD);
            rate(LARGE_TASKS, |tasks| larges(tasks, AHEAD))
        }
    }
}

fn take(handle: JoinHandle<Reply>, size: usize) {
    let reply = handle.wait().expect("an echo does not fail");
    assert_eq!(reply.bytes.len(), size);
}
