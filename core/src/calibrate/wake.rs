//! From a wake-up to the first instruction of the thread that slept.

use super::{begin, end};
use crate::clock::{self, Nanos};
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

const WAKES: usize = 2000;

/// How long the sleeper is left alone, so that it does sleep.
const REST: Duration = Duration::from_micros(200);

/// What is told between the two; the times are of the one clock of the machine.
#[derive(Default)]
struct Told {
    /// When the sleeper was woken last; 0 once that is noted.
    woken_at: AtomicU64,
    over: AtomicBool,
}

/// The median of the latencies, and the deviation of their logarithms, taken from the quartiles so that
/// a few very late ones do not count.
pub(super) fn latency() -> io::Result<(Duration, f64)> {
    let told = Arc::new(Told::default());
    let sleeper = {
        let told = Arc::clone(&told);
        begin(move || sleep(&told))?
    };
    for _ in 0..WAKES {
        thread::sleep(REST);
        // ORDERING: Release; pairs with the swap in `sleep`.
        told.woken_at.store(clock::now(), Ordering::Release);
        sleeper.thread().unpark();
    }
    thread::sleep(REST);
    told.over.store(true, Ordering::Release);
    sleeper.thread().unpark();
    let mut latencies = end(sleeper)?;
    latencies.sort_unstable();
    let at = |share: f64| {
        let place = (latencies.len() as f64 * share) as usize;
        latencies.get(place).copied().unwrap_or(1).max(1) as f64
    };
    // A normal distribution's quartiles are 1.349 deviations apart.
    let sigma = libm::log(at(0.75) / at(0.25)) / 1.349;
    let sigma = (sigma * 100.0).round() / 100.0;
    Ok((Duration::from_nanos(at(0.5) as u64), sigma.clamp(0.0, 2.0)))
}

fn sleep(told: &Told) -> Vec<Nanos> {
    let mut latencies = Vec::with_capacity(WAKES);
    // ORDERING: Acquire; pairs with the stores in `latency`.
    while !told.over.load(Ordering::Acquire) {
        thread::park();
        let now = clock::now();
        let woken_at = told.woken_at.swap(0, Ordering::Acquire);
        if woken_at > 0 {
            latencies.push(now.saturating_sub(woken_at));
        }
    }
    latencies
}
