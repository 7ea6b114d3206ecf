//! The GVL as a pure state machine: events in, decisions out.
//!
//! Driven by `gvl::lock` (real threads) and by the simulator (virtual time). Holds no clock, lock
//! or thread; times come in as nanoseconds of the caller's clock. Invariants: at most one thread
//! holds an exclusive lock; a thread that was told to wait is woken by a later [`Step`] or has a
//! time of its own to wake at.
//!
//! The two families are in `handoff` (CRuby since 3.3: the releaser names its successor) and
//! `signal` (CRuby to 3.2 and CPython: the lock is free until a woken waiter takes it); `line` has
//! who waits, `rank` the order of a line that is not first come, first served.

mod handoff;
mod line;
mod rank;
mod signal;
#[cfg(test)]
mod tests;

use self::line::Line;
use self::rank::{Used, used_anew};
use super::record::{Charge, Gvl, Order, Release, Timer};
use crate::clock::{Nanos, nanos};
use crate::random::Stream;
use smallvec::SmallVec;
use std::fmt;

/// Names a thread of one lock; taken again after the thread left.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ThreadId(pub(crate) u32);

impl fmt::Display for ThreadId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)
    }
}

/// What the caller has to do after an event.
#[derive(Debug, Clone, PartialEq, Eq)]
#[must_use = "a decision not acted on is a lost wake-up"]
pub struct Step {
    /// For the thread the event was about.
    pub decision: Decision,
    /// Threads to wake; each then reports with [`Sched::woken`].
    pub wake: SmallVec<[ThreadId; 2]>,
    /// A thread to interrupt: it reports with [`Sched::safepoint`] when it reaches one.
    pub interrupt: Option<ThreadId>,
}

/// What the thread of an event does next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Decision {
    /// It goes on: it has the lock it asked for, or has left it.
    Go,
    /// It sleeps until woken, or until the given time, and then reports with [`Sched::woken`].
    Wait {
        /// When it wakes by itself.
        until: Option<Nanos>,
    },
}

/// How a thread gives the lock up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Leave {
    /// For a system call or other code in a blocking region; it will be back soon.
    Region,
    /// To sleep, to wait for work or for good.
    Idle,
}

/// What happened to a lock while nobody waited, and the scheduler was not asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Passed {
    /// Nobody took it.
    Not,
    /// It was free, and the thread that had it last took it again.
    Taken,
    /// Another thread took it.
    Switched,
}

/// Where a thread is; the only one inside is `Holding`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Place {
    /// Outside, and not asking.
    Out,
    /// In `readyq`.
    Queued,
    /// Woken by a release, not in `readyq` any more (only where waiters queue anew).
    Signalled,
    /// Owner of the lock, still asleep.
    Granted,
    /// Owner of the lock, running.
    Holding,
    /// Owner of the lock, in a blocking region: it keeps it until the next tick (only where the
    /// hand-off is delayed).
    Away,
    /// In `switching` until another thread takes the lock.
    Switching(Then),
}

/// What a thread does once another one took the lock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Then {
    Acquire,
    Leave,
}

#[derive(Debug, Clone)]
struct Thread {
    place: Place,
    /// Asked to look at the clock at its next safepoint.
    interrupt: bool,
    /// Each step doubles (above nought) or halves (below) the quantum; -3 to 3.
    priority: i8,
    /// `switch_number` and the time when its present wait began.
    waiting_since: (u64, Nanos),
    /// What it used lately (`Order::Priority`).
    used: Used,
}

/// The scheduler of one lock.
#[derive(Debug, Clone)]
pub struct Sched {
    gvl: Gvl,
    quantum: Nanos,
    tick: Nanos,
    threads: Vec<Thread>,
    free: Vec<ThreadId>,
    /// The owner; it may still be asleep (`Granted`).
    running: Option<ThreadId>,
    /// Who waits, in the order of turns.
    readyq: Line,
    /// How many threads are `Signalled`.
    signalled: usize,
    /// Threads that wait for another one to take the lock.
    switching: SmallVec<[ThreadId; 2]>,
    /// The last thread that ran, and the time charged to it since it was switched in.
    last: Option<ThreadId>,
    running_time: Nanos,
    /// Counts the times that the lock passed to another thread.
    switch_number: u64,
    /// When the timer thread looks again (`Timer::Thread`).
    next_tick: Option<Nanos>,
    /// The waiter that keeps the time, until when, and whether its last wait ran out
    /// (`Timer::OneWaiter`).
    timekeeper: Option<ThreadId>,
    deadline: Nanos,
    timed_out: bool,
    /// Who asked last for the lock (`Timer::EachWaiter`).
    requester: Option<ThreadId>,
    /// The thread that may take the lock back from a successor still waking.
    hot: Option<ThreadId>,
    /// Since when the holder runs and others wait (`Order::Priority`).
    contended_since: Option<Nanos>,
    chance: Stream,
}

