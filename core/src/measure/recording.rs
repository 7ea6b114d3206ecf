//! What one run left behind, as plain data.
//!
//! An engine fills one [`Recording`] for each replication of a model; `Facts` merges them. Holds no
//! judgement. Merging adds: the merged recording is that of one long run.

use super::{
    BacklogUse, ClientUse, GvlUse, Histogram, LeftOut, LoopUse, Throttled, WorkerRecording, worker,
};
use crate::cluster::Snapshot;
use crate::timeline::Timeline;
use crate::workload::{Demand, Pool};
use serde::Serialize;
use std::collections::BTreeMap;
use std::time::Duration;

/// What one replication of one model left behind.
#[derive(Debug, Clone, Default)]
pub struct Recording {
    /// What figures are divided by: the run's time as its load has it, or, where the load is a
    /// number of requests, that from the start to the last answer, or until the server is done with
    /// those whose clients have left.
    pub elapsed: Duration,
    /// Time from the start to the last answer, as Locust counts it; at most `elapsed`.
    pub last_answer: Duration,
    /// What each endpoint answered, in the order of the workload.
    pub endpoints: Vec<EndpointRecording>,
    /// Requests that had started and not ended when the time was over; they count nowhere else.
    pub unfinished: u64,
    /// Process id and how many requests it answered successfully.
    pub processes: BTreeMap<u32, u64>,
    /// The workers in the order of their numbers; empty for a single process.
    pub workers: Vec<WorkerRecording>,
    /// How the lock was used, all processes together.
    pub gvl: GvlUse,
    /// CPU time of the server's processes during the run.
    pub cpu: Duration,
    /// How deep the queue in front of the threads was.
    pub queue: QueueUse,
    /// The connection pools, in the order of the workload.
    pub pools: Vec<PoolRecording>,
    /// How the event loop fared, where there is one.
    pub event_loop: Option<LoopUse>,
    /// How a CPU quota bound it, where there is one.
    pub throttled: Option<Throttled>,
    /// What the system knew of the processes, where it was asked.
    pub snapshots: Option<Snapshots>,
    /// The warm-up, which `elapsed` and `last_answer` do not have; `None` where none was asked for.
    pub left_out: Option<LeftOut>,
    /// What clients did that give up; `None` for a load without a timeout.
    pub clients: Option<ClientUse>,
    /// What became of connections at the listening socket; `None` where that is not known.
    pub backlog: Option<BacklogUse>,
    /// What each thread did, where it was recorded.
    pub timeline: Option<Timeline>,
}

/// What the system knew of a server's processes, at two moments of a run.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Snapshots {
    /// The server is up, and no request has come.
    pub before: Snapshot,
    /// Half of the run is done, or all of it where it was over first. Shares of CPU time are since
    /// `before`.
    pub under_load: Snapshot,
}

/// What one endpoint answered.
#[derive(Debug, Clone, Default)]
pub struct EndpointRecording {
    /// The endpoint's name in the workload.
    pub name: String,
    /// Latencies of the successful requests.
    pub latency: Histogram,
    /// Failed requests by kind, such as `status 500`, `timed out`, `panicked`, `rejected`.
    pub failed: BTreeMap<String, u64>,
    /// Latencies of the failed requests.
    pub failed_latency: Histogram,
    /// What the successful requests asked for, summed.
    pub demand: Demand,
    /// Time all requests, failed ones too, waited for the GVL, summed.
    pub gvl_wait: Duration,
    /// How many times a request had to wait for the GVL, all requests together.
    pub gvl_waits: u64,
}

/// A connection pool, and how long successful requests asked to hold its connections.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PoolRecording {
    /// The pool's name in the workload.
    pub name: String,
    /// Its connections, in each process.
    pub size: u64,
    /// The service times of the steps inside its checkouts, summed.
    pub held: Duration,
    /// What the database took of its connections, where that is bounded.
    pub database: Option<DatabaseUse>,
}

/// What a database took of a pool's connections, all processes together.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct DatabaseUse {
    /// How many connections it takes.
    pub max: u64,
    /// How many were open at most.
    pub opened: u64,
    /// Checkouts that it refused, the warm-up's too.
    pub refused: u64,
}

impl PoolRecording {
    /// Makes the record of a pool that nobody has used.
    pub fn of(pool: &Pool) -> Self {
        let max = pool.max_connections.map(u64::from);
        Self {
            name: pool.name.clone(),
            size: pool.size.into(),
            held: Duration::ZERO,
            database: max.map(|max| DatabaseUse { max, ..DatabaseUse::default() }),
        }
    }

