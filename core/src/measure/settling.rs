//! Where a run has settled: the truncation point of a series of latencies, by MSER-5.
//!
//! `tally` feeds it in the order of answers; the simulator asks it once a run is over. The rule
//! (White, "An Effective Truncation Heuristic for Bias Reduction in Simulation Output", Simulation
//! 69, 1997; batches of 5: White, Cobb and Spratt, "A Comparison of Five Steady-State Truncation
//! Heuristics for Simulation", 2000) leaves out as much as makes the marginal standard error of the
//! rest smallest: the d of n batch means that minimises the sum of their squared deviations from the
//! mean of those after d, divided by (n - d)^2. A minimum in the second half says that the run was
//! too short to tell.
//!
//! Bounded: of a long run, pairs of batches become one of twice the size. Sums and products alone, so
//! that the same values have the same answer everywhere.

/// The values of a batch, at first.
const BATCH: u64 = 5;

/// The most batches that are kept; a run of 10,000 values fits without any that grew.
const BATCHES_MAX: usize = 2048;

/// The fewest batches that say anything.
const BATCHES_MIN: usize = 10;

/// A series, as the means of its batches.
#[derive(Debug, Clone)]
pub(crate) struct Settling {
    size: u64,
    sums: Vec<f64>,
    /// The batch that is being filled.
    sum: f64,
    count: u64,
}

/// What a series says of its run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Settled {
    /// From the value of this number on.
    From(u64),
    /// Not in its first half, or the series is too short to tell.
    Never,
}

impl Settling {
    pub(crate) fn new() -> Self {
        Self { size: BATCH, sums: Vec::new(), sum: 0.0, count: 0 }
    }

    /// Takes the next value.
    pub(crate) fn push(&mut self, value: f64) {
        self.sum += value;
        self.count += 1;
        if self.count < self.size {
            return;
        }
        self.sums.push(self.sum);
        (self.sum, self.count) = (0.0, 0);
        if self.sums.len() == BATCHES_MAX {
            self.sums = self.sums.chunks(2).map(|pair| pair.iter().sum()).collect();
            self.size *= 2;
        }
    }

    /// Finds where the series has settled.
    pub(crate) fn settled(&self) -> Settled {
        let batches = self.sums.len();
        if batches < BATCHES_MIN {
            return Settled::Never;
        }
        // From the end, so that one pass has the mean and the squares of every rest (Welford 1962).
        let (mut mean, mut squares, mut best) = (0.0, 0.0, (f64::INFINITY, 0));
        // The last few batches are no rest to speak of: they may be alike by chance.
        let least = (batches / 20).max(BATCHES_MIN / 2);
        for (d, sum) in self.sums.iter().enumerate().rev() {
            let n = (batches - d) as f64;
            let off = sum - mean;
            mean += off / n;
            squares += off * (sum - mean);
            let error = squares / (n * n);
            if batches - d >= least && error <= best.0 {
                best = (error, d);
            }
        }
        if best.1 > batches / 2 { Settled::Never } else { Settled::From(best.1 as u64 * self.size) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Stream;

    fn settled(values: impl IntoIterator<Item = f64>) -> Settled {
        let mut settling = Settling::new();
        values.into_iter().for_each(|value| settling.push(value));
        settling.settled()
    }

    /// By the definition, in two loops.
    fn by_definition(values: &[f64]) -> Option<u64> {
        let means: Vec<f64> =
            values.chunks_exact(5).map(|batch| batch.iter().sum::<f64>() / 5.0).collect();
        let error = |d: usize| {
            let rest = &means[d..];
            let n = rest.len() as f64;
            let mean = rest.iter().sum::<f64>() / n;
            rest.iter().map(|y| (y - mean) * (y - mean)).sum::<f64>() / (n * n)
        };
        let last = means.len() - (means.len() / 20).max(5);
        let best = (0..=last).min_by(|a, b| error(*a).total_cmp(&error(*b)))?;
        (best <= means.len() / 2).then_some(best as u64 * 5)
    }

    /// Noise around 100, after a beginning that falls from 300.
    fn falling(length: u32, beginning: u32, seed: u64) -> Vec<f64> {
        let mut noise = Stream::new(seed, "noise", 0);
        let level =
            |n: u32| 100.0 + 200.0 * (1.0 - f64::from(n.min(beginning)) / f64::from(beginning));
        (0..length).map(|n| level(n) + 20.0 * (noise.unit() - 0.5)).collect()
    }

    #[test]
    fn it_is_the_minimum_of_the_definition() {
        for seed in 1..=20 {
            let values = falling(2000, 400, seed);
            let expected = by_definition(&values).map_or(Settled::Never, Settled::From);
            assert_eq!(settled(values), expected, "{seed}");
        }
    }

    #[test]
    fn a_beginning_is_cut_and_little_more() {
        for (length, beginning) in [(1000, 200), (100_000, 20_000), (1_000_000, 100_000)] {
            let Settled::From(n) = settled(falling(length, beginning, 3)) else {
                panic!("{length} settle");
            };
            let cut = n as f64 / f64::from(beginning);
            assert!((0.85..=1.2).contains(&cut), "{length}: {n} of {beginning}");
        }
    }

    #[test]
    fn what_is_even_from_the_start_is_kept() {
        assert_eq!(settled(vec![7.0; 5000]), Settled::From(0));
        let Settled::From(n) = settled(falling(20_000, 1, 9)) else { panic!("it settles") };
        assert!(n <= 1000, "{n}");
    }

    #[test]
    fn what_grows_for_ever_never_settles() {
        assert_eq!(settled((0..10_000).map(f64::from)), Settled::Never);
        assert_eq!(settled(falling(1000, 1000, 1)), Settled::Never);
        assert_eq!(settled(vec![1.0; 49]), Settled::Never);
    }

    #[test]
    fn a_long_series_stays_small() {
        let mut settling = Settling::new();
        (0..3_000_000_u32).for_each(|n| settling.push(f64::from(n % 10)));
        assert!(settling.sums.len() < BATCHES_MAX && settling.size <= 5 * 2048);
    }
}
