//! Percentiles of a histogram as a row shows them, in milliseconds.

use crate::measure::Histogram;
use crate::measure::figure::millis;
use serde::Serialize;
use std::time::Duration;

/// Summarises latencies of successful requests, in ms; `None` where none succeeded.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Latency {
    /// How many there were.
    pub count: u64,
    /// The mean, exact.
    pub mean: Option<f64>,
    /// The median.
    pub p50: Option<f64>,
    /// The 90th percentile.
    pub p90: Option<f64>,
    /// The 95th percentile.
    pub p95: Option<f64>,
    /// The 99th percentile.
    pub p99: Option<f64>,
    /// The 99.9th percentile.
    pub p999: Option<f64>,
    /// The longest, exact.
    pub max: Option<f64>,
}

/// Summarises waits, in ms; `None` where there were none.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Spread {
    /// The median.
    pub p50: Option<f64>,
    /// The 99th percentile.
    pub p99: Option<f64>,
    /// The longest, exact.
    pub max: Option<f64>,
}

impl Latency {
    /// Summarises a histogram.
    pub fn of(histogram: &Histogram) -> Self {
        let percentile = |p| histogram.percentile(p).map(rounded_ms);
        Self {
            count: histogram.count(),
            mean: histogram.mean().map(rounded_ms),
            p50: percentile(50.0),
            p90: percentile(90.0),
            p95: percentile(95.0),
            p99: percentile(99.0),
            p999: percentile(99.9),
            max: histogram.max().map(rounded_ms),
        }
    }
}

impl Spread {
    /// Summarises a histogram.
    pub fn of(histogram: &Histogram) -> Self {
        let percentile = |p| histogram.percentile(p).map(rounded_ms);
        Self { p50: percentile(50.0), p99: percentile(99.0), max: histogram.max().map(rounded_ms) }
    }
}

/// A duration in milliseconds, to 6 significant digits.
pub(super) fn rounded_ms(duration: Duration) -> f64 {
    rounded(millis(duration))
}

/// A figure to 6 significant digits: no clock here is better than a millionth.
pub(super) fn rounded(x: f64) -> f64 {
    format!("{x:.5e}").parse().unwrap_or(x)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_are_rounded_to_six_digits() {
        assert_eq!(rounded(103.333_333_333), 103.333);
        assert_eq!(rounded(0.0), 0.0);
        assert_eq!(rounded(1_234_567.0), 1_234_570.0);
    }

    #[test]
    fn nothing_recorded_is_null() {
        let json = serde_json::to_string(&Spread::of(&Histogram::new())).unwrap();
        assert_eq!(json, r#"{"p50":null,"p99":null,"max":null}"#);
    }
}
