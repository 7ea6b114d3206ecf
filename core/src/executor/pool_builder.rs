//! What a pool can be told before it is built.

use super::options::{Threads, WhenFull};
use super::pool::{Executor, Shared};
use super::queue::Queue;
use super::under::{Under, under_setters};
use crate::error::Error;
use crate::gvl::lock::Lock;
use crate::gvl::{Gvl, Hook};
use std::sync::Arc;
use std::time::Duration;

/// Sets up an [`Executor`].
#[derive(Debug, Clone)]
pub struct ExecutorBuilder {
    name: String,
    min: u32,
    max: u32,
    under: Under,
    capacity: usize,
    when_full: WhenFull,
    idle_max: Duration,
    one_job: bool,
    before_number: &'static str,
    deadline: Option<Duration>,
    grace: Duration,
}

impl ExecutorBuilder {
    pub(super) fn new() -> Self {
        Self {
            name: "pool".to_owned(),
            min: 5,
            max: 5,
            under: Under::new(Gvl::cruby()),
            capacity: usize::MAX,
            when_full: WhenFull::Wait,
            idle_max: Duration::from_secs(30),
            one_job: false,
            before_number: " ",
            deadline: None,
            grace: Duration::from_secs(30),
        }
    }

    under_setters!();

    /// How many threads there are: `min` always, up to `max` when no thread is idle (5 and 5).
    #[must_use]
    pub fn threads(mut self, min: u32, max: u32) -> Self {
        (self.min, self.max) = (min, max);
        self
    }

    /// How many tasks may wait (endless), and what a submission does when they do.
    #[must_use]
    pub fn queue(mut self, capacity: usize, when_full: WhenFull) -> Self {
        (self.capacity, self.when_full) = (capacity, when_full);
        self
    }

    /// How long a thread above the minimum is idle before it leaves (30 s).
    #[must_use]
    pub fn idle_max(mut self, idle_max: Duration) -> Self {
        self.idle_max = idle_max;
        self
    }

    /// Gives each task a thread of its own, which leaves with it (off).
    #[must_use]
    pub fn thread_per_task(mut self, on: bool) -> Self {
        self.one_job = on;
        self
    }

    /// Puts this between the name and a thread's number, instead of a space.
    pub(crate) fn before_number(mut self, text: &'static str) -> Self {
        self.before_number = text;
        self
    }

    /// An executor with its minimum of threads running.
    ///
    /// # Errors
    /// No thread at most, more than 1024, a minimum above the maximum, a queue without room, or a
    /// lock whose quantum is out of range; a system that refuses the threads.
    pub fn build(self) -> Result<Executor, Error> {
        let threads = Threads::new(self.min, self.max)?;
        if self.capacity == 0 {
            return Err(Error::invalid("queue.capacity", 0, "at least 1"));
        }
        let lock = self.under.build()?;
        let queue = Queue::new(threads, self.capacity, self.when_full, self.idle_max, self.one_job);
        let shared = Arc::new(Shared::new(self.name, self.before_number, queue, lock));
        if !self.one_job {
            for _ in 0..threads.min() {
                shared.queue.count_thread();
                if let Err(refused) = shared.start_thread() {
                    shared.queue.stop();
                    return Err(Error::failed("executor", refused.error, "a system with threads"));
                }
            }
        }
        Ok(Executor { shared, grace: self.grace, deadline: self.deadline })
    }
}
