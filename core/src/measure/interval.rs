//! A confidence interval from replications.
//!
//! `report` calls it for throughput and p99. Invariant: at least two replications stand behind one.

use super::tables::student_quantile;

/// The confidence of every interval.
const CONFIDENCE: f64 = 0.95;

/// Bounds the mean of replications, at 95 % confidence.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Interval {
    /// The mean of the replications.
    pub mean: f64,
    /// The lower bound.
    pub low: f64,
    /// The upper bound.
    pub high: f64,
    /// One replication in twenty is below it: what a single run may give.
    pub p5: f64,
    /// One replication in twenty is above it.
    pub p95: f64,
    /// The confidence, 0.95.
    pub confidence: f64,
    /// How many replications there were.
    pub replications: u64,
}

/// Gives the value of `sorted` that a share `p` of all is at or below, by the nearest rank; `None` where
/// there is none.
pub(crate) fn nearest_rank(sorted: &[f64], p: f64) -> Option<f64> {
    let rank = (p * sorted.len() as f64).ceil() as usize;
    sorted.get(rank.clamp(1, sorted.len().max(1)) - 1).copied()
}

impl Interval {
    /// Computes `mean ± t(0.975, n - 1) s / sqrt(n)`, with s the sample's standard deviation
    /// (Student, "The Probable Error of a Mean", 1908); `None` for fewer than two values.
    pub fn of(values: &[f64]) -> Option<Self> {
        let n = values.len() as f64;
        let freedom = values.len().checked_sub(1).filter(|freedom| *freedom > 0)?;
        let t = student_quantile(0.5 + CONFIDENCE / 2.0, freedom as u64);
        let mean = values.iter().sum::<f64>() / n;
        let variance = values.iter().map(|x| (x - mean) * (x - mean)).sum::<f64>() / (n - 1.0);
        let mut sorted = values.to_vec();
        sorted.sort_by(f64::total_cmp);
        let rank = |p| nearest_rank(&sorted, p).expect("there are two values at least");
        let half = t * (variance / n).sqrt();
        Some(Self {
            mean,
            low: mean - half,
            high: mean + half,
            p5: rank(0.05),
            p95: rank(0.95),
            confidence: CONFIDENCE,
            replications: values.len() as u64,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_interval_of_one_to_five_is_that_of_the_tables() {
        let interval = Interval::of(&[1.0, 2.0, 3.0, 4.0, 5.0]).unwrap();
        // t(0.975, 4) = 2.776445, s = sqrt(2.5).
        let half = 2.776_445 * (2.5_f64 / 5.0).sqrt();
        assert!((interval.low - (3.0 - half)).abs() < 1e-5, "{interval:?}");
        assert!((interval.high - (3.0 + half)).abs() < 1e-5, "{interval:?}");
        assert_eq!((interval.mean, interval.replications), (3.0, 5));
    }

    #[test]
    fn equal_values_have_an_interval_of_no_width() {
        let interval = Interval::of(&[9.0, 9.0]).unwrap();
        assert_eq!((interval.low, interval.high), (9.0, 9.0));
    }

    #[test]
    fn most_replications_are_in_the_range() {
        let values: Vec<f64> = (1..=100).rev().map(f64::from).collect();
        let interval = Interval::of(&values).unwrap();
        assert_eq!((interval.p5, interval.p95), (5.0, 95.0));
        let two = Interval::of(&[2.0, 1.0]).unwrap();
        assert_eq!((two.p5, two.p95), (1.0, 2.0));
    }

    #[test]
    fn one_value_has_no_interval() {
        assert_eq!(Interval::of(&[1.0]), None);
        assert_eq!(Interval::of(&[]), None);
    }
}
