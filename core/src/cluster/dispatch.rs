//! Which worker gets which task, as a pure state machine.
//!
//! Driven by `desk` under its lock; tasks are numbers here. A worker has so many tasks at once as
//! it has slots, and a few more where tasks are so short that the way to the worker would be longer
//! than they are. Invariants: a task is in one queue, or counted as sent, or unknown here; where
//! the shared queue is not empty, no open lane has room.

use super::balance;
use std::collections::VecDeque;
use std::time::Duration;

/// A worker process; a replacement is another one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) struct WorkerId(pub(super) u64);

/// How tasks find their worker.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Dispatch {
    /// One queue in the master; a worker takes the next task when it has a free slot.
    #[default]
    SharedQueue,
    /// Each task goes at once to the worker that has the fewest, per slot; those that have as few
    /// take turns.
    LeastBusy,
    /// Each task goes at once to the next worker in turn.
    RoundRobin,
    /// Workers accept connections from one listening socket, and the kernel decides.
    KernelAccept(super::accept::Accept),
}

/// How much work a worker may have waiting in front of its slots, by the time that it takes.
const AHEAD: Duration = Duration::from_micros(200);

/// The most tasks that a worker may have waiting in front of its slots.
const AHEAD_MAX: u64 = 128;

/// The most bytes that a worker may have waiting in front of its slots.
const AHEAD_BYTES: usize = 1 << 20;

/// A task that runs shorter ends before a thread has fallen asleep and woken again.
const QUICK: Duration = Duration::from_micros(20);

#[derive(Debug)]
pub(super) struct Lanes {
    mode: Dispatch,
    /// The queue of all; in the modes that assign at once only what finds no open lane.
    shared: VecDeque<u64>,
    lanes: Vec<Lane>,
    /// Whose turn it is.
    turn: usize,
}

/// One worker.
#[derive(Debug)]
struct Lane {
    id: WorkerId,
    slots: u32,
    sent: u32,
    sent_bytes: usize,
    /// Assigned to it and not sent.
    own: VecDeque<u64>,
    /// Takes new tasks.
    open: bool,
    /// How long its tasks run, in nanoseconds, of late; nothing before the first has ended.
    run_ns: Option<u64>,
    /// Was asked to give back what has not begun, and has not answered.
    recalled: bool,
    /// How near its turn is among those with as few tasks.
    turn: i64,
}

impl Lanes {
    pub(super) fn new(mode: Dispatch) -> Self {
        Self { mode, shared: VecDeque::new(), lanes: Vec::new(), turn: 0 }
    }

    /// A worker is ready to take tasks.
    pub(super) fn open(&mut self, id: WorkerId, slots: u32) {
        self.lanes.push(Lane {
            id,
            slots: slots.max(1),
            sent: 0,
            sent_bytes: 0,
            own: VecDeque::new(),
            open: true,
            run_ns: None,
            recalled: false,
            turn: 0,
        });
        if self.assigns() {
            let waiting: Vec<_> = self.shared.drain(..).collect();
            waiting.into_iter().for_each(|task| self.assign(task));
        }
    }

    /// A worker takes no more tasks; what was assigned to it moves.
    pub(super) fn close(&mut self, id: WorkerId) {
        let Some(lane) = self.lane(id) else { return };
        lane.open = false;
        let own = std::mem::take(&mut lane.own);
        self.queue_again(own);
    }

    /// A worker is gone.
    pub(super) fn remove(&mut self, id: WorkerId) {
        self.close(id);
        self.lanes.retain(|lane| lane.id != id);
    }

    /// Queues a task; the worker that may have room for one now.
    pub(super) fn submit(&mut self, task: u64) -> Option<WorkerId> {
        if self.assigns() {
            self.assign(task);
            let lane = self.lanes.iter().find(|lane| lane.own.back() == Some(&task))?;
            return lane.has_room().then_some(lane.id);
        }
        let was_empty = self.shared.is_empty();
        self.shared.push_back(task);
        // With a queue before it nobody had room.
        if was_empty { self.idlest() } else { None }
    }

    /// Queues tasks that did not run, in front of the others and in their order.
    pub(super) fn queue_again(&mut self, tasks: impl IntoIterator<Item = u64>) {
        let tasks: Vec<_> = tasks.into_iter().collect();
        tasks.into_iter().rev().for_each(|task| self.shared.push_front(task));
        if self.assigns() && self.lanes.iter().any(|lane| lane.open) {
            let waiting = std::mem::take(&mut self.shared);
            waiting.into_iter().for_each(|task| self.assign(task));
        }
    }

    /// The next task for a worker that has room; it counts as sent from here on.
    pub(super) fn take(&mut self, id: WorkerId) -> Option<u64> {
        let place = self.lanes.iter().position(|lane| lane.id == id)?;
        let lane = &mut self.lanes[place];
        if !lane.has_room() {
            return None;
        }
        let task = lane.own.pop_front().or_else(|| self.shared.pop_front())?;
        lane.sent += 1;
        Some(task)
    }

