//! What a pool and a task can be told.

use crate::error::Error;
use std::time::Duration;

/// How many threads a pool has, checked: `min <= max`, and at least one at most.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Threads {
    min: u32,
    max: u32,
}

/// The most threads that a pool may have.
pub(crate) const THREADS_MAX: u32 = 1024;

impl Threads {
    /// Between `min` threads, started at once, and `max`, started when no thread is idle.
    ///
    /// # Errors
    /// `max` outside 1..=1024, or `min` above `max`.
    pub fn new(min: u32, max: u32) -> Result<Self, Error> {
        if !(1..=THREADS_MAX).contains(&max) {
            return Err(Error::invalid("threads.max", max, format!("1..={THREADS_MAX}")));
        }
        if min > max {
            return Err(Error::invalid("threads.min", min, format!("0..={max}, the maximum")));
        }
        Ok(Self { min, max })
    }

    /// The threads that are always there.
    pub fn min(self) -> u32 {
        self.min
    }

    /// The most threads at once.
    pub fn max(self) -> u32 {
        self.max
    }
}

/// What a submission does when the queue is full.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum WhenFull {
    /// It waits for room.
    #[default]
    Wait,
    /// It is rejected.
    Reject,
}

/// What one task is told.
#[derive(Debug, Clone, Default)]
pub struct TaskOptions {
    pub(super) deadline: Option<Duration>,
    pub(super) name: Option<String>,
}

impl TaskOptions {
    /// No deadline, no name.
    pub fn new() -> Self {
        Self::default()
    }

    /// Ends the task as [`TimedOut`](super::TaskError::TimedOut) this long after its submission,
    /// the time in the queue included.
    #[must_use]
    pub fn deadline(mut self, after: Duration) -> Self {
        self.deadline = Some(after);
        self
    }

    /// Names the task in spans and where a long poll is reported.
    #[must_use]
    pub fn name(mut self, name: impl Into<String>) -> Self {
        self.name = Some(name.into());
        self
    }
}
