//! One row of a report: one model under one load.
//!
//! Replications are merged: histograms add, throughput is all successes over all elapsed time.
//! Figures are rounded to 6 significant digits here; checks saw the unrounded ones.

use super::latency::rounded;
use super::{
    BacklogRow, ClientsRow, EndpointRow, GvlRow, Intervals, Latency, LoopRow, PoolRow,
    ThrottledRow, WarmUpRow, WorkerRow,
};
use crate::measure::checks::{self, IMPOSSIBLE};
use crate::measure::{
    Ceiling, EndpointRecording, Facts, QueueUse, Recording, Shape, Snapshots, Warning,
};
use crate::timeline::Timeline;
use serde::Serialize;
use std::collections::BTreeMap;
use std::time::Duration;

/// Holds the figures of one model.
#[derive(Debug, Clone, Serialize)]
pub struct Row {
    /// The model's label.
    pub model: String,
    /// Worker processes as configured.
    pub workers: u32,
    /// Threads of each.
    pub threads: u32,
    /// Requests served at once; `None` where unbounded.
    pub slots: Option<u64>,
    /// All requests.
    pub requests: u64,
    /// Successful requests.
    pub ok: u64,
    /// Failed requests by kind.
    pub failed: BTreeMap<String, u64>,
    /// Requests under way when the time was over.
    pub unfinished: u64,
    /// Successful requests per second; `None` where none succeeded.
    pub throughput_rps: Option<f64>,
    /// Latencies of the successful requests.
    pub latency_ms: Latency,
    /// Process id and how many requests it answered successfully.
    pub processes: BTreeMap<u32, u64>,
    /// The workers, where there are several.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub by_worker: Vec<WorkerRow>,
    /// The most requests that a worker took / the mean of all workers, where there are several: 1
    /// is even. The mean of that of each replication.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub imbalance: Option<f64>,
    /// How the lock was used.
    pub gvl: GvlRow,
    /// The share of the processors' time used: CPU / (elapsed x cores).
    pub cpu_share: Option<f64>,
    /// How deep the queue was.
    pub queue: QueueRow,
    /// How the event loop fared, where there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub event_loop: Option<LoopRow>,
    /// What bounds the throughput.
    pub ceilings: Vec<Ceiling>,
    /// The kind of the lowest ceiling.
    pub bound_by: Option<&'static str>,
    /// Confidence intervals, where at least two replications succeeded.
    pub interval: Option<Intervals>,
    /// The endpoints, where there are several.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub endpoints: Vec<EndpointRow>,
    /// Figures others measured, by key.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub published: BTreeMap<String, f64>,
    /// What was left out as warm-up, where that was asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub warm_up: Option<WarmUpRow>,
    /// What the database took of the connections of each pool that has `max_connections`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub pools: Vec<PoolRow>,
    /// How often the CPU quota was used up, where the machine has one that binds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub throttled: Option<ThrottledRow>,
    /// What clients did that give up, where the load has a timeout.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub clients: Option<ClientsRow>,
    /// The queue of connections to accept, where the model has its length or it overflowed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub backlog: Option<BacklogRow>,
    /// What the checks doubt.
    pub warnings: Vec<Warning>,
    /// The processes before the load and under it, where the run was told to look: those of the
    /// first replication.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub snapshots: Option<Snapshots>,
    /// What each thread did, where the run was told to record it: in the first replication. No part of the
    /// document; the views `trace` and `grants` show it.
    #[serde(skip)]
    pub timeline: Option<Timeline>,
    /// The endpoints as recorded, for views that mimic other tools' arithmetic.
    #[serde(skip)]
    pub(super) recorded: Vec<EndpointRecording>,
    /// All of them as one.
    #[serde(skip)]
    pub(super) overall: EndpointRecording,
    /// The time of all replications.
    #[serde(skip)]
    pub(super) elapsed: Duration,
    /// The same to the last answer of each.
    #[serde(skip)]
    pub(super) last_answer: Duration,
}

/// Tells how deep the queue in front of the threads was.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct QueueRow {
    /// Requests waiting, averaged over time.
    pub depth_mean: f64,
    /// The most requests that waited at once.
    pub depth_max: u64,
}

