//! What a core needs to go from one thread to another.

use super::{begin, end, median, stay_on_one_core};
use crate::clock;
use rustix::thread::sched_yield;
use std::io;
use std::time::Duration;

const ROUNDS: usize = 9;
const YIELDS: u32 = 5000;

/// The median, over several rounds, of two threads on one core that yield to each other, less what a
/// yield costs that nobody takes.
pub(super) fn cost() -> io::Result<Duration> {
    let mut costs = Vec::with_capacity(ROUNDS);
    for _ in 0..ROUNDS {
        let alone = yields(1)?;
        let both = yields(2)?;
        costs.push(both.saturating_sub(alone));
    }
    Ok(median(&mut costs))
}

/// The time of a yield, where so many threads do nothing else on one core.
fn yields(threads: u32) -> io::Result<Duration> {
    let yielding = || {
        stay_on_one_core()?;
        let began = clock::now();
        (0..YIELDS).for_each(|_| sched_yield());
        Ok(Duration::from_nanos(clock::now() - began))
    };
    let begun: Vec<_> = (0..threads).map(|_| begin(yielding)).collect::<Result<_, _>>()?;
    let mut total = Duration::ZERO;
    for thread in begun {
        let took: io::Result<Duration> = end(thread)?;
        total = total.max(took?);
    }
    Ok(total / (YIELDS * threads))
}
