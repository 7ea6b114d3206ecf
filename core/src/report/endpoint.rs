//! One endpoint of a row.

use super::Latency;
use super::latency::rounded;
use crate::measure::facts::rate;
use crate::measure::figure::millis;
use crate::measure::{EndpointRecording, Recording};
use serde::Serialize;
use std::collections::BTreeMap;
use std::time::Duration;

/// Holds the figures of one endpoint.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct EndpointRow {
    /// The endpoint's name.
    pub name: String,
    /// All requests.
    pub requests: u64,
    /// Successful requests.
    pub ok: u64,
    /// Failed requests by kind.
    pub failed: BTreeMap<String, u64>,
    /// Successful requests per second; `None` where none succeeded.
    pub throughput_rps: Option<f64>,
    /// Latencies of the successful requests.
    pub latency_ms: Latency,
    /// The mean time a request waited for the GVL, in ms.
    pub gvl_wait_ms_mean: Option<f64>,
    /// How many times a request waited for the GVL.
    pub gvl_waits_per_request: Option<f64>,
}

impl EndpointRow {
    /// The endpoints of a recording that has several; a single one is the row itself.
    pub(super) fn all(recording: &Recording) -> Vec<Self> {
        if recording.endpoints.len() < 2 {
            return Vec::new();
        }
        recording.endpoints.iter().map(|e| Self::of(e, recording.elapsed)).collect()
    }

    /// Makes the figures of one endpoint, whose run took `elapsed`.
    pub fn of(endpoint: &EndpointRecording, elapsed: Duration) -> Self {
        let requests = endpoint.requests();
        let each = |sum: f64| (requests > 0).then(|| rounded(sum / requests as f64));
        Self {
            name: endpoint.name.clone(),
            requests,
            ok: endpoint.ok(),
            failed: endpoint.failed.clone(),
            throughput_rps: rate(endpoint.ok(), elapsed).map(rounded),
            latency_ms: Latency::of(&endpoint.latency),
            gvl_wait_ms_mean: each(millis(endpoint.gvl_wait)),
            gvl_waits_per_request: each(endpoint.gvl_waits as f64),
        }
    }
}
