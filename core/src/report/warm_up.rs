//! What was left out of a row's figures.

use super::latency::{rounded, rounded_ms};
use crate::measure::{Recording, share};
use serde::Serialize;

/// Tells what was left out as warm-up, all replications together.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct WarmUpRow {
    /// How long it was, in ms.
    pub time_ms: f64,
    /// The same as a share of the time of the whole runs.
    pub share: Option<f64>,
    /// The requests that were answered in it.
    pub requests: u64,
    /// Whether each replication settled, as far as that was looked for.
    pub settled: bool,
}

impl WarmUpRow {
    pub(super) fn of(recording: &Recording) -> Option<Self> {
        let left_out = recording.left_out?;
        Some(Self {
            time_ms: rounded_ms(left_out.time),
            share: share(left_out.time, recording.whole()).map(rounded),
            requests: left_out.requests,
            settled: !left_out.unsettled,
        })
    }
}
