//! How unevenly the workers of a row took its requests, and whether chance would do that.
//!
//! `Facts` works it out, a check judges it, rows show the ratio. Replications are looked at one by
//! one: another worker may be the busy one in each, and their sum would look even.

use super::tables::chi_squared_tail;
use super::{Recording, WorkerRecording};
use std::time::Duration;

/// Below this many requests a worker, the distribution behind the test does not hold (Cochran,
/// "Some Methods for Strengthening the Common chi-squared Tests", 1954).
const EACH_MIN: f64 = 5.0;

/// Tells how unevenly the workers took the requests.
#[derive(Debug, Clone, PartialEq)]
pub struct Imbalance {
    /// The most requests of a worker / the mean of all workers: 1 is even, and the number of
    /// workers is one for all. In the mean of the replications. The ratio less 1 is the percent
    /// imbalance of Pearce and others, "Quantifying the Effectiveness of Load Balance Algorithms",
    /// 2012.
    pub ratio: f64,
    /// The chance of counts at least so uneven if every request went to any worker alike: Pearson's
    /// chi-squared test ("On the Criterion...", 1900), its statistics and degrees of freedom summed
    /// over the replications; 1 where there are too few requests to tell.
    pub chance: f64,
    /// All requests of the most uneven replication.
    pub requests: u64,
    /// Who took most of them.
    pub busiest: Took,
    /// Who took fewest.
    pub idlest: Took,
}

/// What one worker took in one replication.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Took {
    /// Its number.
    pub worker: u32,
    /// Its requests, failed ones too.
    pub requests: u64,
    /// The 99th percentile of the latency of its successful requests.
    pub p99: Option<Duration>,
}

impl Imbalance {
    /// Compares the workers of each replication; `None` where none has both two workers and a
    /// request.
    pub fn of(replications: &[Recording]) -> Option<Self> {
        let counted: Vec<_> = replications.iter().filter_map(|r| Counts::of(&r.workers)).collect();
        let worst = counted.iter().max_by(|a, b| a.ratio().total_cmp(&b.ratio()))?;
        Some(Self {
            ratio: counted.iter().map(Counts::ratio).sum::<f64>() / counted.len() as f64,
            chance: chance(&counted),
            requests: worst.workers.iter().map(|took| took.requests).sum(),
            busiest: *worst.workers.first()?,
            idlest: *worst.workers.last()?,
        })
    }
}

/// The workers of one replication, the busiest first.
struct Counts {
    workers: Vec<Took>,
    mean: f64,
}

impl Counts {
    fn of(workers: &[WorkerRecording]) -> Option<Self> {
        let requests: u64 = workers.iter().map(WorkerRecording::requests).sum();
        if workers.len() < 2 || requests == 0 {
            return None;
        }
        let mean = requests as f64 / workers.len() as f64;
        let mut workers: Vec<_> = workers.iter().map(Took::of).collect();
        workers.sort_by_key(|took| std::cmp::Reverse(took.requests));
        Some(Self { workers, mean })
    }

    fn ratio(&self) -> f64 {
        self.workers.first().map_or(1.0, |took| took.requests as f64 / self.mean)
    }

    /// The sum of (count - mean)^2 / mean.
    fn chi_squared(&self) -> f64 {
        let apart = self.workers.iter().map(|took| (took.requests as f64 - self.mean).powi(2));
        apart.sum::<f64>() / self.mean
    }

    fn freedom(&self) -> f64 {
        self.workers.len() as f64 - 1.0
    }
}

impl Took {
    fn of(worker: &WorkerRecording) -> Self {
        let p99 = worker.latency().percentile(99.0);
        Self { worker: worker.number, requests: worker.requests(), p99 }
    }
}

fn chance(replications: &[Counts]) -> f64 {
    let enough = || replications.iter().filter(|counts| counts.mean >= EACH_MIN);
    let freedom: f64 = enough().map(Counts::freedom).sum();
    if freedom == 0.0 {
        return 1.0;
    }
    chi_squared_tail(enough().map(Counts::chi_squared).sum(), freedom)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measure::samples::cluster;

    fn of(replications: &[&[u32]]) -> Option<Imbalance> {
        let runs: Vec<_> = replications.iter().map(|counts| cluster(1000, counts, 100)).collect();
        Imbalance::of(&runs)
    }

    #[test]
    fn the_ratio_is_that_of_the_busiest_to_the_mean() {
        let uneven = of(&[&[30, 61, 20, 9]]).unwrap();
        assert_eq!(uneven.ratio, 61.0 / 30.0);
        let (most, fewest) = (uneven.busiest, uneven.idlest);
        assert_eq!((most.worker, most.requests, fewest.worker, fewest.requests), (1, 61, 3, 9));
        assert_eq!(of(&[&[30, 30, 30, 30]]).unwrap().ratio, 1.0);
        assert_eq!(of(&[&[120, 0, 0, 0]]).unwrap().ratio, 4.0);
    }

    #[test]
    fn the_chance_is_that_of_the_tables() {
        // 2 df: exp(-x / 2) with x = (10^2 + 0 + 10^2) / 30.
        let chance = of(&[&[40, 30, 20]]).unwrap().chance;
        assert!((chance - (-200.0_f64 / 30.0 / 2.0).exp()).abs() < 1e-12, "{chance}");
        assert_eq!(of(&[&[30, 30]]).unwrap().chance, 1.0);
        // 4 df: (1 + x / 2) exp(-x / 2) with x = (3^2 + 4^2 + 1^2) / 20.
        let half = 26.0_f64 / 20.0 / 2.0;
        let chance = of(&[&[20, 20, 23, 16, 21]]).unwrap().chance;
        assert!((chance - (1.0 + half) * (-half).exp()).abs() < 1e-12, "{chance}");
    }

    #[test]
    fn replications_do_not_even_each_other_out() {
        let both = of(&[&[90, 30], &[30, 90]]).unwrap();
        assert_eq!((both.ratio, both.requests), (1.5, 120));
        assert!(both.chance < of(&[&[90, 30]]).unwrap().chance);
    }

    #[test]
    fn few_requests_tell_nothing_and_one_process_has_no_balance() {
        assert_eq!(of(&[&[4, 0, 0, 0]]).unwrap().chance, 1.0);
        assert_eq!(of(&[&[40]]), None);
        assert_eq!(of(&[&[0, 0]]), None);
        assert_eq!(of(&[]), None);
    }
}
