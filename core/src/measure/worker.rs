//! What one worker of a run did, as plain data; part of a `Recording`.

use super::recording::add_counts;
use super::{GvlUse, Histogram, LoopUse};
use std::collections::BTreeMap;
use std::time::Duration;

/// What one worker did: the processes that had its number, one after another.
///
/// Invariant: its processes answered as many requests as its latencies count.
#[derive(Debug, Clone, Default)]
pub struct WorkerRecording {
    /// Its number, from 0.
    pub number: u32,
    /// Failed requests that it had, by kind; those that it took along when it was lost too.
    pub failed: BTreeMap<String, u64>,
    /// How often its process ended without being told to.
    pub lost: u64,
    /// How its lock was used.
    pub gvl: GvlUse,
    /// CPU time of its processes during the run.
    pub cpu: Duration,
    /// How its event loop fared, where there is one.
    pub event_loop: Option<LoopUse>,
    processes: BTreeMap<u32, u64>,
    latency: Histogram,
}

impl WorkerRecording {
    /// Records what the process `pid` answered successfully as worker `number`; the rest is empty.
    ///
    /// A replacement is recorded by itself: [`super::Recording::of_workers`] adds it to the worker
    /// whose number it has.
    pub fn new(number: u32, pid: u32, latency: Histogram) -> Self {
        let processes = [(pid, latency.count())].into();
        Self { number, processes, latency, ..Self::default() }
    }

    /// Gives the processes and how many requests each answered successfully.
    pub fn processes(&self) -> &BTreeMap<u32, u64> {
        &self.processes
    }

    /// Gives the latencies of the successful requests.
    pub fn latency(&self) -> &Histogram {
        &self.latency
    }

    /// Counts the successful requests.
    pub fn ok(&self) -> u64 {
        self.latency.count()
    }

    /// Counts all requests that it took.
    pub fn requests(&self) -> u64 {
        self.ok() + self.failed.values().sum::<u64>()
    }

    /// Adds what the same worker did in another process, or in another replication.
    pub fn merge(&mut self, other: &Self) {
        add_counts(&mut self.failed, &other.failed);
        self.lost += other.lost;
        self.gvl.merge(&other.gvl);
        self.cpu += other.cpu;
        LoopUse::merge_into(&mut self.event_loop, other.event_loop.as_ref());
        add_counts(&mut self.processes, &other.processes);
        self.latency.merge(&other.latency);
    }

    /// Its use of the lock, with threads named as its own.
    pub(super) fn gvl_of_all(&self) -> GvlUse {
        let mut gvl = self.gvl.clone();
        for thread in &mut gvl.threads {
            thread.name = format!("worker {}: {}", self.number, thread.name);
        }
        gvl
    }
}

/// Adds each worker to the one of its number; the sum stays in the order of the numbers.
pub(super) fn merge(sum: &mut Vec<WorkerRecording>, workers: &[WorkerRecording]) {
    for theirs in workers {
        match sum.binary_search_by_key(&theirs.number, |mine| mine.number) {
            Ok(n) => sum[n].merge(theirs),
            Err(n) => sum.insert(n, theirs.clone()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measure::samples::{ms, worker};

    #[test]
    fn a_replacement_is_the_same_worker_in_another_process() {
        let mut first = worker(1, 70, 3, 100).failing("worker lost", 2);
        (first.lost, first.cpu) = (1, ms(30));
        let mut replacement = worker(1, 90, 5, 200);
        replacement.cpu = ms(50);
        let mut sum = Vec::new();
        merge(&mut sum, &[first, worker(0, 69, 4, 100), replacement]);
        assert_eq!(sum.iter().map(|w| w.number).collect::<Vec<_>>(), [0, 1]);
        let one = &sum[1];
        assert_eq!((one.ok(), one.requests(), one.lost, one.cpu), (8, 10, 1, ms(80)));
        assert_eq!(*one.processes(), BTreeMap::from([(70, 3), (90, 5)]));
        assert_eq!(one.latency().max(), Some(ms(200)));
    }
}
