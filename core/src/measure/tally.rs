//! What happens in a run, counted as it happens: engines tell, a `Recording` comes of it.

use super::{
    Ended, EndpointRecording, Histogram, PoolRecording, QueueUse, Served, WorkerRecording,
};
use crate::clock::Nanos;
use crate::workload::{Endpoint, Pool, Workload};
use std::collections::BTreeMap;
use std::time::Duration;

/// What a finished request tells.
pub(crate) struct Finished<'a> {
    pub(crate) endpoint: usize,
    pub(crate) intended: Nanos,
    pub(crate) at: Nanos,
    /// The worker process that had it, where there are workers.
    pub(crate) pid: Option<u32>,
    pub(crate) served: &'a Served,
}

/// The counts of one run.
pub(crate) struct Tally {
    pub(crate) endpoints: Vec<EndpointRecording>,
    pub(crate) pools: Vec<PoolRecording>,
    pub(crate) ok: u64,
    pub(crate) last_finish: Nanos,
    /// What each worker process answered.
    pub(crate) by_process: BTreeMap<u32, Answered>,
    queue: Depth,
    /// Steps into the queue and out of it that are told late and in any order, replayed at the end.
    steps: Vec<(Nanos, i64)>,
    told_late: bool,
}

/// What one worker process answered.
#[derive(Default)]
pub(crate) struct Answered {
    pub(crate) latency: Histogram,
    pub(crate) failed: BTreeMap<String, u64>,
}

impl Answered {
    /// What it answered as the process `pid` of worker `number`; the rest of the recording is empty.
    pub(crate) fn worker(self, number: u32, pid: u32) -> WorkerRecording {
        let mut worker = WorkerRecording::new(number, pid, self.latency);
        worker.failed = self.failed;
        worker
    }
}

/// A number of waiting requests over time.
#[derive(Default)]
struct Depth {
    now: u64,
    max: u64,
    since: Nanos,
    /// Requests times nanoseconds.
    area: u128,
}

impl Tally {
    /// An empty tally; `told_late`: workers tell when they took a request only after they served it.
    pub(crate) fn new(workload: &Workload, start: Nanos, told_late: bool) -> Self {
        let endpoint = |e: &Endpoint| EndpointRecording { name: e.name.clone(), ..<_>::default() };
        let pool = |p: &Pool| PoolRecording {
            name: p.name.clone(),
            size: p.size.into(),
            held: Duration::ZERO,
        };
        Self {
            endpoints: workload.endpoints.iter().map(endpoint).collect(),
            pools: workload.pools.iter().map(pool).collect(),
            ok: 0,
            last_finish: start,
            by_process: BTreeMap::new(),
            queue: Depth { since: start, ..Depth::default() },
            steps: Vec::new(),
            told_late,
        }
    }

    /// A request joined the queue in front of the threads.
    pub(crate) fn queued(&mut self, at: Nanos) {
        self.step(at, 1);
    }

    /// A thread took a request out of the queue.
    pub(crate) fn started(&mut self, at: Nanos) {
        self.step(at, -1);
    }

    fn step(&mut self, at: Nanos, by: i64) {
        if self.told_late {
            self.steps.push((at, by));
        } else {
            self.queue.change(at, by);
        }
    }

    pub(crate) fn finished(&mut self, finished: &Finished<'_>) {
        self.last_finish = self.last_finish.max(finished.at);
        let Served { ended, demand, waits, in_pools, .. } = finished.served;
        let latency = Duration::from_nanos(finished.at.saturating_sub(finished.intended));
        if let Some(pid) = finished.pid {
            let process = self.by_process.entry(pid).or_default();
            match ended {
                Ended::Ok => process.latency.record(latency),
                Ended::Failed(kind) => *process.failed.entry(kind.clone()).or_default() += 1,
            }
        }
        let endpoint = &mut self.endpoints[finished.endpoint];
        endpoint.gvl_wait += waits.total;
        endpoint.gvl_waits += waits.count;
        match ended {
            Ended::Ok => {
                self.ok += 1;
                endpoint.latency.record(latency);
                endpoint.demand.add(*demand);
                for (pool, held) in self.pools.iter_mut().zip(in_pools) {
                    pool.held += *held;
                }
            }
            Ended::Failed(kind) => {
                *endpoint.failed.entry(kind.clone()).or_default() += 1;
                endpoint.failed_latency.record(latency);
            }
        }
    }

    pub(crate) fn queue_use(&mut self, start: Nanos, end: Nanos) -> QueueUse {
        let mut steps = std::mem::take(&mut self.steps);
        // In at a moment before out at the same.
        steps.sort_unstable_by_key(|(at, by)| (*at, -by));
        steps
            .into_iter()
            .filter(|(at, _)| *at <= end)
            .for_each(|(at, by)| self.queue.change(at, by));
        self.queue.change(end, 0);
        let length = end.saturating_sub(start).max(1);
        QueueUse { depth_mean: self.queue.area as f64 / length as f64, depth_max: self.queue.max }
    }
}

impl Depth {
    fn change(&mut self, at: Nanos, by: i64) {
        // Threads read the clock before they come here: the order may be off by microseconds.
        let at = at.max(self.since);
        self.area += u128::from(self.now) * u128::from(at - self.since);
        self.since = at;
        self.now = self.now.saturating_add_signed(by);
        self.max = self.max.max(self.now);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_queue_is_averaged_over_time() {
        let mut tally = Tally::new(&Workload::new(), 100, false);
        tally.queued(100);
        tally.queued(150);
        tally.started(200);
        // One for 50, two for 50, one for 100, of 200 in all.
        let queue = tally.queue_use(100, 300);
        assert_eq!((queue.depth_mean, queue.depth_max), (1.25, 2));
    }

    #[test]
    fn steps_that_are_told_late_count_at_their_time() {
        let mut tally = Tally::new(&Workload::new(), 100, true);
        tally.started(200);
        tally.queued(150);
        tally.queued(100);
        let queue = tally.queue_use(100, 300);
        assert_eq!((queue.depth_mean, queue.depth_max), (1.25, 2));
    }
}
