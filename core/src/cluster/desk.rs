//! Which task is where: the master's state, and what each event does to it.
//!
//! Every method changes the state under the lock of [`Shared`](super::shared::Shared) and says in
//! [`Acts`] what is to be done once the lock is released: outcomes told, frames sent. Invariants:
//! an entry has its slot until its outcome stands; it stays until no worker has it any more.

#[cfg(test)]
#[cfg(not(model_check))]
mod tests;

use super::dispatch::{Lanes, WorkerId};
use super::link::Link;
use super::setup::WorkerReport;
use super::slot::{Reply, Slot};
use super::stats::Counts;
use super::wire::{Done, Ended, Frame, Task};
use crate::clock::{self, Nanos};
use crate::executor::{Exit, TaskError};
use bytes::Bytes;
use std::cmp::Reverse;
use std::collections::{BTreeSet, BinaryHeap, HashMap, VecDeque};
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::Notify;

/// So many queued numbers, and so many deadlines, may be of tasks that have ended.
const STALE: usize = 1024;

/// So many workers are remembered that are gone.
const LOST_MAX: usize = 1000;

pub(super) struct Desk {
    pub(super) phase: Phase,
    tasks: HashMap<u64, Entry>,
    next: u64,
    pub(super) lanes: Lanes,
    pub(super) stations: HashMap<WorkerId, Station>,
    /// The template's process, where there is one.
    pub(super) template: Option<u32>,
    /// The handlers that the workers have; unknown before the first is there.
    pub(super) handlers: Option<BTreeSet<String>>,
    /// Tasks that wait for a worker.
    pub(super) queued: usize,
    /// Payloads of all tasks that have not ended.
    pub(super) bytes: usize,
    due: BinaryHeap<Reverse<(Nanos, u64, Due)>>,
    pub(super) counts: Counts,
    /// How the last workers ended, by their processes.
    exits: VecDeque<(u32, Exit)>,
    /// Workers that ended without being told to: number and process.
    pub(super) lost: VecDeque<(u32, u32)>,
    /// The longest result.
    pub(super) payload_max: u64,
    /// From the deadline of a task until its worker is killed.
    pub(super) hang: Duration,
}

/// Whether tasks are accepted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Phase {
    Open,
    Stopping,
    /// There are no workers, and starting them is hopeless: why. It is tried on.
    Broken(String),
    /// The cluster's thread is gone.
    Ended,
}

/// One worker process that serves.
pub(super) struct Station {
    pub(super) number: u32,
    pub(super) pid: u32,
    pub(super) link: Arc<Link>,
    /// Asks for the worker's death.
    pub(super) kill: Arc<Notify>,
    pub(super) draining: bool,
    /// How often it was asked for what it has not begun, and has not answered.
    recalls: u32,
    /// Tasks that it has.
    pub(super) running: u64,
    /// Tasks that it answered with a value.
    pub(super) ok: u64,
    /// Tasks that it answered otherwise.
    pub(super) failed: u64,
    /// Its answer, since it was asked.
    pub(super) report: Option<WorkerReport>,
}

