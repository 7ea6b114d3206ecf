//! An open stream: requests at times that do not depend on any answer.
//!
//! `driver` calls it. The intended times are fixed by the seed alone, so that latency can count
//! from them however late a request is taken (no coordinated omission).

use super::closed::{Start, at_rate};
use super::pattern::Arrivals;
use super::pick::Picks;
use crate::clock::Nanos;
use crate::random::Stream;

#[derive(Debug, Clone)]
pub(super) struct Open {
    rate: f64,
    arrivals: Arrivals,
    /// The number of the next request.
    number: u64,
    /// When it is due, in nanoseconds; a sum of gaps that are not whole.
    due_ns: f64,
    gaps: Stream,
    endpoints: Stream,
}

impl Open {
    pub fn new(rate: f64, arrivals: Arrivals, seed: u64) -> Self {
        let mut open = Self {
            rate,
            arrivals,
            number: 0,
            due_ns: 0.0,
            gaps: Stream::new(seed, "arrivals", 0),
            endpoints: Stream::new(seed, "endpoint", 0),
        };
        open.wait();
        open
    }

    pub fn next_due(&self) -> Nanos {
        match self.arrivals {
            Arrivals::Constant => at_rate(self.number, self.rate),
            // To the nearest nanosecond.
            Arrivals::Poisson => (self.due_ns + 0.5) as Nanos,
        }
    }

    /// Takes the next request, which is due.
    pub fn start(&mut self, picks: &Picks) -> Start {
        let intended = self.next_due();
        self.number += 1;
        self.wait();
        Start { intended, user: None, endpoint: picks.by_weight(&mut self.endpoints) }
    }

    fn wait(&mut self) {
        if self.arrivals == Arrivals::Poisson {
            self.due_ns += self.gaps.exponential() * 1e9 / self.rate;
        }
    }
}
