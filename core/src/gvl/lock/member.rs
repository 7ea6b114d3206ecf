//! A thread's side of the lock: taking it, giving it back, and what it did with it.

use super::shared::{Life, Seat, Shared, State};
use crate::clock::{self, Nanos};
use crate::gvl::account::{Phase, ThreadUsage, Usage};
use crate::gvl::event::{Event, EventKind};
use crate::gvl::policy::{Decision, Leave, Step, ThreadId};
use crate::sync::{Arc, Ordering};
use std::cell::Cell;
use std::marker::PhantomData;
use tracing::level_filters::LevelFilter;

/// A thread's membership of a [`Lock`](super::Lock); it stays on the thread that joined.
#[derive(Debug)]
pub struct Member {
    /// What `_life` keeps, one step nearer: it is on the way of each acquisition.
    pub(super) shared: Arc<Shared>,
    pub(super) _life: Arc<Life>,
    pub(super) seat: Arc<Seat>,
    pub(super) id: ThreadId,
    pub(super) inside: Cell<bool>,
    /// What the lock's word is after this thread freed it, if nobody came since: taking and
    /// freeing try it first, and need not read the word, which would wait for the last write.
    pub(super) left: Cell<u64>,
    pub(super) on_this_thread: PhantomData<*const ()>,
}

/// Holds the lock until it is dropped.
#[derive(Debug)]
#[must_use = "the lock is released when this is dropped"]
pub struct Held<'m> {
    member: &'m Member,
}

/// How many departed threads' accounts are kept one by one; more are added up in the last.
pub(super) const DEPARTED_MAX: usize = 256;

