//! How a CPU quota bound a row.

use super::latency::rounded;
use crate::measure::{Facts, Throttled, share};
use serde::Serialize;

/// Tells how often the server had used its CPU quota, as `cpu.stat` of a control group does.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct ThrottledRow {
    /// Periods that began (`nr_periods`).
    pub periods: u64,
    /// Those in which threads had to wait for the next one (`nr_throttled`).
    pub periods_throttled: u64,
    /// How long they had to, in milliseconds (`throttled_time`).
    pub time_ms: f64,
    /// The share of the run's time.
    pub share: Option<f64>,
}

impl ThrottledRow {
    pub(super) fn of(facts: &Facts) -> Option<Self> {
        let Throttled { periods, periods_throttled, time } = facts.recording.throttled?;
        Some(Self {
            periods,
            periods_throttled,
            time_ms: rounded(time.as_secs_f64() * 1e3),
            share: share(time, facts.recording.whole()).map(rounded),
        })
    }
}
