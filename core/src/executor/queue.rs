//! The bounded queue between submitters and the threads of a pool, first come first served.
//!
//! It also knows how many threads there are and how many are idle, since whether a submission
//! starts a thread depends on both: Puma's rule, one thread for a task that no idle thread will
//! take (`thread_pool.rb`, `waiting < todo.size && spawned < max`).

use super::error::RejectedWhy;
use super::options::{Threads, WhenFull};
use super::task::Job;
use parking_lot::{Condvar, Mutex, MutexGuard};
use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::time::{Duration, Instant};

pub(super) struct Queue {
    /// Guards: jobs, idle and living threads agree, and nothing is queued once it stops.
    state: Mutex<State>,
    not_empty: Condvar,
    not_full: Condvar,
    /// Told when a thread leaves.
    fewer: Condvar,
    /// How many jobs are queued, for threads that look before they sleep: a hint.
    length: AtomicUsize,
    capacity: usize,
    when_full: WhenFull,
    threads: Threads,
    /// A thread above the minimum leaves after being idle so long.
    idle_max: Duration,
    /// A thread leaves after each job.
    one_job: bool,
}

#[derive(Default)]
struct State {
    jobs: VecDeque<Arc<dyn Job>>,
    idle: u32,
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
            state: Mutex::new(State::default()),
            not_empty: Condvar::new(),
            not_full: Condvar::new(),
            fewer: Condvar::new(),
            length: AtomicUsize::new(0),
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
        let mut state = self.state.lock();
        while !state.stopping && state.jobs.len() >= self.capacity {
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
        self.length.store(state.jobs.len(), Relaxed);
        let idle = state.idle > 0;
        let start = (state.idle as usize) < state.jobs.len() && state.alive < self.threads.max();
        if start {
            state.alive += 1;
        }
        drop(state);
        if idle {
            self.not_empty.notify_one();
        }
        Ok(if start { Pushed::StartThread } else { Pushed::Queued })
    }

    /// Counts a thread that is there from the beginning.
    pub(super) fn count_thread(&self) {
        self.state.lock().alive += 1;
    }

    /// The next job, if there is one now.
    pub(super) fn try_pop(&self) -> Option<Arc<dyn Job>> {
        if self.length.load(Relaxed) == 0 {
            return None;
        }
        self.take(self.state.lock())
    }

    /// The next job, waiting for one; `None` when the thread has to leave: the queue stops and is
    /// empty, or the thread was idle for too long.
    pub(super) fn pop(&self) -> Option<Arc<dyn Job>> {
        for _ in 0..LOOKS {
            if self.length.load(Relaxed) > 0 {
                break;
            }
            std::hint::spin_loop();
        }
        let mut state = self.state.lock();
        let patience = Instant::now() + self.idle_max;
        while state.jobs.is_empty() {
            if state.stopping {
                return None;
            }
            state.idle += 1;
            let tired = if state.alive > self.threads.min() {
                self.not_empty.wait_until(&mut state, patience).timed_out()
            } else {
                self.not_empty.wait(&mut state);
                false
            };
            state.idle -= 1;
            if tired && state.jobs.is_empty() && state.alive > self.threads.min() {
                return None;
            }
        }
        self.take(state)
    }

    fn take(&self, mut state: MutexGuard<'_, State>) -> Option<Arc<dyn Job>> {
        let job = state.jobs.pop_front();
        let was_full = state.jobs.len() + 1 >= self.capacity;
        self.length.store(state.jobs.len(), Relaxed);
        drop(state);
        if was_full {
            self.not_full.notify_one();
        }
        job
    }

    /// Whether a thread leaves after each job.
    pub(super) fn is_one_job(&self) -> bool {
        self.one_job
    }

    /// A thread leaves; whether another one has to take its place, which counts as alive already.
    pub(super) fn leave(&self) -> bool {
        let mut state = self.state.lock();
        state.alive -= 1;
        let replace = (state.idle as usize) < state.jobs.len() && state.alive < self.threads.max();
        if replace {
            state.alive += 1;
        }
        drop(state);
        self.fewer.notify_all();
        replace
    }

    /// Accepts nothing more; threads leave when the queue is empty. Submitters that wait are
    /// refused.
    pub(super) fn stop(&self) {
        self.state.lock().stopping = true;
        self.not_empty.notify_all();
        self.not_full.notify_all();
    }

    /// Waits until all threads left (true) or the time has come.
    pub(super) fn wait_until_deserted(&self, until: Option<Instant>) -> bool {
        let mut state = self.state.lock();
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
        let mut state = self.state.lock();
        self.length.store(0, Relaxed);
        state.jobs.drain(..).collect()
    }

    /// Queued jobs, and living threads.
    pub(super) fn count(&self) -> (usize, u32) {
        let state = self.state.lock();
        (state.jobs.len(), state.alive)
    }
}
