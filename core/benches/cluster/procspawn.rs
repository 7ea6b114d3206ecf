//! A pool of two processes by the crate `procspawn`.

use super::measure::{Measure, SMALL, rate, round_trip};
use procspawn::Pool;
use std::collections::VecDeque;

const TASKS: usize = 20_000;
const TRIPS: usize = 3000;

/// Each task that is under way has descriptors of its own, of which a process may have 1024.
const UNDER_WAY: usize = 64;

/// Its way for bytes is one of values, a byte after the other: it does not take part in the large ones.
pub fn measure(measure: Measure) -> Option<f64> {
    let pool = Pool::new(2).expect("two processes start");
    let submit = || pool.spawn(vec![7_u8; SMALL], |bytes| bytes);
    let one_by_one = |tasks: usize| {
        let mut under_way = VecDeque::new();
        for _ in 0..tasks {
            under_way.push_back(submit());
            if under_way.len() == UNDER_WAY {
                under_way.pop_front().into_iter().for_each(take);
            }
        }
        under_way.into_iter().for_each(take);
    };
    let figure = match measure {
        Measure::OneByOne => {
            one_by_one(TASKS / 10);
            Some(rate(TASKS, one_by_one))
        }
        Measure::RoundTrip => Some(round_trip(TRIPS, || take(submit()))),
        Measure::Large | Measure::LargeAhead => None,
    };
    pool.shutdown();
    figure
}

fn take(handle: procspawn::JoinHandle<Vec<u8>>) {
    assert_eq!(handle.join().expect("an echo does not fail").len(), SMALL);
}
