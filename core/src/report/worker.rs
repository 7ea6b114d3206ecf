//! One worker of a row.

use super::latency::rounded;
use super::{GvlRow, Latency, LoopRow};
use crate::measure::facts::{rate, share};
use crate::measure::{Facts, WorkerRecording};
use serde::Serialize;
use std::collections::BTreeMap;

/// Holds the figures of one worker.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct WorkerRow {
    /// Its number, from 0; a replacement has that of the one that it replaces.
    pub worker: u32,
    /// Its processes: of each replication, and replacements.
    pub pids: Vec<u32>,
    /// How often its process ended without being told to.
    pub lost: u64,
    /// All requests that it took.
    pub requests: u64,
    /// Successful requests.
    pub ok: u64,
    /// Failed requests by kind.
    pub failed: BTreeMap<String, u64>,
    /// Its requests / those of all workers; `None` where they took none.
    pub share: Option<f64>,
    /// Successful requests per second; `None` where none succeeded.
    pub throughput_rps: Option<f64>,
    /// Latencies of its successful requests.
    pub latency_ms: Latency,
    /// How its lock was used.
    pub gvl: GvlRow,
    /// Its part of the row's: CPU / (elapsed x cores).
    pub cpu_share: Option<f64>,
    /// How its event loop fared, where there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub event_loop: Option<LoopRow>,
}

impl WorkerRow {
    /// The workers of a row that has several; a single one is the row itself.
    pub(super) fn all(facts: &Facts) -> Vec<Self> {
        let workers = &facts.recording.workers;
        if workers.len() < 2 {
            return Vec::new();
        }
        let requests = workers.iter().map(WorkerRecording::requests).sum();
        workers.iter().map(|worker| Self::of(worker, requests, facts)).collect()
    }

    fn of(worker: &WorkerRecording, of_all: u64, facts: &Facts) -> Self {
        let elapsed = facts.recording.elapsed;
        let whole = facts.recording.whole();
        let requests = worker.requests();
        Self {
            worker: worker.number,
            pids: worker.processes().keys().copied().collect(),
            lost: worker.lost,
            requests,
            ok: worker.ok(),
            failed: worker.failed.clone(),
            share: (of_all > 0).then(|| rounded(requests as f64 / of_all as f64)),
            throughput_rps: rate(worker.ok(), elapsed).map(rounded),
            latency_ms: Latency::of(worker.latency()),
            gvl: GvlRow::of(&facts.shape.gvl_name, &worker.gvl, whole),
            cpu_share: share(worker.cpu, whole * facts.shape.cores).map(rounded),
            event_loop: worker.event_loop.as_ref().map(LoopRow::of),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measure::samples::{cluster, ms, of_workers, shape, worker};

    #[test]
    fn shares_throughputs_and_cpu_add_up_to_the_rows() {
        let mut workers =
            [worker(0, 100, 60, 100), worker(1, 101, 30, 100).failing("panicked", 10)];
        (workers[0].cpu, workers[1].cpu) = (ms(900), ms(300));
        (workers[0].gvl.hold, workers[0].gvl.wait) = (ms(800), ms(200));
        let facts = Facts::new(shape(2, 3), &[of_workers(1000, &workers)], &[]);
        let rows = WorkerRow::all(&facts);
        let told = rows.iter().map(|w| (w.worker, w.requests, w.share, w.throughput_rps));
        assert_eq!(
            told.collect::<Vec<_>>(),
            [(0, 60, Some(0.6), Some(60.0)), (1, 40, Some(0.4), Some(30.0))]
        );
        assert_eq!(rows[0].gvl.hold_share, Some(0.8));
        assert_eq!(rows[0].gvl.wait_share, Some(0.2));
        let cpu: f64 = rows.iter().filter_map(|w| w.cpu_share).sum();
        assert_eq!((rows[0].cpu_share, Some(cpu)), (Some(0.225), facts.cpu_share()));
    }

    #[test]
    fn one_worker_is_the_row_itself() {
        let facts = Facts::new(shape(1, 3), &[cluster(1000, &[30], 100)], &[]);
        assert_eq!(WorkerRow::all(&facts), []);
    }
}
