//! What happens in a run, counted as it happens: engines tell, a `Recording` comes of it.

use super::{
    Begin, ClientUse, Ended, EndpointRecording, Histogram, LeftOut, PoolRecording, QueueUse,
    Served, Settled, Settling, WorkerRecording,
};
use crate::clock::Nanos;
use crate::workload::{Endpoint, Workload};
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
    start: Nanos,
    /// When the measured part begins, and has not yet.
    begin: Option<Begin>,
    /// What was left out, once it is over, and when that was.
    left_out: Option<LeftOut>,
    began: Nanos,
    /// Connections that found the backlog full.
    pub(crate) drops: u64,
    /// What clients did that give up.
    pub(crate) clients: ClientUse,
    /// When the server was last done with an attempt whose client had left.
    pub(crate) last_abandoned: Nanos,
    /// The latencies in their order, where somebody asks whether they settle.
    settling: Option<Settling>,
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
        Self {
            endpoints: workload.endpoints.iter().map(endpoint).collect(),
            pools: workload.pools.iter().map(PoolRecording::of).collect(),
            ok: 0,
            last_finish: start,
            by_process: BTreeMap::new(),
            queue: Depth { since: start, ..Depth::default() },
            steps: Vec::new(),
            told_late,
            start,
            begin: None,
            left_out: None,
            began: start,
            drops: 0,
            clients: ClientUse::default(),
            last_abandoned: start,
            settling: None,
        }
    }

    /// Leaves the warm-up out: counts begin anew then.
    pub(crate) fn begin_at(&mut self, begin: Begin) {
        self.begin = Some(begin);
    }

    /// Follows the latencies, to tell later where they settle.
    pub(crate) fn watch(&mut self) {
        self.settling = Some(Settling::new());
    }

    /// Where the latencies settled, if they were followed.
    pub(crate) fn settled(&self) -> Option<Settled> {
        self.settling.as_ref().map(Settling::settled)
    }

    /// All requests that ended so far, those left out too.
    pub(crate) fn ended(&self) -> u64 {
        let left_out = self.left_out.map_or(0, |left_out| left_out.requests);
        left_out + self.endpoints.iter().map(EndpointRecording::requests).sum::<u64>()
    }

    /// What was left out of a run that ended at `end`: all of it, where its measured part had not
    /// begun.
    pub(crate) fn left_out(&mut self, end: Nanos) -> Option<LeftOut> {
        if self.begin.is_some() {
            self.begin_now(end);
        }
        self.left_out
    }

    /// What comes at this time or later may be the first that counts.
    fn comes(&mut self, at: Nanos) {
        if let Some(Begin::At(begin)) = self.begin
            && at >= self.start.saturating_add(begin)
        {
            self.begin_now(self.start.saturating_add(begin));
        }
    }

    fn begin_now(&mut self, at: Nanos) {
        self.begin = None;
        self.began = at;
        self.left_out = Some(LeftOut {
            time: Duration::from_nanos(at.saturating_sub(self.start)),
            requests: self.ended(),
            carried: 0,
            held: self.endpoints.iter().map(|endpoint| endpoint.demand.held).sum(),
            unsettled: false,
        });
        for endpoint in &mut self.endpoints {
            let name = std::mem::take(&mut endpoint.name);
            *endpoint = EndpointRecording { name, ..EndpointRecording::default() };
        }
        self.pools.iter_mut().for_each(|pool| pool.held = Duration::ZERO);
        self.by_process.clear();
        self.ok = 0;
        (self.clients, self.drops) = (ClientUse::default(), 0);
        self.queue.begin(at);
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
            self.comes(at);
            self.queue.change(at, by);
        }
    }

    pub(crate) fn finished(&mut self, finished: &Finished<'_>) {
        self.comes(finished.at);
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
        if let Some(settling) = &mut self.settling {
            settling.push(latency.as_nanos() as f64);
        }
        if let (Some(left_out), Ended::Ok) = (&mut self.left_out, &ended) {
            left_out.carried += u64::from(finished.intended < self.began);
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
        if let Some(Begin::After(n)) = self.begin
            && self.ended() >= n
        {
            self.begin_now(self.last_finish);
        }
    }

    /// A request is tried again.
    pub(crate) fn retried(&mut self, at: Nanos) {
        self.comes(at);
        self.clients.retries += 1;
    }

    /// A connection found the backlog full.
    pub(crate) fn dropped(&mut self, at: Nanos) {
        self.comes(at);
        self.drops += 1;
    }

    /// The server is done with an attempt whose client had left: served it, or dropped it unserved.
    pub(crate) fn abandoned(&mut self, at: Nanos, served: Option<&Served>) {
        self.comes(at);
        self.last_abandoned = self.last_abandoned.max(at);
        match served {
            Some(served) => {
                self.clients.abandoned += 1;
                self.clients.demand.add(served.demand);
            }
            None => self.clients.discarded += 1,
        }
    }

    pub(crate) fn queue_use(&mut self, start: Nanos, end: Nanos) -> QueueUse {
        let start = start.max(self.began);
        let mut steps = std::mem::take(&mut self.steps);
        // In at a moment before out at the same.
        steps.sort_unstable_by_key(|(at, by)| (*at, -by));
        let (before, after): (Vec<_>, Vec<_>) =
            steps.into_iter().filter(|(at, _)| *at <= end).partition(|(at, _)| *at < start);
        before.into_iter().for_each(|(at, by)| self.queue.change(at, by));
        if self.told_late && self.left_out.is_some() {
            self.queue.begin(start);
        }
        after.into_iter().for_each(|(at, by)| self.queue.change(at, by));
        self.queue.change(end, 0);
        let length = end.saturating_sub(start).max(1);
        QueueUse { depth_mean: self.queue.area as f64 / length as f64, depth_max: self.queue.max }
    }
}

