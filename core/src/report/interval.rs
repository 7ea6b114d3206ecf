//! Confidence intervals of a row's figures, from its replications.

use super::latency::{rounded, rounded_ms};
use crate::measure::{Facts, Interval};
use serde::Serialize;

/// Bounds figures by the spread of the replications.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Intervals {
    /// Successful requests per second.
    pub throughput_rps: Bounds,
    /// The 99th percentile of latency.
    pub p99_ms: Bounds,
    /// The confidence, 0.95.
    pub confidence: f64,
    /// How many replications had a success.
    pub replications: u64,
}

/// The mean of the replications and its bounds.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Bounds {
    /// The mean.
    pub mean: f64,
    /// The lower bound.
    pub low: f64,
    /// The upper bound.
    pub high: f64,
    /// One replication in twenty is below it: what a single run may give.
    pub p5: f64,
    /// One replication in twenty is above it.
    pub p95: f64,
}

impl Intervals {
    pub(super) fn of(facts: &Facts) -> Option<Self> {
        let throughput = facts.interval(|figures| figures.throughput_rps)?;
        let p99 = facts.interval(|figures| figures.p99.map(rounded_ms))?;
        Some(Self {
            throughput_rps: Bounds::of(&throughput),
            p99_ms: Bounds::of(&p99),
            confidence: throughput.confidence,
            replications: throughput.replications,
        })
    }
}

impl Bounds {
    fn of(interval: &Interval) -> Self {
        let [mean, low, high] = [interval.mean, interval.low, interval.high].map(rounded);
        let [p5, p95] = [interval.p5, interval.p95].map(rounded);
        Self { mean, low, high, p5, p95 }
    }
}

#[cfg(test)]
mod tests {
    use crate::measure::samples::{endpoint, recording, shape};
    use crate::report::Row;

    #[test]
    fn replications_give_an_interval() {
        let run = |ms| recording(ms, vec![endpoint("io", 100, 100)]);
        let row = Row::of("pool", &shape(0, 1), &[run(10_000), run(12_500)], &[]);
        let interval = row.interval.unwrap();
        assert_eq!(interval.throughput_rps.mean, 9.0);
        // t(0.975, 1) = 12.7062 times the standard error of 10 and 8, which is 1.
        assert_eq!(interval.throughput_rps.high, 21.7062);
        assert_eq!(interval.replications, 2);
    }
}
