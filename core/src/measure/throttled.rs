//! How often a server had used its quota of CPU time, and stood still.

use std::time::Duration;

/// How a CPU quota bound a run, as `cpu.stat` of a control group tells it.
///
/// Differs from Linux: the time is that in which the server stood still, once, and not summed over
/// its processors.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Throttled {
    /// Periods that began (`nr_periods`, of which Linux leaves idle ones out).
    pub periods: u64,
    /// Those in which a thread had to wait for the next one (`nr_throttled`).
    pub periods_throttled: u64,
    /// How long threads that could run had to (`throttled_time`).
    pub time: Duration,
}

impl Throttled {
    /// Adds another run's.
    pub(super) fn add(&mut self, other: Self) {
        self.periods += other.periods;
        self.periods_throttled += other.periods_throttled;
        self.time += other.time;
    }
}