impl Row {
    /// Makes the row of one model from its replications, judged by all checks.
    ///
    /// `published` has figures others measured for it, such as `("throughput_rps", 9.4)`: keys that
    /// end in `_rps` are compared with the ceilings.
    pub fn of(
        label: &str,
        shape: &Shape,
        replications: &[Recording],
        published: &[(String, f64)],
    ) -> Self {
        let facts = Facts::new(shape.clone(), replications, published);
        let lockable = facts.recording.whole() * shape.processes.max(1);
        let round = |c: &Ceiling| Ceiling { rps: rounded(c.rps), ..c.clone() };
        Self {
            model: label.to_owned(),
            workers: shape.workers,
            threads: shape.threads,
            slots: shape.slots,
            requests: facts.overall.requests(),
            ok: facts.ok(),
            failed: facts.overall.failed.clone(),
            unfinished: facts.recording.unfinished,
            throughput_rps: facts.throughput_rps().map(rounded),
            latency_ms: Latency::of(&facts.overall.latency),
            by_worker: WorkerRow::all(&facts),
            imbalance: facts.imbalance.as_ref().map(|imbalance| rounded(imbalance.ratio)),
            gvl: GvlRow::of(&shape.gvl_name, &facts.recording.gvl, lockable),
            cpu_share: facts.cpu_share().map(rounded),
            queue: QueueRow::of(facts.recording.queue),
            event_loop: facts.recording.event_loop.as_ref().map(LoopRow::of),
            ceilings: facts.ceilings.iter().map(round).collect(),
            bound_by: facts.bound_by().map(|ceiling| ceiling.kind.name()),
            interval: Intervals::of(&facts),
            endpoints: EndpointRow::all(&facts.recording),
            published: facts.published.iter().cloned().collect(),
            warm_up: WarmUpRow::of(&facts.recording),
            pools: PoolRow::all(&facts.recording),
            throttled: ThrottledRow::of(&facts),
            clients: ClientsRow::of(&facts),
            backlog: BacklogRow::of(facts.recording.backlog),
            warnings: checks::run(&facts),
            snapshots: facts.recording.snapshots,
            timeline: facts.recording.timeline,
            processes: facts.recording.processes,
            recorded: facts.recording.endpoints,
            overall: facts.overall,
            elapsed: facts.recording.elapsed,
            last_answer: facts.recording.last_answer,
        }
    }

    /// Tells whether a figure is above its ceiling.
    pub fn is_impossible(&self) -> bool {
        self.warnings.iter().any(|warning| warning.kind == IMPOSSIBLE)
    }

    /// Tells whether any request succeeded.
    pub fn has_success(&self) -> bool {
        self.ok > 0
    }

    /// Gives the lowest ceiling, which bounds the row.
    pub fn ceiling(&self) -> Option<&Ceiling> {
        self.ceilings.iter().find(|ceiling| Some(ceiling.kind.name()) == self.bound_by)
    }

    /// Names the row: its label, workers and threads, such as `puma 4x3`.
    pub fn title(&self) -> String {
        format!("{} {}", self.model, self.size())
    }

    /// Gives workers and threads, such as `4x3`; `1x async` where nothing bounds the slots.
    pub fn size(&self) -> String {
        match self.slots {
            Some(_) => format!("{}x{}", self.workers, self.threads),
            None => format!("{}x async", self.workers),
        }
    }
}

impl QueueRow {
    fn of(queue: QueueUse) -> Self {
        Self { depth_mean: rounded(queue.depth_mean), depth_max: queue.depth_max }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measure::samples::{endpoint, ms, of_workers, recording, shape, worker};

    #[test]
    fn sixteen_rps_of_one_slot_are_impossible() {
        let run = recording(10_000, vec![endpoint("io", 163, 100)]);
        let row = Row::of("webrick", &shape(0, 1), &[run], &[]);
        assert!(row.is_impossible());
        assert_eq!(row.title(), "webrick 0x1");
        assert_eq!(
            row.ceiling().map(|c| (c.rps, c.formula.as_str())),
            Some((10.0, "1 slot / 100 ms"))
        );
    }

    #[test]
    fn a_cluster_is_named_by_its_size_and_tells_its_imbalance() {
        let mut workers = [worker(0, 7, 61, 100), worker(1, 8, 59, 100)];
        for worker in &mut workers {
            (worker.gvl.hold, worker.cpu) = (ms(500), ms(500));
        }
        let row = Row::of("puma", &shape(2, 3), &[of_workers(2000, &workers)], &[]);
        assert_eq!((row.title().as_str(), row.slots), ("puma 2x3", Some(6)));
        assert_eq!((row.by_worker.len(), row.imbalance), (2, Some(1.01667)));
        assert_eq!(row.processes, BTreeMap::from([(7, 61), (8, 59)]));
        assert_eq!(row.gvl.hold_share, Some(0.25));
        assert!(row.warnings.is_empty(), "{:?}", row.warnings);
    }

    #[test]
    fn one_endpoint_is_the_row_itself() {
        let run = recording(10_600, vec![endpoint("io", 100, 100)]);
        let row = Row::of("pool", &shape(0, 1), &[run], &[]);
        assert!(row.endpoints.is_empty());
        assert_eq!(row.throughput_rps, Some(9.43396));
        assert_eq!(row.interval, None);
    }
}
