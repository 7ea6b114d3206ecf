//! The lock's word and its scheduler, and how the fast way and the slow way hand over.
//!
//! The README of `gvl` tells the protocol.

use super::ticker::{self, Ticker};
use crate::clock::Nanos;
use crate::gvl::account::{Account, ThreadUsage};
use crate::gvl::event::Hook;
use crate::gvl::policy::{Passed, Sched, Step, ThreadId};
use crate::sync::{Arc, AtomicBool, AtomicU64, Condvar, Mutex, MutexGuard, Ordering, Parker};
use smallvec::SmallVec;
use std::cell::Cell;

/// Kept by the lock and its members; with the last of them the timer thread ends.
#[derive(Debug)]
pub(super) struct Life(pub(super) Arc<Shared>);

#[derive(Debug)]
pub(super) struct Shared {
    /// `owner << OWNER | bits`; see the bits below.
    pub(super) word: AtomicU64,
    /// Guards: the scheduler, the seats and the timer agree, and `SLOW` is set while they matter.
    pub(super) state: Mutex<State>,
    /// Wakes the timer thread.
    pub(super) rouse: Condvar,
    pub(super) exclusive: bool,
    /// Of the threads that serve.
    pub(super) priority: i8,
    pub(super) accounting: bool,
    pub(super) hook: Option<Hook>,
    pub(super) clock: fn() -> Nanos,
}

#[derive(Debug)]
pub(super) struct State {
    pub(super) sched: Sched,
    /// By thread; `None` where a thread left.
    pub(super) seats: Vec<Option<Arc<Seat>>>,
    /// What threads used that have left.
    pub(super) departed: Vec<ThreadUsage>,
    pub(super) ticker: Ticker,
}

/// What others may touch of a member.
#[derive(Debug)]
pub(super) struct Seat {
    pub(super) name: String,
    pub(super) parker: Parker,
    /// Set by whoever wants the thread to look at its next safepoint.
    pub(super) interrupt: AtomicBool,
    pub(super) account: Account,
}

/// The owner holds the lock.
pub(super) const HELD: u64 = 1;
/// Someone waits: the scheduler decides, under `state`.
pub(super) const SLOW: u64 = 2;
/// The lock passed to another thread since the scheduler last knew.
pub(super) const SWITCHED: u64 = 4;
/// Somebody took the lock, which was free, since the scheduler last knew.
pub(super) const TAKEN: u64 = 8;
/// The owner, or the last one, is in the bits from here on.
pub(super) const OWNER: u32 = 8;
/// Nobody has had the lock yet.
pub(super) const NOBODY: u64 = u32::MAX as u64;

impl Shared {
    #[inline]
    pub(super) fn now(&self) -> Nanos {
        (self.clock)()
    }

    /// Takes the lock if it is free and nobody waits.
    #[inline]
    pub(super) fn try_take(&self, id: ThreadId, left: &Cell<u64>) -> bool {
        let guess = left.get();
        // ORDERING: Acquire; pairs with Release in `try_leave` and in `close`: the new holder sees
        // what the last one wrote. Failure goes a slower way.
        self.word
            .compare_exchange(guess, guess | HELD, Ordering::Acquire, Ordering::Relaxed)
            .is_ok()
            || self.try_take_from(id, left)
    }

    /// As `try_take`, where another thread may have had the lock.
    #[cold]
    pub(super) fn try_take_from(&self, id: ThreadId, left: &Cell<u64>) -> bool {
        let word = self.word.load(Ordering::Relaxed);
        if word & (HELD | SLOW) != 0 {
            return false;
        }
        let me = u64::from(id.0);
        let switched = if word >> OWNER == me { word & SWITCHED } else { SWITCHED };
        let free = (me << OWNER) | switched | TAKEN;
        left.set(free);
        // ORDERING: as in `try_take`. Failure goes through the mutex.
        self.word.compare_exchange(word, free | HELD, Ordering::Acquire, Ordering::Relaxed).is_ok()
    }

    /// Frees the lock if nobody waits.
    #[inline]
    pub(super) fn try_leave(&self, id: ThreadId, left: &Cell<u64>) -> bool {
        let guess = left.get();
        // ORDERING: Release; pairs with Acquire in `try_take`. Failure goes a slower way.
        self.word
            .compare_exchange(guess | HELD, guess, Ordering::Release, Ordering::Relaxed)
            .is_ok()
            || self.try_leave_to(id, left)
    }

    /// As `try_leave`, where the lock was got through the scheduler.
    #[cold]
    pub(super) fn try_leave_to(&self, id: ThreadId, left: &Cell<u64>) -> bool {
        let word = self.word.load(Ordering::Relaxed);
        if word & SLOW != 0 {
            return false;
        }
        debug_assert_eq!(word >> OWNER, u64::from(id.0));
        // A word that was not taken yet is no guess for one that is: the next to take it tells.
        left.set((word & !HELD) | TAKEN);
        // ORDERING: as in `try_leave`. Failure goes through the mutex.
        self.word.compare_exchange(word, word & !HELD, Ordering::Release, Ordering::Relaxed).is_ok()
    }

    /// Locks the state and makes every other transition come here, too: sets `SLOW`, and tells the
    /// scheduler what it missed.
    pub(super) fn open(&self) -> MutexGuard<'_, State> {
        let mut state = self.state.lock();
        // ORDERING: Acquire pairs with Release in `try_leave`, for a lock found free and taken by
        // the scheduler's decision.
        let word = self.word.fetch_or(SLOW, Ordering::Acquire);
        if word & SLOW == 0 {
            let last = word >> OWNER;
            let last = (last != NOBODY).then_some(ThreadId(last as u32));
            let holder = last.filter(|_| word & HELD != 0);
            let passed = match word & (SWITCHED | TAKEN) {
                0 => Passed::Not,
                TAKEN => Passed::Taken,
                _ => Passed::Switched,
            };
            state.sched.observe(holder, last, passed);
        }
        state
    }

    /// Lets the fast way be used again, if nobody waits; starts the timer, if somebody does.
    pub(super) fn close(&self, state: &MutexGuard<'_, State>) {
        if state.sched.is_quiet() {
            let (holder, last) = state.sched.running();
            let owner = last.map_or(NOBODY, |t| u64::from(t.0));
            let held = if holder.is_some() { HELD } else { 0 };
            // ORDERING: Release pairs with Acquire in `try_take`.
            self.word.store((owner << OWNER) | held, Ordering::Release);
        }
    }

    /// Does what a step asks for, with the state released: interrupts, wake-ups, the timer.
    pub(super) fn carry_out(this: &Arc<Self>, mut state: MutexGuard<'_, State>, step: &Step) {
        this.close(&state);
        if let Some(seat) = step.interrupt.and_then(|t| state.seats[t.0 as usize].as_ref()) {
            seat.interrupt.store(true, Ordering::Relaxed);
        }
        let wake: SmallVec<[Arc<Seat>; 2]> =
            step.wake.iter().filter_map(|t| state.seats[t.0 as usize].clone()).collect();
        ticker::watch(this, &mut state);
        drop(state);
        for seat in wake {
            seat.parker.unpark();
        }
    }
}

impl Drop for Life {
    fn drop(&mut self) {
        ticker::end(&self.0);
    }
}
