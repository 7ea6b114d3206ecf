//! The bounded queue between submitters and the threads of a pool, first come first served.
//!
//! It also knows how many threads there are and how many are free, since whether a submission
//! starts a thread depends on both: Puma's rule, one thread for a task that no idle thread will
//! take (`thread_pool.rb`, `waiting < todo.size && spawned < max`).
//!
//! The queue has two ends, so that submitters and threads seldom meet: submissions are added to
//! `entry`; threads take from `exit`, and put there all that has been submitted when it is empty.
//! Lock order: `exit`, then `entry`.
//!
//! A thread without a job looks for one for a moment, then sleeps. A submission wakes a sleeper
//! only where more jobs are queued than threads look. None is forgotten: a thread goes to sleep
//! under both locks, with nothing queued, and with each job that is taken at most one stops
//! looking.

#[cfg(all(test, model_check))]
mod loom_tests;
#[cfg(test)]
#[cfg(not(model_check))]
mod tests;

use super::context::released;
use super::error::RejectedWhy;
use super::options::{Threads, WhenFull};
use crate::sync::{AtomicUsize, Condvar, Mutex, MutexGuard, Ordering::Relaxed};
use std::collections::VecDeque;
use std::time::{Duration, Instant};

pub(super) struct Queue<J> {
    entry: Entry<J>,
    exit: Exit<J>,
    not_empty: Condvar,
    not_full: Condvar,
    /// Told when a thread leaves.
    fewer: Condvar,
    capacity: usize,
    when_full: WhenFull,
    threads: Threads,
    /// A thread above the minimum leaves after being idle so long.
    idle_max: Duration,
    /// A thread leaves after each job.
    one_job: bool,
}

/// Where submitters are busy; on cache lines of its own.
#[repr(align(128))]
struct Entry<J> {
    /// Guards: jobs, free and living threads agree, and nothing is queued once it stops.
    state: Mutex<State<J>>,
    /// How many jobs were submitted so far; written under `state`.
    added: AtomicUsize,
}

/// Where threads are busy; on cache lines of its own.
#[repr(align(128))]
struct Exit<J> {
    /// Guards: these are older than those of the entry.
    jobs: Mutex<VecDeque<J>>,
    /// How many jobs were taken so far; written under `jobs`.
    taken: AtomicUsize,
}

struct State<J> {
    jobs: VecDeque<J>,
    /// Threads that sleep.
    idle: usize,
    /// Threads that sleep still, and were woken.
    called: usize,
    /// Threads that will look into the queue before they sleep: they start, or their job ended.
    looking: usize,
    alive: u32,
    /// Threads that are alive and were told to leave.
    leaving: u32,
    stopping: bool,
}

/// What a submission asks the pool to do besides.
#[must_use]
pub(super) enum Pushed {
    Queued,
    /// No idle thread will take it: start one, which counts as alive already.
    StartThread,
}

/// How often a thread looks for work before it sleeps: 10 to 30 us by the processor's pause, about
/// what it costs to wake a sleeper on another core.
const LOOKS: u32 = if cfg!(model_check) { 0 } else { 400 };

/// How often it looks before others may run on its core.
const LOOKS_A_YIELD: u32 = 16;

impl<J> Queue<J> {
    pub(super) fn new(
        threads: Threads,
        capacity: usize,
        when_full: WhenFull,
        idle_max: Duration,
        one_job: bool,
    ) -> Self {
        Self {
            entry: Entry { state: Mutex::new(State::new()), added: AtomicUsize::new(0) },
            exit: Exit { jobs: Mutex::new(VecDeque::new()), taken: AtomicUsize::new(0) },
            not_empty: Condvar::new(),
            not_full: Condvar::new(),
            fewer: Condvar::new(),
            capacity,
            when_full,
            threads,
            idle_max,
            one_job,
        }
    }

