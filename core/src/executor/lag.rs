//! How late an event loop is, and which tasks kept it from the others.

use super::stats::Stats;
use crate::clock::Nanos;
use hdrhistogram::Histogram;
use parking_lot::Mutex;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;

/// The state of an event loop at one moment.
#[derive(Debug, Clone)]
pub struct LoopStats {
    /// Tasks and threads: of the loop, and what the loop's thread used of the global lock.
    pub tasks: Stats,
    /// How often a task was polled.
    pub polls: u64,
    /// How much later than asked a timer of the loop fired, in nanoseconds; sampled every 10 ms
    /// while there are tasks. The loop's timers are good to a millisecond.
    pub lag_ns: Histogram<u64>,
    /// Polls that lasted for the threshold or longer, by the task's name, longest first.
    pub long_polls: Vec<LongPoll>,
    /// From when on a poll is long.
    pub threshold: Duration,
}

/// The long polls of the tasks of one name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LongPoll {
    /// The name.
    pub task: String,
    /// How many there were.
    pub count: u64,
    /// How long they took together.
    pub total: Duration,
    /// How long the longest took.
    pub max: Duration,
}

/// How often the loop's lag is looked at.
pub(super) const PROBE: Duration = Duration::from_millis(10);

/// What is measured of one loop.
#[derive(Debug)]
pub(super) struct Meter {
    threshold_ns: Nanos,
    polls: AtomicU64,
    /// Guards nothing but itself.
    lag_ns: Mutex<Histogram<u64>>,
    /// Guards nothing but itself.
    long: Mutex<BTreeMap<String, (u64, Nanos, Nanos)>>,
}

impl Meter {
    pub(super) fn new(threshold: Duration) -> Self {
        let lag = Histogram::new(3).expect("three significant digits are allowed");
        Self {
            threshold_ns: crate::clock::nanos(threshold),
            polls: AtomicU64::new(0),
            lag_ns: Mutex::new(lag),
            long: Mutex::new(BTreeMap::new()),
        }
    }

    /// A poll of the task called `name` took so long. Called on the loop's thread alone.
    #[inline]
    pub(super) fn polled<'n>(&self, took: Nanos, name: impl FnOnce() -> &'n str) {
        self.polls.store(self.polls.load(Relaxed) + 1, Relaxed);
        if took >= self.threshold_ns {
            self.polled_long(name(), took);
        }
    }

    #[cold]
    fn polled_long(&self, name: &str, took: Nanos) {
        tracing::debug!(target: "gvl_lab::executor", name, took_ns = took, "long poll");
        let mut long = self.long.lock();
        let entry = match long.get_mut(name) {
            Some(entry) => entry,
            None => long.entry(name.to_owned()).or_default(),
        };
        *entry = (entry.0 + 1, entry.1 + took, entry.2.max(took));
    }

    pub(super) fn lagged(&self, lag: Duration) {
        let recorded = self.lag_ns.lock().record(crate::clock::nanos(lag));
        recorded.expect("the histogram grows with what it counts");
    }

    pub(super) fn stats(&self, tasks: Stats) -> LoopStats {
        let mut long_polls: Vec<LongPoll> = self
            .long
            .lock()
            .iter()
            .map(|(task, &(count, total, max))| LongPoll {
                task: task.clone(),
                count,
                total: Duration::from_nanos(total),
                max: Duration::from_nanos(max),
            })
            .collect();
        long_polls.sort_by_key(|long| std::cmp::Reverse(long.max));
        LoopStats {
            tasks,
            polls: self.polls.load(Relaxed),
            lag_ns: self.lag_ns.lock().clone(),
            long_polls,
            threshold: Duration::from_nanos(self.threshold_ns),
        }
    }
}