impl Depth {
    /// Forgets what was before.
    fn begin(&mut self, at: Nanos) {
        self.change(at, 0);
        (self.area, self.max) = (0, self.now);
    }

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
    use crate::workload::{cpu, ms};

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

    fn answer(tally: &mut Tally, intended: Nanos, at: Nanos) {
        let mut served = Served::nothing_yet();
        served.demand.held = Duration::from_nanos(1);
        tally.finished(&Finished { endpoint: 0, intended, at, pid: Some(7), served: &served });
    }

    /// Ten requests of 100 ns each from 1000 on, one after the other.
    fn ten(begin: Begin, told_late: bool) -> (Tally, QueueUse) {
        let mut tally = Tally::new(&Workload::from([cpu(ms(1))]), 1000, told_late);
        tally.begin_at(begin);
        tally.queued(1000);
        for n in 0..10 {
            answer(&mut tally, 1000 + n * 100, 1100 + n * 100);
        }
        let _ = tally.left_out(2000);
        let queue = tally.queue_use(1000, 2000);
        (tally, queue)
    }

    #[test]
    fn what_is_answered_in_the_warm_up_counts_nowhere() {
        for told_late in [false, true] {
            for begin in [Begin::At(350), Begin::After(3)] {
                let (mut tally, queue) = ten(begin, told_late);
                let left_out = tally.left_out(2000).unwrap();
                let time = if begin == Begin::After(3) { 300 } else { 350 };
                assert_eq!((left_out.time, left_out.requests), (Duration::from_nanos(time), 3));
                // That which was under way then was begun before.
                assert_eq!(left_out.carried, u64::from(time == 350));
                assert_eq!(left_out.held, Duration::from_nanos(3));
                assert_eq!((tally.endpoints[0].ok(), tally.ok, tally.ended()), (7, 7, 10));
                assert_eq!(tally.by_process[&7].latency.count(), 7);
                // The one that waits does so all the time.
                assert_eq!((queue.depth_mean, queue.depth_max), (1.0, 1));
            }
        }
    }

    #[test]
    fn a_warm_up_longer_than_the_run_leaves_nothing() {
        for begin in [Begin::At(5000), Begin::After(11)] {
            let (mut tally, _) = ten(begin, false);
            let left_out = tally.left_out(2000).unwrap();
            assert_eq!((left_out.time, left_out.requests), (Duration::from_nanos(1000), 10));
            assert_eq!(tally.endpoints[0].ok(), 0);
        }
    }

    #[test]
    fn what_clients_did_in_the_warm_up_counts_nowhere() {
        let mut tally = Tally::new(&Workload::from([cpu(ms(1))]), 0, false);
        tally.begin_at(Begin::At(100));
        let mut served = Served::nothing_yet();
        served.demand.service = Duration::from_nanos(7);
        for at in [50, 150, 160] {
            tally.retried(at);
            tally.dropped(at);
            tally.abandoned(at, Some(&served));
            tally.abandoned(at, None);
        }
        let ClientUse { retries, abandoned, demand, discarded } = tally.clients;
        assert_eq!((retries, abandoned, discarded, tally.drops), (2, 2, 2, 2));
        assert_eq!((demand.service, tally.last_abandoned), (Duration::from_nanos(14), 160));
    }
}