/// A task on its way.
struct Entry {
    /// There until the outcome stands.
    slot: Option<Arc<Slot>>,
    task: Task,
    at: At,
    submitted: Nanos,
    idempotent: bool,
    /// How often it may run again.
    reruns: u32,
    /// Which kept connection it goes over.
    connection: Option<u64>,
    /// Told when its outcome stands before a worker gave one, or its worker is gone; there once it
    /// goes over a connection.
    settled: Option<Arc<Notify>>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum At {
    Queued,
    /// On a connection that no worker has accepted.
    Backlog,
    Worker(WorkerId),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Due {
    Deadline,
    Hang,
}

/// What a submission brings.
pub(super) struct Order {
    pub(super) handler: String,
    pub(super) payload: Bytes,
    pub(super) deadline: Option<Nanos>,
    pub(super) idempotent: bool,
    pub(super) reruns: u32,
    pub(super) connection: Option<u64>,
}

/// What is to be done once the desk's lock is released.
#[derive(Default)]
#[must_use = "an act that is not done is a lost task"]
pub(super) struct Acts {
    outcomes: Vec<(Arc<Slot>, Result<Reply, TaskError>)>,
    /// Links with frames put in.
    links: Vec<Arc<Link>>,
    notified: Vec<Arc<Notify>>,
    /// Tasks for connections of their own.
    pub(super) outgoing: Vec<u64>,
    /// A task left its queue, and no more than that.
    room: bool,
}

impl Desk {
    pub(super) fn new(lanes: Lanes, payload_max: u64, hang: Duration) -> Self {
        Self {
            phase: Phase::Open,
            tasks: HashMap::new(),
            next: 1,
            lanes,
            stations: HashMap::new(),
            template: None,
            handlers: None,
            queued: 0,
            bytes: 0,
            due: BinaryHeap::new(),
            counts: Counts::default(),
            exits: VecDeque::new(),
            lost: VecDeque::new(),
            payload_max,
            hang,
        }
    }

    /// Accepts a task; `slot` makes the place of its outcome from its number. `backlog`: it goes
    /// over a connection instead of a queue.
    pub(super) fn accept(
        &mut self,
        order: Order,
        backlog: bool,
        slot: impl FnOnce(u64) -> Arc<Slot>,
        acts: &mut Acts,
    ) -> (Arc<Slot>, Option<Nanos>) {
        let number = self.next;
        self.next += 1;
        let slot = slot(number);
        let Order { handler, payload, deadline, idempotent, reruns, connection } = order;
        self.bytes += payload.len();
        let task = Task { task: number, deadline: deadline.unwrap_or(0), handler, payload };
        let entry = Entry {
            slot: Some(Arc::clone(&slot)),
            task,
            at: if backlog { At::Backlog } else { At::Queued },
            submitted: clock::now(),
            idempotent,
            reruns,
            connection,
            settled: None,
        };
        self.tasks.insert(number, entry);
        let first = deadline.filter(|at| self.due.peek().is_none_or(|Reverse(due)| *at < due.0));
        if let Some(at) = deadline {
            if self.due.len() > 2 * self.tasks.len() + STALE {
                let tasks = &self.tasks;
                self.due.retain(|Reverse((_, task, _))| tasks.contains_key(task));
            }
            self.due.push(Reverse((at, number, Due::Deadline)));
        }
        self.queued += 1;
        if backlog {
            acts.outgoing.push(number);
        } else if let Some(worker) = self.lanes.submit(number) {
            self.feed(worker, acts);
        }
        (slot, first)
    }

    /// A worker serves.
    pub(super) fn open(&mut self, id: WorkerId, slots: u32, station: Station, acts: &mut Acts) {
        if matches!(self.phase, Phase::Broken(_)) {
            self.phase = Phase::Open;
        }
        self.stations.insert(id, station);
        self.lanes.open(id, slots);
        self.feed_all(acts);
    }

    /// A worker takes no more tasks; it gives back what it has not begun.
    pub(super) fn close(&mut self, id: WorkerId, acts: &mut Acts) {
        let Some(station) = self.stations.get_mut(&id) else { return };
        if !std::mem::replace(&mut station.draining, true) {
            station.recalls += 1;
            acts.send(&station.link, &Frame::Recall);
            acts.send(&station.link, &Frame::Drain);
        }
        self.lanes.close(id);
        self.feed_all(acts);
    }

    /// A worker told that tasks ended.
    pub(super) fn done(&mut self, id: WorkerId, done: Vec<Done>, acts: &mut Acts) {
        for done in done {
            self.done_one(id, done, acts);
        }
        self.feed(id, acts);
        self.recall(acts);
    }

    fn done_one(&mut self, id: WorkerId, done: Done, acts: &mut Acts) {
        // A worker may only speak of what it was given.
        if self.tasks.get(&done.task).is_none_or(|entry| entry.at != At::Worker(id)) {
            return;
        }
        let entry = self.tasks.remove(&done.task).expect("it was there");
        self.bytes -= entry.task.payload.len();
        let ran = (done.timings.started > 0)
            .then(|| done.timings.finished.saturating_sub(done.timings.started));
        self.lanes.ended(id, entry.task.payload.len(), ran.map(Duration::from_nanos));
        let pid = self.stations[&id].pid;
        let outcome = self.outcome(done, pid, entry.submitted, &entry.task.handler);
        let station = self.stations.get_mut(&id).expect("a worker with tasks has a station");
        station.running -= 1;
        if outcome.is_ok() {
            station.ok += 1;
        } else {
            station.failed += 1;
        }
        if let Some(slot) = entry.slot {
            self.counts.count(&outcome);
            acts.outcomes.push((slot, outcome));
        }
    }

    /// A worker gave back tasks that it has not begun; whether it was asked to. One that was not
    /// could do so for ever.
    #[must_use]
    pub(super) fn returned(&mut self, id: WorkerId, tasks: &[u64], acts: &mut Acts) -> bool {
        let recalls = self.stations.get_mut(&id).map(|station| &mut station.recalls);
        let Some(recalls) = recalls.filter(|recalls| **recalls > 0) else { return false };
        *recalls -= 1;
        let mut again = Vec::new();
        for task in tasks {
            let Some(entry) = self.tasks.get_mut(task).filter(|e| e.at == At::Worker(id)) else {
                continue;
            };
            let bytes = entry.task.payload.len();
            self.lanes.ended(id, bytes, None);
            self.stations.get_mut(&id).expect("it has tasks").running -= 1;
            if entry.slot.is_some() {
                entry.at = At::Queued;
                self.queued += 1;
                again.push(*task);
            } else {
                self.bytes -= bytes;
                self.tasks.remove(task);
            }
        }
        self.lanes.recalled(id);
        self.lanes.queue_again(again);
        self.feed_all(acts);
        true
    }

    /// A worker is gone: what it had is lost, or runs again. `announced`: it said that it would end.
    pub(super) fn gone(&mut self, id: WorkerId, exit: Exit, announced: bool, acts: &mut Acts) {
        self.lanes.remove(id);
        let station = self.stations.remove(&id).expect("it had a station until now");
        let pid = station.pid;
        self.exits.push_back((pid, exit));
        if self.exits.len() > LOST_MAX {
            self.exits.pop_front();
        }
        if !station.draining && !announced {
            self.counts.workers_lost += 1;
            self.lost.push_back((station.number, pid));
            if self.lost.len() > LOST_MAX {
                self.lost.pop_front();
            }
        }
        if self.lanes.is_kernels() {
            // What it wrote on its connections may still be there: whoever reads them decides.
            let theirs = self.tasks.values().filter(|entry| entry.at == At::Worker(id));
            acts.notified.extend(theirs.filter_map(|entry| entry.settled.clone()));
            return;
        }
        let theirs = self.tasks.iter().filter(|(_, entry)| entry.at == At::Worker(id));
        let mut theirs: Vec<u64> = theirs.map(|(task, _)| *task).collect();
        // In the order in which they came.
        theirs.sort_unstable();
        let mut again = Vec::new();
        for task in theirs {
            if self.lose(task, pid, exit, acts) {
                self.tasks.get_mut(&task).expect("it may run again").at = At::Queued;
                self.queued += 1;
                again.push(task);
            }
        }
        self.lanes.queue_again(again);
        self.feed_all(acts);
    }

    /// Ends a task without its worker, unless its outcome stands; whether it did.
    pub(super) fn end_task(&mut self, task: u64, error: TaskError, acts: &mut Acts) -> bool {
        let Some(entry) = self.tasks.get_mut(&task) else { return false };
        if entry.slot.is_none() {
            return false;
        }
        match entry.at {
            At::Worker(id) => {
                let slot = entry.slot.take().expect("it was just there");
                if let Some(station) = self.stations.get(&id) {
                    acts.send(&station.link, &Frame::Cancel { task });
                }
                self.settle(slot, error, acts);
            }
            // Somebody may have accepted it, and not been heard yet.
            At::Backlog if entry.settled.is_some() => {
                let slot = entry.slot.take().expect("it was just there");
                acts.notified.extend(entry.settled.clone());
                self.queued -= 1;
                self.settle(slot, error, acts);
            }
            At::Queued | At::Backlog => self.remove(task, error, acts),
        }
        true
    }

    /// Forgets a task and ends it with `error`, unless its outcome stands.
    fn remove(&mut self, task: u64, error: TaskError, acts: &mut Acts) {
        let entry = self.tasks.remove(&task).expect("it was just there");
        self.bytes -= entry.task.payload.len();
        if entry.waits() {
            self.queued -= 1;
            if self.lanes.queued() > 2 * self.queued + STALE {
                let tasks = &self.tasks;
                self.lanes.retain(|task| tasks.contains_key(&task));
            }
        }
        if let Some(slot) = entry.slot {
            self.settle(slot, error, acts);
        }
    }

    fn settle(&mut self, slot: Arc<Slot>, error: TaskError, acts: &mut Acts) {
        let outcome = Err(error);
        self.counts.count(&outcome);
        acts.outcomes.push((slot, outcome));
    }

    /// Ends every task that has no outcome.
    pub(super) fn end_all(&mut self, error: &TaskError, acts: &mut Acts) -> u64 {
        let open: Vec<u64> =
            self.tasks.iter().filter(|(_, e)| e.slot.is_some()).map(|(task, _)| *task).collect();
        for task in &open {
            self.end_task(*task, error.clone(), acts);
        }
        open.len() as u64
    }

    /// Ends tasks whose deadline has come, and workers that hang in one.
    pub(super) fn expire(&mut self, now: Nanos, acts: &mut Acts) -> Option<Nanos> {
        while let Some(Reverse((at, task, due))) = self.due.peek().copied() {
            if at > now {
                return Some(at);
            }
            self.due.pop();
            match due {
                Due::Deadline => {
                    if self.end_task(task, TaskError::TimedOut, acts)
                        && self.tasks.contains_key(&task)
                    {
                        let hang = at.saturating_add(clock::nanos(self.hang));
                        self.due.push(Reverse((hang, task, Due::Hang)));
                    }
                }
                Due::Hang => {
                    if let Some(At::Worker(id)) = self.tasks.get(&task).map(|entry| entry.at)
                        && let Some(station) = self.stations.get(&id)
                    {
                        tracing::warn!(target: "gvl_lab::cluster", pid = station.pid, task, "hangs");
                        acts.notified.push(Arc::clone(&station.kill));
                    }
                }
            }
        }
        None
    }

    /// Whether the outcome of a task is likely to come sooner than a thread falls asleep and wakes:
    /// its worker has no other, and its tasks are short.
    pub(super) fn is_near(&self, task: u64) -> bool {
        let Some(At::Worker(id)) = self.tasks.get(&task).map(|entry| entry.at) else {
            return false;
        };
        let is_alone = self.stations.get(&id).is_some_and(|station| station.running == 1);
        is_alone && self.lanes.is_quick(id)
    }

    /// Whether a worker was told to end.
    pub(super) fn is_draining(&self, id: WorkerId) -> bool {
        self.stations.get(&id).is_none_or(|station| station.draining)
    }

    /// Asks every worker for its report.
    pub(super) fn ask(&mut self, acts: &mut Acts) {
        for station in self.stations.values_mut() {
            station.report = None;
            acts.send(&station.link, &Frame::Ask);
        }
    }

    /// A worker reported; what is no report counts as an empty one.
    pub(super) fn reported(&mut self, id: WorkerId, report: Option<WorkerReport>) {
        if let Some(station) = self.stations.get_mut(&id) {
            station.report = Some(report.unwrap_or_default());
        }
    }

    /// Whether any task has no outcome.
    pub(super) fn has_open(&self) -> bool {
        self.tasks.values().any(|entry| entry.slot.is_some())
    }

    /// Sends a worker what it has room for.
    fn feed(&mut self, id: WorkerId, acts: &mut Acts) {
        let Some(station) = self.stations.get_mut(&id) else { return };
        while let Some(task) = self.lanes.take(id) {
            let entry = self.tasks.get_mut(&task);
            let Some(entry) = entry.filter(|entry| entry.at == At::Queued) else {
                self.lanes.sent(id, None);
                continue;
            };
            self.lanes.sent(id, Some(entry.task.payload.len()));
            entry.at = At::Worker(id);
            self.queued -= 1;
            station.running += 1;
            acts.send(&station.link, &Frame::Task(entry.task.clone()));
        }
    }

    fn feed_all(&mut self, acts: &mut Acts) {
        for id in self.lanes.with_room() {
            self.feed(id, acts);
        }
    }

    fn recall(&mut self, acts: &mut Acts) {
        if let Some(id) = self.lanes.recall()
            && let Some(station) = self.stations.get_mut(&id)
        {
            station.recalls += 1;
            acts.send(&station.link, &Frame::Recall);
        }
    }

    /// Which connection a task goes over, if that is kept.
    pub(super) fn connection(&self, task: u64) -> Option<u64> {
        self.tasks.get(&task)?.connection
    }

    /// The frame of a task that is about to be sent over a connection, and what tells that its
    /// outcome stands or its worker is gone. `None`: it has ended, and is forgotten.
    pub(super) fn outgoing(&mut self, task: u64, acts: &mut Acts) -> Option<(Frame, Arc<Notify>)> {
        let entry = self.tasks.get_mut(&task)?;
        if entry.slot.is_none() {
            self.remove(task, TaskError::Cancelled, acts);
            return None;
        }
        // Of this connection alone: what was told of the one before is over.
        let settled = Arc::default();
        entry.settled = Some(Arc::clone(&settled));
        Some((Frame::Task(entry.task.clone()), settled))
    }

    /// A worker has read a task from its connection, and begins it. One that nobody knows yet, since
    /// its own hello is still to be read, is found by its process when it answers or is lost.
    pub(super) fn accepted(&mut self, task: u64, pid: u32, acts: &mut Acts) {
        if let Some(entry) = self.tasks.get_mut(&task).filter(|entry| entry.at == At::Backlog)
            && let Some((id, station)) = self.stations.iter_mut().find(|(_, s)| s.pid == pid)
        {
            if entry.waits() {
                self.queued -= 1;
                acts.room = true;
            } else {
                acts.send(&station.link, &Frame::Cancel { task });
            }
            entry.at = At::Worker(*id);
            station.running += 1;
            self.lanes.given(*id, entry.task.payload.len());
        }
    }

    /// Nobody will say any more what became of a task.
    pub(super) fn abandon(&mut self, task: u64, error: TaskError, acts: &mut Acts) {
        let Some(entry) = self.tasks.get(&task) else { return };
        if let At::Worker(id) = entry.at
            && let Some(station) = self.stations.get_mut(&id)
        {
            station.running -= 1;
            self.lanes.ended(id, entry.task.payload.len(), None);
        }
        self.remove(task, error, acts);
    }

    /// A task's worker is gone: the task is lost, or may run again, which is given back.
    fn lose(&mut self, task: u64, pid: u32, exit: Exit, acts: &mut Acts) -> bool {
        let entry = self.tasks.get_mut(&task).expect("it was just there");
        let again = entry.slot.is_some() && entry.idempotent && entry.reruns > 0;
        if again {
            entry.reruns -= 1;
            self.counts.reruns += 1;
        } else {
            self.remove(task, TaskError::WorkerLost { pid, exit }, acts);
        }
        again
    }
}

impl Desk {
    /// Whether the worker that began a task is gone.
    pub(super) fn is_forsaken(&self, task: u64) -> bool {
        self.tasks.get(&task).is_some_and(|entry| match entry.at {
            At::Worker(id) => !self.stations.contains_key(&id),
            At::Queued | At::Backlog => false,
        })
    }

    /// The connection of a task that the process `pid` had begun has ended without an answer. Whether
    /// it is decided what becomes of it: not while that process is there.
    pub(super) fn hung_up(&mut self, task: u64, pid: u32, acts: &mut Acts) -> bool {
        if !self.tasks.contains_key(&task) {
            return true;
        }
        let Some(exit) = self.exit_of(pid) else { return false };
        if self.lose(task, pid, exit, acts) {
            let entry = self.tasks.get_mut(&task).expect("it may run again");
            if std::mem::replace(&mut entry.at, At::Backlog) != At::Backlog {
                self.queued += 1;
            }
        }
        true
    }

    fn exit_of(&self, pid: u32) -> Option<Exit> {
        self.exits.iter().rev().find(|(gone, _)| *gone == pid).map(|(_, exit)| *exit)
    }

    /// The worker `pid` told on a task's connection that it ended. Its answer counts, whether or not
    /// the worker is gone meanwhile.
    pub(super) fn answered(&mut self, done: Done, pid: u32, acts: &mut Acts) {
        match self.tasks.get(&done.task).map(|entry| entry.at) {
            Some(At::Worker(id)) if self.stations.contains_key(&id) => {
                self.done(id, vec![done], acts);
            }
            Some(At::Worker(_) | At::Backlog) => {
                let entry = self.tasks.remove(&done.task).expect("it was just there");
                self.bytes -= entry.task.payload.len();
                self.queued -= usize::from(entry.waits());
                if let Some(slot) = entry.slot {
                    let outcome = self.outcome(done, pid, entry.submitted, &entry.task.handler);
                    self.counts.count(&outcome);
                    acts.outcomes.push((slot, outcome));
                }
            }
            Some(At::Queued) | None => {}
        }
    }

    /// What a worker's answer comes to.
    fn outcome(
        &self,
        done: Done,
        pid: u32,
        submitted: Nanos,
        handler: &str,
    ) -> Result<Reply, TaskError> {
        match done.ended {
            // Where payloads are short, a frame has room for more.
            Ended::Ok(bytes) if bytes.len() as u64 > self.payload_max => {
                Err(TaskError::TooLarge { size: bytes.len() as u64, limit: self.payload_max })
            }
            Ended::Ok(bytes) => Ok(Reply { bytes, pid, submitted, timings: done.timings }),
            Ended::Failed(why) => Err(TaskError::Failed(why)),
            Ended::Panicked(message) => Err(TaskError::Panicked(message)),
            Ended::Cancelled => Err(TaskError::Cancelled),
            Ended::TimedOut => Err(TaskError::TimedOut),
            Ended::TooLarge { size } => Err(TaskError::TooLarge { size, limit: self.payload_max }),
            Ended::NoHandler => {
                Err(TaskError::Failed(format!("worker {pid} has no handler {handler:?}")))
            }
        }
    }
}

impl Entry {
    /// Whether somebody wants it that no worker has.
    fn waits(&self) -> bool {
        self.slot.is_some() && !matches!(self.at, At::Worker(_))
    }
}

impl Station {
    pub(super) fn new(number: u32, pid: u32, link: &Arc<Link>, kill: &Arc<Notify>) -> Self {
        let (link, kill) = (Arc::clone(link), Arc::clone(kill));
        let (draining, recalls, running, ok, failed, report) = (false, 0, 0, 0, 0, None);
        Self { number, pid, link, kill, draining, recalls, running, ok, failed, report }
    }
}

impl Acts {
    /// Puts a frame in the line of a link, which is flushed later.
    pub(super) fn send(&mut self, link: &Arc<Link>, frame: &Frame) {
        link.put(frame);
        if !self.links.iter().any(|known| Arc::ptr_eq(known, link)) {
            self.links.push(Arc::clone(link));
        }
    }

    /// Does it. The lock is released; wakers are code of others.
    pub(super) fn run(self) {
        self.links.iter().for_each(|link| link.flush());
        self.notified.iter().for_each(|notify| notify.notify_one());
        for (slot, outcome) in self.outcomes {
            slot.settle(outcome);
        }
    }

    /// Whether any task ended or left its queue.
    pub(super) fn made_room(&self) -> bool {
        self.room || !(self.outcomes.is_empty() && self.links.is_empty())
    }
}
