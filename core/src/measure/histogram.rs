//! Durations as a histogram: exact count, mean, minimum and maximum, percentiles to 0.05 %.
//!
//! Engines record into it, `Recording` merges it, views read it. Invariant: the exact figures beside
//! the buckets and the buckets count the same durations.

use crate::clock;
use std::time::Duration;

/// Significant decimal digits a bucket keeps: 0.05 % either way is finer than any run of a server repeats.
const DIGITS: u8 = 3;

/// The longest duration told apart, in nanoseconds: 292 years; longer ones count as this.
const LONGEST_NS: u64 = i64::MAX as u64;

/// Counts durations in buckets of 3 significant digits.
///
/// Count, mean, minimum and maximum are exact (to the nanosecond); percentiles are within
/// 0.05 % of the exact ones.
#[derive(Debug, Clone)]
pub struct Histogram {
    buckets: hdrhistogram::Histogram<u64>,
    sum_ns: u128,
    min_ns: u64,
    max_ns: u64,
}

impl Histogram {
    /// Makes an empty histogram, which grows with what it counts.
    pub fn new() -> Self {
        let buckets = hdrhistogram::Histogram::new(DIGITS).expect("3 digits are allowed");
        Self { buckets, sum_ns: 0, min_ns: u64::MAX, max_ns: 0 }
    }

    /// Takes over the buckets of a histogram of nanoseconds; its mean, minimum and maximum are
    /// those of its buckets.
    pub fn of_buckets(ns: &hdrhistogram::Histogram<u64>) -> Self {
        let mut taken = Self::new();
        for bucket in ns.iter_recorded() {
            let value = bucket.value_iterated_to();
            let count = bucket.count_at_value();
            taken.buckets.record_n(value, count).expect("the buckets grow to any duration");
            taken.sum_ns += u128::from(value) * u128::from(count);
            taken.min_ns = taken.min_ns.min(value);
            taken.max_ns = taken.max_ns.max(value);
        }
        taken
    }

    /// Counts one duration.
    pub fn record(&mut self, duration: Duration) {
        self.record_n(duration, 1);
    }

    /// Counts `n` durations of the same length.
    pub fn record_n(&mut self, duration: Duration, n: u64) {
        if n == 0 {
            return;
        }
        let ns = clock::nanos(duration).min(LONGEST_NS);
        self.buckets.record_n(ns, n).expect("the buckets grow to any duration");
        self.sum_ns += u128::from(ns) * u128::from(n);
        self.min_ns = self.min_ns.min(ns);
        self.max_ns = self.max_ns.max(ns);
    }

    /// Adds all durations of another histogram.
    pub fn merge(&mut self, other: &Self) {
        self.buckets.add(&other.buckets).expect("the buckets grow to any duration");
        self.sum_ns += other.sum_ns;
        self.min_ns = self.min_ns.min(other.min_ns);
        self.max_ns = self.max_ns.max(other.max_ns);
    }

    /// Tells how many durations were recorded.
    pub fn count(&self) -> u64 {
        self.buckets.len()
    }

    /// Tells whether nothing was recorded.
    pub fn is_empty(&self) -> bool {
        self.count() == 0
    }

    /// Sums the durations, exactly.
    pub fn sum(&self) -> Duration {
        nanos(self.sum_ns)
    }

    /// Divides the exact sum by the count; `None` where nothing was recorded.
    pub fn mean(&self) -> Option<Duration> {
        Some(nanos(self.sum_ns.checked_div(u128::from(self.count()))?))
    }

    /// Gives the shortest duration, exactly.
    pub fn min(&self) -> Option<Duration> {
        (!self.is_empty()).then(|| Duration::from_nanos(self.min_ns))
    }

    /// Gives the longest duration, exactly.
    pub fn max(&self) -> Option<Duration> {
        (!self.is_empty()).then(|| Duration::from_nanos(self.max_ns))
    }

