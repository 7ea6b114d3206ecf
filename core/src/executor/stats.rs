//! Counts of a pool's or a loop's tasks.

use super::error::TaskError;
use crate::gvl::ThreadUsage;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// The state of an executor at one moment.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Stats {
    /// Tasks that wait for a thread.
    pub queued: u64,
    /// Tasks that run.
    pub running: u64,
    /// Tasks that ended with a value.
    pub done: u64,
    /// Tasks that panicked.
    pub panicked: u64,
    /// Tasks that were cancelled.
    pub cancelled: u64,
    /// Tasks whose deadline passed.
    pub timed_out: u64,
    /// Submissions that were refused.
    pub rejected: u64,
    /// Threads alive now.
    pub threads: u32,
    /// What each thread used of the global lock.
    pub gvl: Vec<ThreadUsage>,
}

impl Stats {
    /// Tasks that ended without a value.
    pub fn failed(&self) -> u64 {
        self.panicked + self.cancelled + self.timed_out
    }
}

/// The counters behind [`Stats`]. Aligned away from the count of those who share them, which
/// submitters write while threads write these.
#[repr(align(128))]
#[derive(Debug, Default)]
pub(super) struct Counters {
    done: AtomicU64,
    panicked: AtomicU64,
    cancelled: AtomicU64,
    timed_out: AtomicU64,
    rejected: AtomicU64,
}

impl Counters {
    pub(super) fn done(&self) {
        self.done.fetch_add(1, Relaxed);
    }

    /// As [`Counters::done`], where one thread counts them all: without a locked instruction.
    pub(super) fn done_on_loop(&self) {
        self.done.store(self.done.load(Relaxed) + 1, Relaxed);
    }

    pub(super) fn failed(&self, error: &TaskError) {
        let counter = match error {
            TaskError::Panicked(_) => &self.panicked,
            TaskError::Cancelled => &self.cancelled,
            TaskError::TimedOut => &self.timed_out,
            _ => return,
        };
        counter.fetch_add(1, Relaxed);
    }

    pub(super) fn rejected(&self) {
        self.rejected.fetch_add(1, Relaxed);
    }

    pub(super) fn fill(&self, stats: &mut Stats) {
        stats.done = self.done.load(Relaxed);
        stats.panicked = self.panicked.load(Relaxed);
        stats.cancelled = self.cancelled.load(Relaxed);
        stats.timed_out = self.timed_out.load(Relaxed);
        stats.rejected = self.rejected.load(Relaxed);
    }
}