    /// What was taken turned out to be so long; nought where the task is no more.
    pub(super) fn sent(&mut self, id: WorkerId, bytes: Option<usize>) {
        let Some(lane) = self.lane(id) else { return };
        match bytes {
            Some(bytes) => lane.sent_bytes += bytes,
            None => lane.sent -= 1,
        }
    }

    /// A task of that many bytes came back from a worker: it ran for so long, or not at all.
    pub(super) fn ended(&mut self, id: WorkerId, bytes: usize, ran: Option<Duration>) {
        let Some(lane) = self.lane(id) else { return };
        lane.sent -= 1;
        lane.sent_bytes -= bytes;
        if let Some(ran) = ran {
            let ran = crate::clock::nanos(ran);
            // The last eight count for most of it.
            lane.run_ns = Some(lane.run_ns.map_or(ran, |mean| mean - mean / 8 + ran / 8));
        }
    }

    /// Whether a worker's tasks were so short of late that to sleep would take longer.
    pub(super) fn is_quick(&self, id: WorkerId) -> bool {
        let lane = self.lanes.iter().find(|lane| lane.id == id);
        lane.and_then(|lane| lane.run_ns).is_some_and(|ns| u128::from(ns) < QUICK.as_nanos())
    }

    /// A worker to ask for what it has not begun, since another one has nothing to do.
    pub(super) fn recall(&mut self) -> Option<WorkerId> {
        let idle = |lane: &Lane| lane.open && lane.sent < lane.slots && lane.own.is_empty();
        if self.assigns() || !self.shared.is_empty() || !self.lanes.iter().any(idle) {
            return None;
        }
        let fullest = self.lanes.iter_mut().max_by_key(|lane| lane.sent.saturating_sub(lane.slots));
        let lane = fullest.filter(|lane| lane.sent > lane.slots && !lane.recalled)?;
        lane.recalled = true;
        Some(lane.id)
    }

    /// A worker has given back what it had not begun.
    pub(super) fn recalled(&mut self, id: WorkerId) {
        if let Some(lane) = self.lane(id) {
            lane.recalled = false;
            // Whatever it is busy with is no short task.
            lane.run_ns = None;
        }
    }

    /// Workers that have room, where there is something for them.
    pub(super) fn with_room(&self) -> Vec<WorkerId> {
        let hungry =
            |lane: &&Lane| lane.has_room() && !(lane.own.is_empty() && self.shared.is_empty());
        self.lanes.iter().filter(hungry).map(|lane| lane.id).collect()
    }

    /// Tasks in the queues, those that are no more included.
    pub(super) fn queued(&self) -> usize {
        self.shared.len() + self.lanes.iter().map(|lane| lane.own.len()).sum::<usize>()
    }

    /// Forgets queued tasks that are no more.
    pub(super) fn retain(&mut self, is_there: impl Fn(u64) -> bool) {
        self.shared.retain(|task| is_there(*task));
        self.lanes.iter_mut().for_each(|lane| lane.own.retain(|task| is_there(*task)));
    }

    /// A worker took a task by itself.
    pub(super) fn given(&mut self, id: WorkerId, bytes: usize) {
        if let Some(lane) = self.lane(id) {
            lane.sent += 1;
            lane.sent_bytes += bytes;
        }
    }

    /// Whether the kernel decides who gets a task.
    pub(super) fn is_kernels(&self) -> bool {
        matches!(self.mode, Dispatch::KernelAccept(_))
    }

    /// Whether tasks get their worker as they come.
    fn assigns(&self) -> bool {
        matches!(self.mode, Dispatch::LeastBusy | Dispatch::RoundRobin)
    }

    fn assign(&mut self, task: u64) {
        let open = || (0..self.lanes.len()).filter(|n| self.lanes[*n].open);
        let place = match self.mode {
            Dispatch::RoundRobin => {
                let next = open().find(|n| *n >= self.turn).or_else(|| open().next());
                self.turn = next.map_or(0, |n| n + 1);
                next
            }
            _ => {
                let least = open().map(|n| self.lanes[n].load()).min_by(f64::total_cmp);
                let fewest = |lane: &Lane| lane.open && Some(lane.load()) == least;
                let lanes = self.lanes.iter_mut().enumerate();
                let ties = lanes.filter(|(_, lane)| fewest(lane));
                balance::smooth(ties.map(|(n, lane)| (n, 1, &mut lane.turn)))
            }
        };
        match place {
            Some(n) => self.lanes[n].own.push_back(task),
            None => self.shared.push_back(task),
        }
    }

    /// The open worker with room that has the fewest tasks for each of its slots.
    fn idlest(&self) -> Option<WorkerId> {
        let open = self.lanes.iter().filter(|lane| lane.has_room());
        open.min_by(|a, b| a.load().total_cmp(&b.load())).map(|lane| lane.id)
    }

    fn lane(&mut self, id: WorkerId) -> Option<&mut Lane> {
        self.lanes.iter_mut().find(|lane| lane.id == id)
    }
}

impl Lane {
    fn has_room(&self) -> bool {
        self.open
            && (self.sent < self.slots
                || self.sent < self.slots + self.ahead() && self.sent_bytes < AHEAD_BYTES)
    }