    /// Gives the middle of the first bucket that, with those before it, holds `p` percent of the
    /// durations.
    ///
    /// `p` is in `0.0..=100.0`, values outside are taken as the nearer end. The answer is never
    /// below the minimum or above the maximum.
    pub fn percentile(&self, p: f64) -> Option<Duration> {
        if self.is_empty() {
            return None;
        }
        let count = self.count() as f64;
        // 99.9 % of 1000 is 999, though 99.9 is no binary fraction: a rank a hair above is whole.
        let rank = (p.clamp(0.0, 100.0) * count / 100.0 * (1.0 - 1e-12)).ceil().max(1.0);
        if rank >= count {
            return self.max();
        }
        // The buckets round a rank up; half a rank lower, that gives this one.
        Some(self.middle(self.buckets.value_at_quantile((rank - 0.5) / count)))
    }

    /// Lists what was recorded, shortest first: the middle of each bucket and its count.
    pub fn buckets(&self) -> impl Iterator<Item = (Duration, u64)> + '_ {
        self.buckets.iter_recorded().map(|bucket| {
            (self.middle(bucket.value_iterated_to()), bucket.count_since_last_iteration())
        })
    }

    /// The middle of the bucket of `ns`, within what was recorded.
    fn middle(&self, ns: u64) -> Duration {
        let middle = self.buckets.median_equivalent(ns);
        Duration::from_nanos(middle.clamp(self.min_ns, self.max_ns))
    }
}

impl Default for Histogram {
    fn default() -> Self {
        Self::new()
    }
}

fn nanos(ns: u128) -> Duration {
    // More than the type holds would be 584 years of latency; the longest stands for it.
    u64::try_from(ns).map_or(Duration::MAX, Duration::from_nanos)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of_ms(values: impl IntoIterator<Item = u64>) -> Histogram {
        let mut histogram = Histogram::new();
        values.into_iter().for_each(|ms| histogram.record(Duration::from_millis(ms)));
        histogram
    }

    #[test]
    fn count_mean_minimum_and_maximum_are_exact() {
        let mut histogram = Histogram::new();
        for ns in [1, 999_999_937, 10_000_000_019] {
            histogram.record(Duration::from_nanos(ns));
        }
        assert_eq!(histogram.count(), 3);
        assert_eq!(histogram.min(), Some(Duration::from_nanos(1)));
        assert_eq!(histogram.max(), Some(Duration::from_nanos(10_000_000_019)));
        assert_eq!(histogram.mean(), Some(Duration::from_nanos(10_999_999_957 / 3)));
        assert_eq!(histogram.percentile(100.0), histogram.max());
    }

    #[test]
    fn percentiles_are_within_half_a_thousandth() {
        let histogram = of_ms(1..=1000);
        for (p, ms) in [(50.0, 500.0), (99.0, 990.0), (99.9, 999.0)] {
            let at = histogram.percentile(p).unwrap().as_secs_f64() * 1e3;
            assert!((at / ms - 1.0).abs() <= 5e-4, "p{p}: {at}");
        }
    }

    #[test]
    fn an_empty_histogram_has_no_figures() {
        let empty = Histogram::new();
        assert_eq!((empty.mean(), empty.min(), empty.max()), (None, None, None));
        assert_eq!(empty.percentile(99.0), None);
        assert_eq!(empty.buckets().count(), 0);
    }

    #[test]
    fn merging_is_recording_together() {
        let mut left = of_ms(1..=10);
        left.merge(&of_ms(11..=20));
        left.merge(&Histogram::new());
        let together = of_ms(1..=20);
        assert_eq!(left.sum(), together.sum());
        assert_eq!(left.percentile(75.0), together.percentile(75.0));
        assert_eq!((left.min(), left.max()), (together.min(), together.max()));
        assert_eq!(left.buckets().map(|(_, n)| n).sum::<u64>(), 20);
    }

    #[test]
    fn a_duration_of_any_length_is_counted() {
        let mut histogram = Histogram::new();
        histogram.record(Duration::ZERO);
        histogram.record(Duration::MAX);
        assert_eq!(histogram.count(), 2);
        assert_eq!(histogram.min(), Some(Duration::ZERO));
    }
}