    /// Queues a job; where it is full, waits or refuses. `own_thread`: the submitter is one of the
    /// threads that take jobs from here.
    pub(super) fn push(
        &self,
        own_thread: bool,
        job: impl FnOnce() -> J,
    ) -> Result<Pushed, RejectedWhy> {
        let mut state = self.entry.state.lock();
        while self.is_full(&state) {
            match self.when_full {
                WhenFull::Reject => return Err(RejectedWhy::Full),
                WhenFull::Wait if own_thread => return Err(RejectedWhy::WouldDeadlock),
                WhenFull::Wait => {
                    drop(state);
                    released(|| self.wait_for_room());
                    state = self.entry.state.lock();
                }
            }
        }
        if state.stopping {
            return Err(RejectedWhy::ShutDown);
        }
        state.jobs.push_back(job());
        advance(&self.entry.added, 1);
        let length = self.length();
        let start = self.starts_thread(&mut state, length);
        let call = state.idle > 0 && length > state.looking + state.called;
        if call {
            state.idle -= 1;
            state.called += 1;
        }
        drop(state);
        if call {
            self.not_empty.notify_one();
        }
        Ok(if start { Pushed::StartThread } else { Pushed::Queued })
    }

    /// Waits until there is room or the queue stops; somebody else may be faster.
    fn wait_for_room(&self) {
        let mut state = self.entry.state.lock();
        while self.is_full(&state) {
            self.not_full.wait(&mut state);
        }
    }

    fn is_full(&self, state: &State<J>) -> bool {
        !state.stopping && self.length() >= self.capacity
    }

    /// Counts a thread that is there from the beginning.
    pub(super) fn count_thread(&self) {
        self.entry.state.lock().count_thread();
    }

    /// The next job, if there is one now; if not, the thread counts as one that looks, and has to
    /// call [`Queue::pop`].
    pub(super) fn try_pop(&self) -> Option<J> {
        let mut jobs = self.exit.jobs.lock();
        if let Some(job) = jobs.pop_front() {
            return Some(self.taken(jobs, job));
        }
        let mut state = self.entry.state.lock();
        std::mem::swap(&mut state.jobs, &mut jobs);
        let Some(job) = jobs.pop_front() else {
            state.looking += 1;
            return None;
        };
        drop(state);
        Some(self.taken(jobs, job))
    }

    /// The next job, waiting for one, for a thread that counts as looking; `None` when the thread
    /// has to leave, and counts as leaving: the queue stops and is empty, or the thread was idle for
    /// too long.
    pub(super) fn pop(&self) -> Option<J> {
        let mut looks = LOOKS;
        loop {
            while looks > 0 && self.length() == 0 {
                looks -= 1;
                if looks.is_multiple_of(LOOKS_A_YIELD) {
                    // Whoever could submit may wait for this core.
                    std::thread::yield_now();
                } else {
                    std::hint::spin_loop();
                }
            }
            let mut jobs = self.exit.jobs.lock();
            let mut state = self.entry.state.lock();
            if jobs.is_empty() {
                std::mem::swap(&mut state.jobs, &mut jobs);
            }
            state.looking -= 1;
            if let Some(job) = jobs.pop_front() {
                drop(state);
                return Some(self.taken(jobs, job));
            }
            drop(jobs);
            if state.stopping || self.is_tired(&mut state) {
                state.leaving += 1;
                return None;
            }
        }
    }

    /// Sleeps until called; then the thread counts as one that looks, or it was idle for too long.
    fn is_tired(&self, state: &mut MutexGuard<'_, State<J>>) -> bool {
        state.idle += 1;
        // An idle time that never ends has no instant.
        let patience = Instant::now().checked_add(self.idle_max);
        let tired = match patience.filter(|_| self.has_spare_threads(state)) {
            Some(patience) => self.not_empty.wait_until(state, patience).timed_out(),
            None => {
                self.not_empty.wait(state);
                false
            }
        };
        // Whose call it was does not matter: the thread that was meant looks as well.
        if state.called > 0 {
            state.called -= 1;
        } else {
            state.idle -= 1;
        }
        let leaves = tired && self.length() == 0 && self.has_spare_threads(state);
        if !leaves {
            state.looking += 1;
        }
        leaves
    }

    /// Whether there are more threads than the minimum, those apart that are leaving.
    fn has_spare_threads(&self, state: &State<J>) -> bool {
        state.alive - state.leaving > self.threads.min()
    }

