//! What submitters, handles and the cluster's thread share.

use super::desk::{Acts, Desk, Order, Phase};
use super::slot::{Reply, Slot, Then};
use crate::clock;
use crate::executor::{JoinHandle, RejectedWhy, TaskError, WhenFull, released};
use parking_lot::{Condvar, Mutex, MutexGuard};
use std::collections::HashSet;
use std::sync::{Arc, OnceLock, Weak};
use std::thread::ThreadId;
use std::time::Instant;
use tokio::sync::Notify;
use tokio::sync::mpsc::UnboundedSender;

pub(super) struct Shared {
    /// Guards: each accepted task is queued, at one worker, or ended.
    desk: Mutex<Desk>,
    /// Told when there may be room, a task ended, or a worker came or went.
    changed: Condvar,
    /// Told when the next deadline is sooner than it was.
    pub(super) sooner: Notify,
    /// Told when nothing more is accepted.
    pub(super) stopping: Notify,
    /// The cluster's thread.
    thread: OnceLock<ThreadId>,
    /// Tasks for connections of their own, where workers accept.
    outgoing: Option<UnboundedSender<u64>>,
    /// Guards nothing but itself: kept connections that are not used again.
    parted: Mutex<HashSet<u64>>,
    /// The most tasks that wait for a worker, and the most bytes of all that have not ended.
    capacity: usize,
    bytes_max: usize,
    when_full: WhenFull,
}

impl Shared {
    pub(super) fn new(
        desk: Desk,
        outgoing: Option<UnboundedSender<u64>>,
        (capacity, bytes_max, when_full): (usize, usize, WhenFull),
    ) -> Self {
        Self {
            desk: Mutex::new(desk),
            changed: Condvar::new(),
            sooner: Notify::new(),
            stopping: Notify::new(),
            thread: OnceLock::new(),
            outgoing,
            parted: Mutex::default(),
            capacity,
            bytes_max,
            when_full,
        }
    }

    /// The calling thread is the cluster's.
    pub(super) fn is_here(&self) {
        self.thread.get_or_init(|| std::thread::current().id());
    }

    /// Whether the calling thread is the cluster's, which can wait for nothing.
    pub(super) fn is_own_thread(&self) -> bool {
        self.thread.get() == Some(&std::thread::current().id())
    }

    /// Changes the desk, and does what follows from it.
    pub(super) fn change<R>(&self, change: impl FnOnce(&mut Desk, &mut Acts) -> R) -> R {
        let mut acts = Acts::default();
        let mut desk = self.desk.lock();
        let result = change(&mut desk, &mut acts);
        drop(desk);
        self.perform(acts);
        result
    }

    /// A kept connection is not used again.
    pub(super) fn part(&self, key: u64) {
        self.parted.lock().insert(key);
    }

    /// Whether a kept connection is not used again; told once.
    pub(super) fn has_parted(&self, key: u64) -> bool {
        self.parted.lock().remove(&key)
    }

    /// Looks at the desk.
    pub(super) fn look<R>(&self, look: impl FnOnce(&mut Desk) -> R) -> R {
        look(&mut self.desk.lock())
    }

    fn perform(&self, mut acts: Acts) {
        let made_room = acts.made_room();
        if let Some(outgoing) = &self.outgoing {
            // The cluster's thread has ended where nobody takes them: every task has, too.
            for task in acts.outgoing.drain(..) {
                let _ = outgoing.send(task);
            }
        }
        acts.run();
        if made_room {
            self.changed.notify_all();
        }
    }

    /// Accepts nothing more.
    pub(super) fn stop(&self) {
        let mut desk = self.desk.lock();
        if desk.phase != Phase::Ended {
            desk.phase = Phase::Stopping;
        }
        drop(desk);
        self.stopping.notify_one();
        self.changed.notify_all();
    }

    /// Tells those who wait for a change that is no task's.
    pub(super) fn tell(&self) {
        self.changed.notify_all();
    }

    /// Waits until `ready` gives something, or the time has come. The global lock of an executor
    /// whose task waits is released.
    pub(super) fn wait<R>(
        &self,
        until: Option<Instant>,
        mut ready: impl FnMut(&mut Desk) -> Option<R>,
    ) -> Option<R> {
        let mut desk = self.desk.lock();
        if let Some(result) = ready(&mut desk) {
            return Some(result);
        }
        drop(desk);
        released(|| {
            let mut desk = self.desk.lock();
            loop {
                if let Some(result) = ready(&mut desk) {
                    return Some(result);
                }
                match until {
                    None => self.changed.wait(&mut desk),
                    Some(until) if self.changed.wait_until(&mut desk, until).timed_out() => {
                        return ready(&mut desk);
                    }
                    Some(_) => {}
                }
            }
        })
    }

    /// Accepts a task, whose outcome goes to the handle or to `then`; gives the order back with the
    /// reason where it does not.
    pub(super) fn submit(
        self: &Arc<Self>,
        order: Order,
        then: Option<Then>,
    ) -> Result<JoinHandle<Reply>, (RejectedWhy, Order)> {
        let mut desk = self.desk.lock();
        loop {
            if let Some(why) = refusal(&desk, &order) {
                desk.counts.rejected += 1;
                return Err((why, order));
            }
            if self.has_room(&desk, &order) {
                break;
            }
            if self.is_own_thread() {
                desk.counts.rejected += 1;
                return Err((RejectedWhy::WouldDeadlock, order));
            }
            if self.when_full == WhenFull::Reject {
                desk.counts.rejected += 1;
                return Err((RejectedWhy::Full, order));
            }
            MutexGuard::unlocked(&mut desk, || {
                self.wait(None, |desk| {
                    (self.has_room(desk, &order) || desk.phase != Phase::Open).then_some(())
                })
            });
        }
        let mut acts = Acts::default();
        let cluster = Arc::downgrade(self);
        let slot = |task| Arc::new(Slot::new(task, Weak::clone(&cluster), then));
        let (slot, first) = desk.accept(order, self.outgoing.is_some(), slot, &mut acts);
        drop(desk);
        if first.is_some() {
            self.sooner.notify_one();
        }
        self.perform(acts);
        Ok(JoinHandle::of_task(slot))
    }

    /// Whether a task may come: one is always let in where there is none, however long.
    fn has_room(&self, desk: &Desk, order: &Order) -> bool {
        desk.queued < self.capacity
            && (desk.bytes + order.payload.len() <= self.bytes_max || desk.bytes == 0)
    }

    /// Ends a task without its worker, unless its outcome stands; whether it did.
    pub(super) fn end_task(&self, task: u64, error: TaskError) -> bool {
        self.change(|desk, acts| desk.end_task(task, error, acts))
    }

    /// Ends what is late; when to look again, if there is anything to wait for.
    pub(super) fn expire(&self) -> Option<Instant> {
        self.change(|desk, acts| desk.expire(clock::now(), acts)).map(clock::instant)
    }
}

/// Why a task can never be accepted now.
fn refusal(desk: &Desk, order: &Order) -> Option<RejectedWhy> {
    let size = order.payload.len() as u64;
    match &desk.phase {
        Phase::Stopping | Phase::Ended => Some(RejectedWhy::ShutDown),
        Phase::Broken(_) => Some(RejectedWhy::NoWorkers),
        Phase::Open if size > desk.payload_max => {
            Some(RejectedWhy::TooLarge { size, limit: desk.payload_max })
        }
        Phase::Open => {
            let known = desk.handlers.as_ref().is_none_or(|all| all.contains(&order.handler));
            (!known).then_some(RejectedWhy::NoHandler)
        }
    }
}
