//! What a master tells a new worker about itself, and what a worker reports: as JSON.

use super::accept::Accept;
use crate::gvl::{ThreadUsage, Usage};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::time::Duration;

/// What a worker is told first.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Setup {
    /// The pool's name.
    pub name: String,
    /// The worker's number, from 0: a replacement has that of the one that it replaces.
    pub number: u32,
    /// The longest frame.
    pub frame_max: u32,
    /// The lock of the worker: a name such as `cruby-3.3`, or a table, as in an experiment.
    pub gvl: serde_json::Value,
    /// What its handlers run on.
    pub serving: Serving,
    /// Where it accepts connections, beside what the master sends: a listening socket follows this
    /// frame, as a file descriptor.
    pub accept: Option<Accept>,
    /// How many workers there are to be.
    pub workers: u32,
    /// Text for the application, as the embedder has it.
    pub app: String,
}

/// What a worker's handlers run on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Serving {
    /// A pool of threads.
    Threads {
        /// Threads there from the start.
        min: u32,
        /// Threads at most.
        max: u32,
        /// Each task has a thread of its own, which ends with it.
        one_task: bool,
    },
    /// An event loop for asynchronous handlers, and threads for the others.
    EventLoop {
        /// Threads at most.
        offload: u32,
    },
}

/// What a worker tells about itself.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct WorkerReport {
    /// Tasks that wait for a thread.
    pub queued: u64,
    /// Tasks that run.
    pub running: u64,
    /// Tasks that ended, by outcome: `ok`, `panicked`, ...
    pub ended: BTreeMap<String, u64>,
    /// The CPU time of the process, in nanoseconds.
    pub cpu_ns: u64,
    /// What each thread used of the global lock.
    pub gvl: Vec<ThreadReport>,
    /// How its event loop fared, where it has one.
    pub event_loop: Option<LoopReport>,
    /// What the application adds.
    pub app: serde_json::Value,
}

/// How an event loop fared.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct LoopReport {
    /// How late its timers fired: nanoseconds and how often.
    pub lag_ns: Vec<(u64, u64)>,
    /// How many polls there were.
    pub polls: u64,
    /// Polls of the threshold and longer, by task.
    pub long_polls: Vec<LongPollReport>,
    /// From when on a poll is long.
    pub threshold_ns: u64,
}

/// The long polls of the tasks of one name.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct LongPollReport {
    /// The name.
    pub task: String,
    /// How many there were.
    pub count: u64,
    /// How long they took together.
    pub total_ns: u64,
    /// How long the longest took.
    pub max_ns: u64,
}

/// What one thread used of the global lock.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct ThreadReport {
    /// Its name.
    pub name: String,
    /// Holding it, in nanoseconds.
    pub hold_ns: u64,
    /// Waiting for it.
    pub wait_ns: u64,
    /// Neither.
    pub blocked_ns: u64,
    /// How often it got the lock.
    pub acquisitions: u64,
    /// How many of these it had to wait for.
    pub handoffs: u64,
    /// How often it had to give it up.
    pub forced_yields: u64,
}

impl From<ThreadReport> for ThreadUsage {
    fn from(thread: ThreadReport) -> Self {
        let ns = Duration::from_nanos;
        let usage = Usage {
            hold: ns(thread.hold_ns),
            wait: ns(thread.wait_ns),
            blocked: ns(thread.blocked_ns),
            acquisitions: thread.acquisitions,
            handoffs: thread.handoffs,
            forced_yields: thread.forced_yields,
        };
        Self { name: thread.name, usage }
    }
}