    /// Adds another run's.
    fn add(&mut self, other: &Self) {
        self.held += other.held;
        if let (Some(mine), Some(theirs)) = (&mut self.database, other.database) {
            mine.opened = mine.opened.max(theirs.opened);
            mine.refused += theirs.refused;
        }
    }
}

/// How deep the queue in front of the threads was.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct QueueUse {
    /// Requests waiting, averaged over time.
    pub depth_mean: f64,
    /// The most requests that waited at once.
    pub depth_max: u64,
}

impl Recording {
    /// Records worker processes, those that answered nothing too: their processes, their use of the
    /// lock, CPU time and event loops are summed, and the rest is empty.
    ///
    /// Workers of one number (replacements) become one.
    pub fn of_workers(workers: &[WorkerRecording]) -> Self {
        let mut all = Self::default();
        let mut by_number = Vec::new();
        worker::merge(&mut by_number, workers);
        for worker in &by_number {
            add_counts(&mut all.processes, worker.processes());
            all.gvl.merge(&worker.gvl_of_all());
            all.cpu += worker.cpu;
            LoopUse::merge_into(&mut all.event_loop, worker.event_loop.as_ref());
        }
        all.workers = by_number;
        all
    }

    /// Adds another replication: times, counts and histograms add, endpoints match by name, workers
    /// by number. Snapshots and the timeline are those of the first.
    pub fn merge(&mut self, other: &Self) {
        self.queue = self.queue.followed_by(self.elapsed, other.queue, other.elapsed);
        self.elapsed += other.elapsed;
        self.last_answer += other.last_answer;
        self.unfinished += other.unfinished;
        for theirs in &other.endpoints {
            match self.endpoints.iter_mut().find(|mine| mine.name == theirs.name) {
                Some(mine) => mine.merge(theirs),
                None => self.endpoints.push(theirs.clone()),
            }
        }
        add_counts(&mut self.processes, &other.processes);
        worker::merge(&mut self.workers, &other.workers);
        self.gvl.merge(&other.gvl);
        self.cpu += other.cpu;
        for theirs in &other.pools {
            match self.pools.iter_mut().find(|mine| mine.name == theirs.name) {
                Some(mine) => mine.add(theirs),
                None => self.pools.push(theirs.clone()),
            }
        }
        LoopUse::merge_into(&mut self.event_loop, other.event_loop.as_ref());
        if let Some(theirs) = other.throttled {
            self.throttled.get_or_insert_default().add(theirs);
        }
        self.snapshots = self.snapshots.take().or_else(|| other.snapshots.clone());
        self.timeline = self.timeline.take().or_else(|| other.timeline.clone());
        if let Some(theirs) = other.clients {
            self.clients.get_or_insert_default().add(theirs);
        }
        if let Some(theirs) = other.backlog {
            self.backlog.get_or_insert_default().add(theirs);
        }
        if let Some(theirs) = other.left_out {
            self.left_out.get_or_insert_default().add(theirs);
        }
    }

    /// Takes the warm-up, whose requests were not recorded, off the time.
    pub(crate) fn without(mut self, left_out: Option<LeftOut>) -> Self {
        if let Some(left_out) = left_out {
            self.elapsed = self.elapsed.saturating_sub(left_out.time);
            self.last_answer = self.last_answer.saturating_sub(left_out.time);
        }
        self.left_out = left_out;
        self
    }

    /// Gives the time of the whole run, its warm-up included: what the use of the lock and of CPU
    /// time is a share of.
    pub fn whole(&self) -> Duration {
        self.elapsed + self.left_out.map_or(Duration::ZERO, |left_out| left_out.time)
    }

    /// Sums all endpoints into one called `name`.
    pub fn overall(&self, name: &str) -> EndpointRecording {
        let mut sum = EndpointRecording { name: name.to_owned(), ..Default::default() };
        self.endpoints.iter().for_each(|endpoint| sum.merge(endpoint));
        sum
    }
}

impl EndpointRecording {
    /// Adds what the same endpoint answered elsewhere.
    pub fn merge(&mut self, other: &Self) {
        self.latency.merge(&other.latency);
        add_counts(&mut self.failed, &other.failed);
        self.failed_latency.merge(&other.failed_latency);
        self.demand.add(other.demand);
        self.gvl_wait += other.gvl_wait;
        self.gvl_waits += other.gvl_waits;
    }

    /// Counts the successful requests.
    pub fn ok(&self) -> u64 {
        self.latency.count()
    }

    /// Counts the failed requests of all kinds.
    pub fn failures(&self) -> u64 {
        self.failed.values().sum()
    }