    /// How many tasks may wait in front of the slots.
    fn ahead(&self) -> u32 {
        let run_ns = self.run_ns.filter(|_| !self.recalled);
        run_ns.map_or(0, |ns| (AHEAD.as_nanos() as u64 / ns.max(1)).min(AHEAD_MAX) as u32)
    }

    /// Tasks for each slot.
    fn load(&self) -> f64 {
        (f64::from(self.sent) + self.own.len() as f64) / f64::from(self.slots)
    }
}

#[cfg(test)]
#[cfg(not(model_check))]
mod tests {
    use super::*;

    const A: WorkerId = WorkerId(1);
    const B: WorkerId = WorkerId(2);

    fn two(mode: Dispatch, slots: u32) -> Lanes {
        let mut lanes = Lanes::new(mode);
        lanes.open(A, slots);
        lanes.open(B, slots);
        lanes
    }

    /// Submits and sends what can be sent; which worker got each task, if any.
    fn submit(lanes: &mut Lanes, tasks: std::ops::Range<u64>) -> Vec<Option<WorkerId>> {
        let mut send = |task| {
            let id = lanes.submit(task)?;
            assert_eq!(lanes.take(id), Some(task));
            lanes.sent(id, Some(10));
            Some(id)
        };
        tasks.map(&mut send).collect()
    }

    #[test]
    fn the_shared_queue_feeds_whoever_has_a_free_slot() {
        let mut lanes = two(Dispatch::SharedQueue, 1);
        assert_eq!(submit(&mut lanes, 0..4), [Some(A), Some(B), None, None]);
        assert_eq!(lanes.queued(), 2);
        lanes.ended(B, 10, Some(Duration::from_millis(5)));
        assert_eq!(lanes.with_room(), [B]);
        assert_eq!((lanes.take(A), lanes.take(B), lanes.take(B)), (None, Some(2), None));
    }

    #[test]
    fn the_least_busy_worker_gets_the_task_and_keeps_it() {
        let mut lanes = two(Dispatch::LeastBusy, 1);
        assert_eq!(submit(&mut lanes, 0..4), [Some(A), Some(B), None, None]);
        lanes.ended(A, 10, None);
        // Task 2 is B's, whose turn it was, though A is free sooner.
        assert_eq!((lanes.take(A), lanes.take(A)), (Some(3), None));
        lanes.ended(B, 10, None);
        assert_eq!(lanes.take(B), Some(2));
    }

    #[test]
    fn round_robin_goes_round() {
        let mut lanes = two(Dispatch::RoundRobin, 3);
        assert_eq!(submit(&mut lanes, 0..4), [Some(A), Some(B), Some(A), Some(B)]);
    }

    #[test]
    fn what_was_assigned_to_a_worker_moves_when_it_closes() {
        for mode in [Dispatch::LeastBusy, Dispatch::RoundRobin] {
            let mut lanes = two(mode, 1);
            submit(&mut lanes, 0..6);
            lanes.remove(A);
            lanes.ended(B, 10, None);
            let mut left = Vec::new();
            while let Some(task) = lanes.take(B) {
                left.push(task);
                lanes.sent(B, Some(10));
                lanes.ended(B, 10, None);
            }
            left.sort_unstable();
            assert_eq!(left, [2, 3, 4, 5], "{mode:?}");
        }
    }

    #[test]
    fn tasks_wait_for_the_first_worker() {
        for mode in [Dispatch::SharedQueue, Dispatch::LeastBusy, Dispatch::RoundRobin] {
            let mut lanes = Lanes::new(mode);
            assert_eq!(lanes.submit(7), None);
            lanes.open(A, 1);
            assert_eq!((lanes.with_room(), lanes.take(A)), (vec![A], Some(7)), "{mode:?}");
        }
    }

    #[test]
    fn a_worker_of_short_tasks_gets_some_ahead_and_gives_them_back() {
        let mut lanes = two(Dispatch::SharedQueue, 1);
        submit(&mut lanes, 0..100);
        lanes.ended(A, 10, Some(Duration::from_micros(20)));
        let taken: Vec<_> = std::iter::from_fn(|| {
            let task = lanes.take(A);
            lanes.sent(A, task.map(|_| 10).or(Some(0)));
            task
        })
        .collect();
        assert_eq!(taken.len(), 11, "one slot, and 200 us of tasks of 20 us");
        // B runs dry while A has tasks in front of its slot.
        lanes.shared.clear();
        assert_eq!(lanes.recall(), None);
        lanes.ended(B, 10, None);
        assert_eq!((lanes.recall(), lanes.recall()), (Some(A), None));
        taken[1..].iter().for_each(|_| lanes.ended(A, 10, None));
        lanes.recalled(A);
        lanes.queue_again(taken[1..].iter().copied());
        assert_eq!((lanes.take(B), lanes.take(A)), (Some(taken[1]), None));
    }

    #[test]
    fn tasks_that_are_no_more_are_forgotten() {
        let mut lanes = two(Dispatch::LeastBusy, 1);
        submit(&mut lanes, 0..10);
        lanes.retain(|task| task >= 8);
        assert_eq!(lanes.queued(), 2);
    }
}
