//! What an event loop can be told before it is built.

use super::event_loop::{self, EventLoop, Shared};
use super::lag::Meter;
use super::pool::Executor;
use super::under::{Under, under_setters};
use crate::error::Error;
use crate::gvl::lock::Lock;
use crate::gvl::{Gvl, Hook};
use crate::sync::serve;
use std::sync::Arc;
use std::time::Duration;

/// Sets up an [`EventLoop`].
#[derive(Debug, Clone)]
pub struct EventLoopBuilder {
    name: String,
    under: Under,
    offload_threads: u32,
    long_poll: Duration,
    event_interval: u32,
    deadline: Option<Duration>,
    grace: Duration,
}

impl EventLoopBuilder {
    pub(super) fn new() -> Self {
        Self {
            name: "loop".to_owned(),
            under: Under::new(Gvl::cpython()),
            offload_threads: 40,
            long_poll: Duration::from_millis(10),
            event_interval: 61,
            deadline: None,
            grace: Duration::from_secs(30),
        }
    }

    under_setters!();

    /// How many threads [`EventLoop::offload`] may use (40, Starlette's limit).
    #[must_use]
    pub fn offload_threads(mut self, threads: u32) -> Self {
        self.offload_threads = threads;
        self
    }

    /// From when on a poll is counted as long (10 ms). Polls are timed by the lock's accounts or for
    /// its hook: without both none is long.
    #[must_use]
    pub fn long_poll(mut self, threshold: Duration) -> Self {
        self.long_poll = threshold;
        self
    }

    /// After how many polls at most the loop looks for timers, sockets and tasks of other threads
    /// (61, tokio's default). With 1 it looks after each, which costs a system call and comes
    /// closest to asyncio, which looks after each round of ready callbacks.
    #[must_use]
    pub fn event_interval(mut self, polls: u32) -> Self {
        self.event_interval = polls;
        self
    }

    /// A loop with its thread running.
    ///
    /// # Errors
    /// No offload thread or more than 1024, an interval of nought, or a lock whose quantum is out of range; a system
    /// that gives the loop no thread or no selector.
    pub fn build(self) -> Result<EventLoop, Error> {
        if self.event_interval == 0 {
            return Err(Error::invalid("event_interval", 0, "at least 1"));
        }
        let lock = self.under.build()?;
        let offload = Executor::builder()
            .threads(0, self.offload_threads)
            // Starlette's threads leave after ten idle seconds.
            .idle_max(Duration::from_secs(10))
            .name(format!("{} off", self.name))
            .grace(self.grace)
            .lock(Arc::clone(&lock))
            .build()
            .map_err(|_| Error::invalid("offload_threads", self.offload_threads, "1..=1024"))?;
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .event_interval(self.event_interval)
            // Tasks of other threads, too; 31 is tokio's own interval for them.
            .global_queue_interval(self.event_interval.min(31))
            .build()
            .map_err(|e| Error::failed("event loop", e, "a system that gives it a selector"))?;
        let shared = Arc::new(Shared::new(lock, Meter::new(self.long_poll)));
        let handle = runtime.handle().clone();
        let (loop_shared, name) = (Arc::clone(&shared), self.name);
        serve(&name.clone(), move || event_loop::run(runtime, &loop_shared, name))
            .map_err(|e| Error::failed("event loop", e, "a system that gives it a thread"))?;
        let (grace, deadline) = (self.grace, self.deadline);
        Ok(EventLoop { shared, runtime: handle, offload: Some(offload), grace, deadline })
    }
}