impl Sched {
    /// A free lock without threads; `seed` decides what the lock leaves to chance.
    pub fn new(gvl: Gvl, seed: u64) -> Self {
        Self {
            quantum: nanos(gvl.quantum),
            tick: nanos(gvl.tick),
            readyq: match gvl.order {
                Order::Fifo => Line::Fifo(<_>::default()),
                Order::Priority => Line::Ranked(<_>::default()),
            },
            gvl,
            threads: Vec::new(),
            free: Vec::new(),
            running: None,
            signalled: 0,
            switching: SmallVec::new(),
            last: None,
            running_time: 0,
            switch_number: 0,
            next_tick: None,
            timekeeper: None,
            deadline: 0,
            timed_out: true,
            requester: None,
            hot: None,
            contended_since: None,
            chance: Stream::new(seed, "gvl", 0),
        }
    }

    /// Adds a thread, outside the lock.
    pub fn join(&mut self, priority: i8) -> ThreadId {
        let thread = Thread {
            place: Place::Out,
            interrupt: false,
            priority: priority.clamp(-3, 3),
            waiting_since: (0, 0),
            used: used_anew(),
        };
        if let Some(id) = self.free.pop() {
            self.threads[id.0 as usize] = thread;
            return id;
        }
        self.threads.push(thread);
        ThreadId(u32::try_from(self.threads.len() - 1).expect("fewer than 2^32 threads"))
    }

    /// Removes a thread, which is outside the lock.
    pub fn part(&mut self, thread: ThreadId) {
        assert_eq!(self.at(thread).place, Place::Out, "a thread leaves its lock from outside");
        if self.last == Some(thread) {
            self.last = None;
        }
        if self.hot == Some(thread) {
            // Whoever gets the number next was never here.
            self.hot = None;
        }
        self.free.push(thread);
    }

    /// `thread`, outside the lock, asks for it.
    pub fn acquire(&mut self, thread: ThreadId, now: Nanos) -> Step {
        debug_assert!(matches!(self.at(thread).place, Place::Out | Place::Away));
        if !self.gvl.exclusive {
            return self.go(thread, Place::Holding);
        }
        match self.gvl.release {
            Release::Handoff => self.handoff_acquire(thread, now),
            Release::Signal => self.signal_acquire(thread, now),
        }
    }

    /// `thread`, which holds the lock, gives it up.
    pub fn leave(&mut self, thread: ThreadId, how: Leave, now: Nanos) -> Step {
        debug_assert_eq!(self.at(thread).place, Place::Holding);
        if !self.gvl.exclusive {
            return self.go(thread, Place::Out);
        }
        match self.gvl.release {
            Release::Handoff => self.handoff_leave(thread, how, now),
            Release::Signal => self.signal_leave(thread, now),
        }
    }

    /// `thread`, which was told to wait, woke up: by a wake, by its time, or for no reason.
    pub fn woken(&mut self, thread: ThreadId, timed_out: bool, now: Nanos) -> Step {
        match self.gvl.release {
            Release::Handoff => self.handoff_woken(thread, now),
            Release::Signal => self.signal_woken(thread, timed_out, now),
        }
    }

    /// `thread`, which holds the lock, reached a safepoint after an interrupt.
    ///
    /// [`Decision::Wait`] means that it had to yield: it is in line again.
    pub fn safepoint(&mut self, thread: ThreadId, now: Nanos) -> Step {
        debug_assert_eq!(self.at(thread).place, Place::Holding);
        let asked = std::mem::take(&mut self.at_mut(thread).interrupt);
        if !asked || !self.gvl.exclusive {
            return self.go(thread, Place::Holding);
        }
        if self.gvl.charge == Charge::PerTick {
            self.running_time += self.tick;
            if self.running_time < self.limit(thread) {
                return self.go(thread, Place::Holding);
            }
        }
        let step = match self.gvl.release {
            Release::Handoff => self.handoff_yield(thread, now),
            Release::Signal => self.signal_yield(thread, now),
        };
        if self.gvl.always_reset {
            self.running_time = 0;
        }
        step
    }

    /// When the timer thread has to call [`Sched::tick`]; `None` while it has nothing to watch.
    pub fn next_tick(&self) -> Option<Nanos> {
        self.next_tick
    }

