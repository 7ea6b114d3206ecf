//! How a run used the GVL, as plain data; part of a `Recording`.

use super::Histogram;
use crate::gvl::{ThreadUsage, Usage};
use std::time::Duration;

/// How the GVL was used.
#[derive(Debug, Clone, Default)]
pub struct GvlUse {
    /// Time spent waiting for the lock, summed over threads.
    pub wait: Duration,
    /// Time spent holding it, summed over threads.
    pub hold: Duration,
    /// Time spent in blocking regions, summed over threads.
    pub blocked: Duration,
    /// Each wait for a lock that was taken.
    pub waits: Histogram,
    /// How often the lock passed from one thread to another.
    pub handoffs: u64,
    /// How often a holder gave way because its quantum was over.
    pub forced_yields: u64,
    /// How often the lock was taken, contended or not.
    pub acquisitions: u64,
    /// The same by thread.
    pub threads: Vec<ThreadUse>,
}

/// How one thread spent its time on the GVL.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ThreadUse {
    /// The thread's name.
    pub name: String,
    /// Time it waited for the lock.
    pub wait: Duration,
    /// Time it held the lock.
    pub hold: Duration,
    /// Time it spent in blocking regions.
    pub blocked: Duration,
}

impl GvlUse {
    /// The accounts of a process's threads as a recording has them.
    pub(crate) fn of_threads(threads: Vec<ThreadUsage>, waits: Histogram) -> Self {
        let sum = threads.iter().fold(Usage::default(), |sum, thread| sum + thread.usage);
        Self {
            wait: sum.wait,
            hold: sum.hold,
            blocked: sum.blocked,
            waits,
            handoffs: sum.handoffs,
            forced_yields: sum.forced_yields,
            acquisitions: sum.acquisitions,
            threads: threads.into_iter().map(ThreadUse::of).collect(),
        }
    }

    /// Adds another process's or replication's use; threads of the same name in the same place are one.
    pub fn merge(&mut self, other: &Self) {
        self.wait += other.wait;
        self.hold += other.hold;
        self.blocked += other.blocked;
        self.waits.merge(&other.waits);
        self.handoffs += other.handoffs;
        self.forced_yields += other.forced_yields;
        self.acquisitions += other.acquisitions;
        for (n, theirs) in other.threads.iter().enumerate() {
            match self.threads.get_mut(n) {
                Some(mine) if mine.name == theirs.name => mine.merge(theirs),
                _ => self.threads.push(theirs.clone()),
            }
        }
    }
}

impl ThreadUse {
    fn of(thread: ThreadUsage) -> Self {
        let Usage { hold, wait, blocked, .. } = thread.usage;
        Self { name: thread.name, wait, hold, blocked }
    }

    fn merge(&mut self, other: &Self) {
        self.wait += other.wait;
        self.hold += other.hold;
        self.blocked += other.blocked;
    }
}
