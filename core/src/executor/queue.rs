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

use super::error::RejectedWhy;
use super::options::{Threads, WhenFull};
use super::task::Job;
use parking_lot::{Condvar, Mutex, MutexGuard};
use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::time::{Duration, Instant};

pub(super) struct Queue {
    entry: Entry,
    exit: Exit,
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
#[derive(Default)]
struct Entry {
    /// Guards: jobs, free and living threads agree, and nothing is queued once it stops.
    state: Mutex<State>,
    /// How many jobs were submitted so far; written under `state`.
    added: AtomicUsize,
}

/// Where threads are busy; on cache lines of its own.
#[repr(align(128))]
#[derive(Default)]
struct Exit {
    /// Guards: these are older than those of the entry.
    jobs: Mutex<VecDeque<Arc<dyn Job>>>,
    /// How many jobs were taken so far; written under `jobs`.
    taken: AtomicUsize,
}

#[derive(Default)]
struct State {
    jobs: VecDeque<Arc<dyn Job>>,
    /// Threads that sleep.
    idle: usize,
    /// Threads that sleep still, and were woken.
    called: usize,
    /// Threads that will look into the queue before they sleep: they start, or their job ended.
    looking: usize,
    alive: u32,
    stopping: bool,
}

/// What a submission asks the pool to do besides.
#[must_use]
pub(super) enum Pushed {
    Queued,
    /// No idle thread will take it: start one, which counts as alive already.
    StartThread,
}

/// How often a thread looks for work before it sleeps: a few microseconds, less than it costs to
/// wake a sleeper.
const LOOKS: u32 = 400;

impl Queue {
    pub(super) fn new(
        threads: Threads,
        capacity: usize,
        when_full: WhenFull,
        idle_max: Duration,
        one_job: bool,
    ) -> Self {
        Self {
            entry: Entry::default(),
            exit: Exit::default(),
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
        job: impl FnOnce() -> Arc<dyn Job>,
    ) -> Result<Pushed, RejectedWhy> {
        let mut state = self.entry.state.lock();
        while !state.stopping && self.length() >= self.capacity {
            match self.when_full {
                WhenFull::Reject => return Err(RejectedWhy::Full),
                WhenFull::Wait if own_thread => return Err(RejectedWhy::WouldDeadlock),
                WhenFull::Wait => self.not_full.wait(&mut state),
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

    /// Counts a thread that is there from the beginning.
    pub(super) fn count_thread(&self) {
        self.entry.state.lock().count_thread();
    }

    /// The next job, if there is one now; if not, the thread counts as one that looks, and has to
    /// call [`Queue::pop`].
    pub(super) fn try_pop(&self) -> Option<Arc<dyn Job>> {
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
    /// has to leave: the queue stops and is empty, or the thread was idle for too long.
    pub(super) fn pop(&self) -> Option<Arc<dyn Job>> {
        let mut looks = LOOKS;
        loop {
            while looks > 0 && self.length() == 0 {
                looks -= 1;
                std::hint::spin_loop();
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
                return None;
            }
        }
    }

    /// Sleeps until called; then the thread counts as one that looks, or it was idle for too long.
    fn is_tired(&self, state: &mut MutexGuard<'_, State>) -> bool {
        state.idle += 1;
        let tired = if state.alive > self.threads.min() {
            let patience = Instant::now() + self.idle_max;
            self.not_empty.wait_until(state, patience).timed_out()
        } else {
            self.not_empty.wait(state);
            false
        };
        // Whose call it was does not matter: the thread that was meant looks as well.
        if state.called > 0 {
            state.called -= 1;
        } else {
            state.idle -= 1;
        }
        let leaves = tired && self.length() == 0 && state.alive > self.threads.min();
        if !leaves {
            state.looking += 1;
        }
        leaves
    }

    fn taken(
        &self,
        jobs: MutexGuard<'_, VecDeque<Arc<dyn Job>>>,
        job: Arc<dyn Job>,
    ) -> Arc<dyn Job> {
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
    fn starts_thread(&self, state: &mut State, length: usize) -> bool {
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

    /// A thread leaves; whether another one has to take its place, which counts as alive already.
    pub(super) fn leave(&self) -> bool {
        let mut state = self.entry.state.lock();
        state.alive -= 1;
        let replace = self.starts_thread(&mut state, self.length());
        drop(state);
        self.fewer.notify_all();
        replace
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
    pub(super) fn drain(&self) -> Vec<Arc<dyn Job>> {
        let mut jobs = self.exit.jobs.lock();
        let mut state = self.entry.state.lock();
        let drained: Vec<_> = jobs.drain(..).chain(state.jobs.drain(..)).collect();
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

impl State {
    fn count_thread(&mut self) {
        self.alive += 1;
        self.looking += 1;
    }
}

/// Adds without a locked instruction: the caller holds the lock under which it is written.
fn advance(counter: &AtomicUsize, by: usize) {
    counter.store(counter.load(Relaxed).wrapping_add(by), Relaxed);
}