    /// Counts all requests.
    pub fn requests(&self) -> u64 {
        self.ok() + self.failures()
    }
}

impl QueueUse {
    /// The queue of two runs after each other: the mean is weighted by time.
    fn followed_by(self, elapsed: Duration, next: Self, next_elapsed: Duration) -> Self {
        let (first, second) = (elapsed.as_secs_f64(), next_elapsed.as_secs_f64());
        let area = self.depth_mean * first + next.depth_mean * second;
        let time = first + second;
        Self {
            depth_mean: if time > 0.0 { area / time } else { 0.0 },
            depth_max: self.depth_max.max(next.depth_max),
        }
    }
}

pub(super) fn add_counts<K: Clone + Ord>(sum: &mut BTreeMap<K, u64>, counts: &BTreeMap<K, u64>) {
    for (key, n) in counts {
        *sum.entry(key.clone()).or_default() += n;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cluster::snapshot::Role;
    use crate::measure::samples::{endpoint, ms, worker};
    use crate::measure::{GvlUse, ThreadUse};

    #[test]
    fn two_replications_merge_into_one_long_run() {
        let one = Recording {
            elapsed: ms(1000),
            last_answer: ms(900),
            endpoints: vec![endpoint("io", 3, 100).failing("status 500", 1)],
            processes: BTreeMap::from([(7, 3)]),
            queue: QueueUse { depth_mean: 2.0, depth_max: 3 },
            ..Default::default()
        };
        let two = Recording {
            elapsed: ms(3000),
            last_answer: ms(2950),
            endpoints: vec![endpoint("io", 2, 100), endpoint("cpu", 1, 50)],
            processes: BTreeMap::from([(7, 1), (8, 2)]),
            queue: QueueUse { depth_mean: 6.0, depth_max: 9 },
            ..Default::default()
        };
        let mut merged = Recording::default();
        merged.merge(&one);
        merged.merge(&two);
        assert_eq!((merged.elapsed, merged.last_answer), (ms(4000), ms(3850)));
        assert_eq!(merged.queue, QueueUse { depth_mean: 5.0, depth_max: 9 });
        assert_eq!(merged.processes, BTreeMap::from([(7, 4), (8, 2)]));
        let names: Vec<_> = merged.endpoints.iter().map(|e| (e.name.as_str(), e.ok())).collect();
        assert_eq!(names, [("io", 5), ("cpu", 1)]);
        let all = merged.overall("all");
        assert_eq!((all.ok(), all.failures(), all.requests()), (6, 1, 7));
        assert_eq!(all.demand.service, ms(550));
    }

    #[test]
    fn snapshots_are_those_of_the_first_replication() {
        let none = Snapshot { processes: Vec::new() };
        let this = Snapshot::of(&[(std::process::id(), Role::Master)]);
        let of = |before: &Snapshot| Recording {
            snapshots: Some(Snapshots { before: before.clone(), under_load: none.clone() }),
            ..Default::default()
        };
        let mut merged = Recording::default();
        merged.merge(&of(&this));
        merged.merge(&of(&none));
        merged.merge(&Recording::default());
        assert_eq!(merged.snapshots.map(|both| both.before), Some(this));
    }

    #[test]
    fn totals_are_the_sums_of_the_workers() {
        let busy = |number, pid, ok| {
            let mut worker = worker(number, pid, ok, 100);
            worker.cpu = ms(10);
            let name = "thread 1".to_owned();
            let threads = vec![ThreadUse { name, hold: ms(40), ..Default::default() }];
            worker.gvl = GvlUse { hold: ms(40), handoffs: 2, threads, ..Default::default() };
            worker
        };
        let mut run = Recording::of_workers(&[busy(1, 8, 5), busy(0, 7, 3), busy(1, 9, 2)]);
        assert_eq!(run.processes, BTreeMap::from([(7, 3), (8, 5), (9, 2)]));
        assert_eq!((run.cpu, run.gvl.hold, run.gvl.handoffs), (ms(30), ms(120), 6));
        let threads: Vec<_> = run.gvl.threads.iter().map(|t| (&*t.name, t.hold)).collect();
        assert_eq!(threads, [("worker 0: thread 1", ms(40)), ("worker 1: thread 1", ms(80))]);

        run.merge(&Recording::of_workers(&[busy(0, 17, 4), busy(1, 18, 1)]));
        let counts: Vec<_> = run.workers.iter().map(|w| (w.number, w.ok())).collect();
        assert_eq!(counts, [(0, 7), (1, 8)]);
        let by_process: u64 = run.processes.values().sum();
        assert_eq!((by_process, run.processes.len()), (15, 5));
    }
}
