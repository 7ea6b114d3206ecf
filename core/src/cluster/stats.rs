//! Counts of a cluster's tasks and workers.

use super::desk::Station;
use super::slot::Reply;
use crate::executor::TaskError;
use std::collections::BTreeMap;

/// The state of a cluster at one moment.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ClusterStats {
    /// Tasks that wait for a worker.
    pub queued: u64,
    /// Tasks that a worker has.
    pub running: u64,
    /// Payload bytes of the tasks that have not ended.
    pub bytes: u64,
    /// Counts of what ended.
    pub counts: Counts,
    /// The workers that serve, by number.
    pub workers: Vec<WorkerStats>,
    /// Workers that ended without being told to, the last 1000 of them: number and process.
    pub lost: Vec<(u32, u32)>,
}

/// Counts of what ended, since the start.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Counts {
    /// Tasks that ended with a value.
    pub done: u64,
    /// Tasks that ended without one, by the kind of their error.
    pub failed: BTreeMap<&'static str, u64>,
    /// Submissions that were refused.
    pub rejected: u64,
    /// How often a task ran again because its worker was lost.
    pub reruns: u64,
    /// Workers that ended without being told to.
    pub workers_lost: u64,
}

/// One worker process.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WorkerStats {
    /// Its number, which a replacement takes over.
    pub number: u32,
    /// Its process.
    pub pid: u32,
    /// Tasks that it has.
    pub running: u64,
    /// Tasks that it answered with a value.
    pub ok: u64,
    /// Tasks that it answered otherwise.
    pub failed: u64,
    /// Takes no more tasks, and ends when it has none.
    pub draining: bool,
}

impl Counts {
    pub(super) fn count(&mut self, outcome: &Result<Reply, TaskError>) {
        match outcome {
            Ok(_) => self.done += 1,
            Err(error) => *self.failed.entry(error.kind()).or_default() += 1,
        }
    }
}

impl From<&Station> for WorkerStats {
    fn from(station: &Station) -> Self {
        let Station { number, pid, running, ok, failed, draining, .. } = *station;
        Self { number, pid, running, ok, failed, draining }
    }
}