    fn taken(&self, jobs: MutexGuard<'_, VecDeque<J>>, job: J) -> J {
        advance(&self.exit.taken, 1);
        drop(jobs);
        if self.capacity < usize::MAX && self.when_full == WhenFull::Wait {
            // A submitter that saw the queue full is asleep once its lock can be had.
            drop(self.entry.state.lock());
            self.not_full.notify_one();
        }
        job
    }

    /// How many jobs are queued: exact under both locks, never too few under the entry's.
    fn length(&self) -> usize {
        // Read first: it never gets ahead of what was added.
        let taken = self.exit.taken.load(Relaxed);
        self.entry.added.load(Relaxed).wrapping_sub(taken)
    }

    /// Counts one more thread, if there are more jobs than threads that will look for one.
    fn starts_thread(&self, state: &mut State<J>, length: usize) -> bool {
        let free = state.idle + state.called + state.looking;
        let starts = free < length && state.alive < self.threads.max();
        if starts {
            state.count_thread();
        }
        starts
    }

    /// Whether a thread leaves after each job.
    pub(super) fn is_one_job(&self) -> bool {
        self.one_job
    }

    /// A thread leaves, because it was told to or for a reason of its own; whether another one has to
    /// take its place, which counts as alive already.
    pub(super) fn leave(&self, was_told: bool) -> bool {
        let mut state = self.entry.state.lock();
        state.alive -= 1;
        state.leaving -= u32::from(was_told);
        let replace = self.starts_thread(&mut state, self.length());
        drop(state);
        self.fewer.notify_all();
        replace
    }

    /// A thread that counts as alive could not be started; gives the jobs for which nobody is left.
    pub(super) fn not_started(&self) -> Vec<J> {
        let mut jobs = self.exit.jobs.lock();
        let mut state = self.entry.state.lock();
        state.alive -= 1;
        state.looking -= 1;
        let left = if state.alive == 0 { self.drain_both(&mut jobs, &mut state) } else { vec![] };
        drop(state);
        drop(jobs);
        self.fewer.notify_all();
        if !left.is_empty() {
            self.not_full.notify_all();
        }
        left
    }

    /// Accepts nothing more; threads leave when the queue is empty. Submitters that wait are
    /// refused.
    pub(super) fn stop(&self) {
        self.entry.state.lock().stopping = true;
        self.not_empty.notify_all();
        self.not_full.notify_all();
    }

    /// Waits until all threads left (true) or the time has come.
    pub(super) fn wait_until_deserted(&self, until: Option<Instant>) -> bool {
        let mut state = self.entry.state.lock();
        while state.alive > 0 {
            let late = match until {
                Some(until) => self.fewer.wait_until(&mut state, until).timed_out(),
                None => {
                    self.fewer.wait(&mut state);
                    false
                }
            };
            if late {
                break;
            }
        }
        state.alive == 0
    }

    /// Takes out everything that is queued.
    pub(super) fn drain(&self) -> Vec<J> {
        let mut jobs = self.exit.jobs.lock();
        let mut state = self.entry.state.lock();
        self.drain_both(&mut jobs, &mut state)
    }

    fn drain_both(&self, jobs: &mut VecDeque<J>, state: &mut State<J>) -> Vec<J> {
        let drained: Vec<J> = jobs.drain(..).chain(state.jobs.drain(..)).collect();
        advance(&self.exit.taken, drained.len());
        drained
    }

    /// Queued jobs, and living threads.
    pub(super) fn count(&self) -> (usize, u32) {
        let jobs = self.exit.jobs.lock();
        let state = self.entry.state.lock();
        (jobs.len() + state.jobs.len(), state.alive)
    }
}

impl<J> State<J> {
    fn new() -> Self {
        Self {
            jobs: VecDeque::new(),
            idle: 0,
            called: 0,
            looking: 0,
            alive: 0,
            leaving: 0,
            stopping: false,
        }
    }

    fn count_thread(&mut self) {
        self.alive += 1;
        self.looking += 1;
    }
}

/// Adds without a locked instruction: the caller holds the lock under which it is written.
fn advance(counter: &AtomicUsize, by: usize) {
    counter.store(counter.load(Relaxed).wrapping_add(by), Relaxed);
}
