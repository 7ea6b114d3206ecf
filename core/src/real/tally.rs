//! What happens in a run, counted as it happens.

use super::waits::Waits;
use crate::clock::Nanos;
use crate::measure::{EndpointRecording, PoolRecording, QueueUse};
use crate::workload::{Demand, Endpoint, Pool, Workload};
use smallvec::SmallVec;
use std::time::Duration;

/// How a request ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Ended {
    Ok,
    Failed(String),
}

/// What a finished request tells.
pub(super) struct Finished {
    pub(super) endpoint: usize,
    pub(super) intended: Nanos,
    pub(super) at: Nanos,
    pub(super) ended: Ended,
    pub(super) demand: Demand,
    pub(super) waits: Waits,
    pub(super) in_pools: SmallVec<[Duration; 2]>,
}

/// The counts of one run.
pub(super) struct Tally {
    pub(super) endpoints: Vec<EndpointRecording>,
    pub(super) pools: Vec<PoolRecording>,
    pub(super) ok: u64,
    pub(super) last_finish: Nanos,
    queue: Depth,
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
    pub(super) fn new(workload: &Workload, start: Nanos) -> Self {
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
            queue: Depth { since: start, ..Depth::default() },
        }
    }

    /// A request joined the queue in front of the threads.
    pub(super) fn queued(&mut self, at: Nanos) {
        self.queue.change(at, 1);
    }

    /// A thread took a request out of the queue.
    pub(super) fn started(&mut self, at: Nanos) {
        self.queue.change(at, -1);
    }

    pub(super) fn finished(&mut self, finished: Finished) {
        self.last_finish = self.last_finish.max(finished.at);
        let latency = Duration::from_nanos(finished.at.saturating_sub(finished.intended));
        let endpoint = &mut self.endpoints[finished.endpoint];
        endpoint.gvl_wait += finished.waits.total;
        endpoint.gvl_waits += finished.waits.count;
        match finished.ended {
            Ended::Ok => {
                self.ok += 1;
                endpoint.latency.record(latency);
                endpoint.demand.add(finished.demand);
                for (pool, held) in self.pools.iter_mut().zip(finished.in_pools) {
                    pool.held += held;
                }
            }
            Ended::Failed(kind) => {
                *endpoint.failed.entry(kind).or_default() += 1;
                endpoint.failed_latency.record(latency);
            }
        }
    }

    pub(super) fn queue_use(&mut self, start: Nanos, end: Nanos) -> QueueUse {
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
        let mut tally = Tally::new(&Workload::new(), 100);
        tally.queued(100);
        tally.queued(150);
        tally.started(200);
        // One for 50, two for 50, one for 100, of 200 in all.
        let queue = tally.queue_use(100, 300);
        assert_eq!((queue.depth_mean, queue.depth_max), (1.25, 2));
    }
}
