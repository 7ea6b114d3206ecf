//! The limit: the same queue as a loop around a binary heap, and nothing else.

use gvl_lab::Stream;
use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};
use std::hint::black_box;
use std::time::Instant;

#[derive(PartialEq, Eq, PartialOrd, Ord)]
enum Event {
    Arrival,
    Departure(u64),
}

/// Customers a second of M/M/3, of which `count` are served.
pub fn customers(count: u64) -> f64 {
    let start = Instant::now();
    black_box(mean_time(count));
    count as f64 / start.elapsed().as_secs_f64()
}

/// The mean time in the system, in nanoseconds; arrivals 2400 a second, 1 ms of service.
fn mean_time(count: u64) -> f64 {
    let (mut gaps, mut services) = (Stream::new(1, "gaps", 0), Stream::new(1, "services", 0));
    let mut gap = move || (gaps.exponential() * 1e9 / 2400.0) as u64;
    let mut service = move || (services.exponential() * 1e6) as u64;
    let mut calendar = BinaryHeap::from([Reverse((gap(), Event::Arrival))]);
    let mut line = VecDeque::new();
    let (mut free, mut ended, mut total) = (3, 0, 0);
    while ended < count {
        let Reverse((now, event)) = calendar.pop().expect("there is always an arrival");
        match event {
            Event::Arrival => {
                line.push_back(now);
                calendar.push(Reverse((now + gap(), Event::Arrival)));
            }
            Event::Departure(arrived) => {
                total += now - arrived;
                ended += 1;
                free += 1;
            }
        }
        if free > 0
            && let Some(arrived) = line.pop_front()
        {
            free -= 1;
            calendar.push(Reverse((now + service(), Event::Departure(arrived))));
        }
    }
    total as f64 / ended as f64
}