    /// The timer thread looks: a running holder that others wait for is interrupted, and one that is
    /// away in a blocking region loses the lock.
    pub fn tick(&mut self, now: Nanos) -> Step {
        let mut step = Step::of(Decision::Go);
        // A successor still asleep is not on the list that the timer watches; it joins, and
        // starts the timer anew, when it takes over.
        match self.running {
            Some(holder) if !self.readyq.is_empty() && self.at(holder).place == Place::Holding => {
                self.next_tick = Some(now + self.tick);
                step.interrupt = self.interrupt(holder);
            }
            Some(holder) if self.at(holder).place == Place::Away => {
                self.next_tick = None;
                self.at_mut(holder).place = Place::Out;
                step.wake = self.hand_over().wake;
            }
            _ => self.next_tick = None,
        }
        step
    }

    /// Whether nobody waits or is about to wake: acquiring and leaving need no decision.
    pub fn is_quiet(&self) -> bool {
        self.readyq.is_empty()
            && self.signalled == 0
            && self.switching.is_empty()
            && self.running.is_none_or(|t| self.at(t).place == Place::Holding)
    }

    /// The thread that has the lock, running, away or still waking, and the last one that ran.
    pub fn running(&self) -> (Option<ThreadId>, Option<ThreadId>) {
        (self.running, self.last)
    }

    /// How many threads are in line.
    pub fn waiting(&self) -> usize {
        self.readyq.len() + self.signalled
    }

    /// Takes in what happened while the lock was quiet: who holds it now, who ran last, and
    /// whether it was taken meanwhile. The same as the calls of
    /// [`Sched::acquire`] and [`Sched::leave`] that the driver saved itself.
    pub fn observe(&mut self, holder: Option<ThreadId>, last: Option<ThreadId>, passed: Passed) {
        debug_assert!(self.is_quiet());
        if let Some(old) = self.running.take() {
            self.at_mut(old).place = Place::Out;
        }
        if let Some(holder) = holder {
            self.running = Some(holder);
            self.at_mut(holder).place = Place::Holding;
        }
        if passed == Passed::Switched {
            self.running_time = 0;
            self.switch_number += 1;
        }
        self.last = last;
        if passed != Passed::Not {
            // Taking a free lock restarts the time that a waiter keeps.
            self.timed_out = true;
        }
    }

    fn at(&self, thread: ThreadId) -> &Thread {
        &self.threads[thread.0 as usize]
    }

    fn at_mut(&mut self, thread: ThreadId) -> &mut Thread {
        &mut self.threads[thread.0 as usize]
    }

    fn go(&mut self, thread: ThreadId, place: Place) -> Step {
        self.at_mut(thread).place = place;
        Step::of(Decision::Go)
    }

    fn interrupt(&mut self, holder: ThreadId) -> Option<ThreadId> {
        self.at_mut(holder).interrupt = true;
        Some(holder)
    }

    /// Makes `thread` the running one; the charged time begins anew if another ran before.
    fn switch_in(&mut self, thread: ThreadId, now: Nanos) {
        self.running = Some(thread);
        self.at_mut(thread).place = Place::Holding;
        self.contended_since = self.anyone_waits().then_some(now);
        if self.last != Some(thread) {
            self.last = Some(thread);
            self.running_time = 0;
            self.switch_number += 1;
        }
    }

    fn anyone_waits(&self) -> bool {
        !self.readyq.is_empty() || self.signalled > 0
    }

    /// Puts `thread` behind those who have their turn before it.
    fn line_up(&mut self, thread: ThreadId, now: Nanos) {
        let rank = self.rank(thread, now);
        self.at_mut(thread).place = Place::Queued;
        self.readyq.push_back(thread, rank);
        let runs = self.running.is_some_and(|holder| self.at(holder).place == Place::Holding);
        if runs && self.contended_since.is_none() {
            self.contended_since = Some(now);
        }
    }

    /// The time that `thread` may be charged before it has to yield.
    fn limit(&self, thread: ThreadId) -> Nanos {
        let priority = if self.gvl.priorities { self.at(thread).priority } else { 0 };
        match priority {
            0.. => self.quantum << priority,
            _ => self.quantum >> -priority,
        }
    }
}

impl Step {
    fn of(decision: Decision) -> Self {
        Self { decision, wake: SmallVec::new(), interrupt: None }
    }

    fn waking(mut self, thread: ThreadId) -> Self {
        self.wake.push(thread);
        self
    }
}