impl Member {
    /// Takes the lock, waiting for its turn.
    ///
    /// # Panics
    /// When this thread holds it already.
    #[inline]
    pub fn acquire(&self) -> Held<'_> {
        self.enter();
        Held { member: self }
    }

    /// This thread's account so far.
    pub fn usage(&self) -> Usage {
        self.seat.account.usage(self.shared().now())
    }

    /// The thread's number in its lock.
    pub fn id(&self) -> ThreadId {
        self.id
    }

    /// Takes the lock; [`Member::exit`] gives it back. Gives the time when holding began, nought
    /// where neither accounts nor hooks want it.
    #[inline]
    pub(crate) fn enter(&self) -> Nanos {
        assert!(!self.inside.replace(true), "the thread holds its lock already");
        let shared = self.shared();
        let observed = self.is_observed();
        let asked = if shared.accounting || observed { self.ask(observed) } else { 0 };
        if shared.exclusive && !shared.try_take(self.id, &self.left) {
            return self.enter_late(asked);
        }
        // The lock was free: holding begins when it was asked for, without a look at the clock.
        if shared.accounting {
            self.seat.account.enter(Phase::Holding, asked);
            self.seat.account.count_acquisition(false);
        }
        if observed {
            self.tell(EventKind::Resumed, asked, 0);
        }
        asked
    }

    /// The lock was not free: waits for its turn.
    #[cold]
    fn enter_late(&self, asked: Nanos) -> Nanos {
        if self.shared().accounting {
            self.seat.account.enter(Phase::Waiting, asked);
        }
        self.wait_for_turn(|state, id, now| state.sched.acquire(id, now));
        self.resume(asked)
    }

    /// Gives the lock back, and the time when holding ended as [`Member::enter`] does.
    #[inline]
    pub(crate) fn exit(&self, how: Leave) -> Nanos {
        assert!(self.inside.replace(false), "the thread does not hold its lock");
        let now = self.mark(Phase::Blocked, EventKind::Suspended, 0);
        if self.shared().exclusive && !self.shared().try_leave(self.id, &self.left) {
            self.wait_for_turn(|state, id, now| state.sched.leave(id, how, now));
        }
        now
    }

    /// Runs `region` with the lock released; takes it again afterwards, also when it panics.
    pub(crate) fn blocking<R>(&self, region: impl FnOnce() -> R) -> R {
        struct Back<'m>(&'m Member);
        impl Drop for Back<'_> {
            fn drop(&mut self) {
                self.0.enter();
            }
        }
        self.exit(Leave::Region);
        let _back = Back(self);
        region()
    }

    /// Gives way if the thread was asked to and its quantum is over; whether it did.
    #[inline]
    pub(crate) fn safepoint(&self) -> bool {
        self.seat.interrupt.load(Ordering::Relaxed) && self.obey()
    }

    #[inline]
    fn shared(&self) -> &Arc<Shared> {
        &self.shared
    }

    pub(crate) fn is_inside(&self) -> bool {
        self.inside.get()
    }

    /// An interrupt came: the scheduler says whether the quantum is over.
    #[cold]
    fn obey(&self) -> bool {
        assert!(self.inside.get(), "a safepoint is inside the lock");
        let shared = self.shared();
        let mut state = shared.open();
        self.seat.interrupt.store(false, Ordering::Relaxed);
        let now = shared.now();
        let step = state.sched.safepoint(self.id, now);
        let yields = step.decision != Decision::Go;
        if yields {
            if shared.accounting {
                self.seat.account.enter(Phase::Waiting, now);
            }
            self.seat.account.count_forced_yield();
        }
        // The successor is woken first: hooks run while it does.
        Shared::carry_out(shared, state, &step);
        if yields && self.is_observed() {
            self.tell(EventKind::Suspended, now, 0);
            self.tell(EventKind::Ready, now, 0);
        }
        self.sleep_until_go(step.decision);
        if yields {
            self.resume(now);
        }
        yields
    }

    /// Asks the scheduler, under its lock, and does what it says until the thread may go on.
    #[cold]
    fn wait_for_turn(&self, ask: impl FnOnce(&mut State, ThreadId, Nanos) -> Step) {
        let mut state = self.shared().open();
        let step = ask(&mut state, self.id, self.shared().now());
        Shared::carry_out(self.shared(), state, &step);
        self.sleep_until_go(step.decision);
    }

    fn sleep_until_go(&self, mut decision: Decision) {
        while let Decision::Wait { until } = decision {
            let woken = self.seat.parker.park(until.map(clock::instant));
            let mut state = self.shared().open();
            let step = state.sched.woken(self.id, !woken, self.shared().now());
            Shared::carry_out(self.shared(), state, &step);
            decision = step.decision;
        }
    }

    /// The lock was got after a wait.
    fn resume(&self, asked: Nanos) -> Nanos {
        let now = self.mark(Phase::Holding, EventKind::Resumed, asked);
        if self.shared().accounting {
            self.seat.account.count_acquisition(true);
        }
        now
    }

    /// Notes when the lock was asked for.
    #[inline]
    fn ask(&self, observed: bool) -> Nanos {
        let now = self.shared().now();
        if observed {
            self.tell(EventKind::Ready, now, 0);
        }
        now
    }

    /// Reads the clock and begins a phase, where anyone wants to know; gives the time.
    #[inline]
    fn mark(&self, phase: Phase, kind: EventKind, asked: Nanos) -> Nanos {
        let observed = self.is_observed();
        if !self.shared().accounting && !observed {
            return 0;
        }
        let now = self.shared().now();
        if self.shared().accounting {
            self.seat.account.enter(phase, now);
        }
        if observed {
            let waited = if kind == EventKind::Resumed { now.saturating_sub(asked) } else { 0 };
            self.tell(kind, now, waited);
        }
        now
    }

    #[inline]
    fn is_observed(&self) -> bool {
        self.shared().hook.is_some() || LevelFilter::current() >= LevelFilter::TRACE
    }

    #[cold]
    pub(super) fn tell(&self, kind: EventKind, at: Nanos, waited_ns: Nanos) {
        let name = self.seat.name.as_str();
        tracing::trace!(target: "gvl_lab::gvl", thread = %self.id, name, waited_ns, "{kind:?}");
        if let Some(hook) = &self.shared().hook {
            hook.call(&Event { kind, thread: self.id, name, at, waited_ns });
        }
    }
}

impl Drop for Member {
    fn drop(&mut self) {
        if self.inside.get() {
            self.exit(Leave::Idle);
        }
        let shared = self.shared();
        let mut state = shared.open();
        state.sched.part(self.id);
        let seat = state.seats[self.id.0 as usize].take().expect("a member has a seat");
        let usage = seat.account.usage(shared.now());
        match state.departed.get_mut(DEPARTED_MAX - 1) {
            Some(last) => {
                last.name = "others".to_owned();
                last.usage = last.usage + usage;
            }
            None => state.departed.push(ThreadUsage { name: seat.name.clone(), usage }),
        }
        shared.close(&state);
        drop(state);
        self.tell(EventKind::Exited, shared.now(), 0);
    }
}

impl Held<'_> {
    /// Runs `region` with the lock released, and takes its turn again afterwards, also when
    /// `region` panics.
    pub fn blocking<R>(&mut self, region: impl FnOnce() -> R) -> R {
        self.member.blocking(region)
    }

    /// Gives way if the quantum is over and someone waits; whether it did.
    #[inline]
    pub fn safepoint(&mut self) -> bool {
        self.member.safepoint()
    }
}

impl Drop for Held<'_> {
    #[inline]
    fn drop(&mut self) {
        self.member.exit(Leave::Idle);
    }
}
