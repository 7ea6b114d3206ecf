//! One thread that polls futures under the global lock, and a pool beside it for blocking calls.
//!
//! The loop is tokio's current-thread runtime, so its timers and sockets work inside a task.

use super::context::{self, Context, deadline_after};
use super::error::{Rejected, RejectedWhy};
use super::join::JoinHandle;
use super::lag::{LoopStats, Meter, PROBE};
use super::options::TaskOptions;
use super::polled::Polled;
use super::pool::Executor;
use super::stats::{Counters, Stats};
use crate::clock;
use crate::error::Error;
use crate::gvl::lock::Lock;
use crate::gvl::{Gvl, Hook};
use parking_lot::{Condvar, Mutex};
use std::fmt;
use std::future::Future;
use std::rc::Rc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, OnceLock};
use std::thread::ThreadId;
use std::time::{Duration, Instant};
use tokio::sync::Notify;

/// Polls futures on one thread, holding the global lock for each poll.
///
/// ```
/// use gvl_lab::executor::EventLoop;
/// use gvl_lab::gvl::Gvl;
/// use std::time::Duration;
///
/// let event_loop = EventLoop::builder().gvl(Gvl::cpython()).build()?;
/// let handle = event_loop.spawn_async(async {
///     tokio::time::sleep(Duration::from_millis(1)).await;
///     42
/// })?;
/// assert_eq!(handle.wait(), Ok(42));
/// let offloaded = event_loop.offload(|cx| cx.blocking(|| "from a thread"))?;
/// assert_eq!(offloaded.wait(), Ok("from a thread"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct EventLoop {
    shared: Arc<Shared>,
    runtime: tokio::runtime::Handle,
    offload: Executor,
    grace: Duration,
    deadline: Option<Duration>,
}

/// Sets up an [`EventLoop`].
#[derive(Debug, Clone)]
pub struct EventLoopBuilder {
    name: String,
    gvl: Gvl,
    accounting: bool,
    hook: Option<Hook>,
    offload_threads: u32,
    long_poll: Duration,
    event_interval: u32,
    deadline: Option<Duration>,
    grace: Duration,
}

pub(super) struct Shared {
    pub(super) lock: Arc<Lock>,
    pub(super) meter: Meter,
    pub(super) counters: Counters,
    in_flight: AtomicU64,
    stopping: AtomicBool,
    /// Starts the probe of the lag when there are tasks.
    busy: Notify,
    /// Ends the loop.
    end: Notify,
    thread: OnceLock<ThreadId>,
    /// Guards: whether the loop's thread has ended.
    ended: Mutex<bool>,
    /// Told when the last task or the thread ends.
    changed: Condvar,
}

impl EventLoop {
    /// A loop to set up: CPython's lock, 40 offload threads, a long poll from 10 ms on.
    pub fn builder() -> EventLoopBuilder {
        EventLoopBuilder {
            name: "loop".to_owned(),
            gvl: Gvl::cpython(),
            accounting: true,
            hook: None,
            offload_threads: 40,
            long_poll: Duration::from_millis(10),
            event_interval: 61,
            deadline: None,
            grace: Duration::from_secs(30),
        }
    }

    /// Submits a future.
    ///
    /// # Errors
    /// The future comes back when the loop was shut down.
    pub fn spawn_async<F>(&self, future: F) -> Result<JoinHandle<F::Output>, Rejected<F>>
    where
        F: Future + Send + 'static,
        F::Output: Send + 'static,
    {
        self.spawn_async_with(TaskOptions::default(), future)
    }

    /// Submits a future with a deadline or a name of its own.
    ///
    /// # Errors
    /// As [`EventLoop::spawn_async`].
    pub fn spawn_async_with<F>(
        &self,
        options: TaskOptions,
        future: F,
    ) -> Result<JoinHandle<F::Output>, Rejected<F>>
    where
        F: Future + Send + 'static,
        F::Output: Send + 'static,
    {
        let shared = &self.shared;
        if shared.stopping.load(Relaxed) {
            shared.counters.rejected();
            tracing::trace!(target: "gvl_lab::executor", why = %RejectedWhy::ShutDown, "rejected");
            return Err(Rejected { why: RejectedWhy::ShutDown, task: future });
        }
        if shared.in_flight.fetch_add(1, Relaxed) == 0 {
            shared.busy.notify_one();
        }
        let deadline = deadline_after(options.deadline.or(self.deadline)).map(|at| {
            let _on_loop = self.runtime.enter();
            Box::pin(tokio::time::sleep_until(clock::instant(at).into()))
        });
        tracing::trace!(target: "gvl_lab::executor", name = options.name, "queued");
        let polled = Polled::new(future, Arc::clone(shared), options.name, deadline);
        Ok(JoinHandle::of_loop(self.runtime.spawn(polled)))
    }

    /// Runs a closure on the offload pool, as `run_in_executor` or `to_thread` would.
    ///
    /// # Errors
    /// The closure comes back when the loop was shut down.
    pub fn offload<F, T>(&self, closure: F) -> Result<JoinHandle<T>, Rejected<F>>
    where
        F: FnOnce(&mut Context<'_>) -> T + Send + 'static,
        T: Send + 'static,
    {
        self.offload.spawn(closure)
    }

    /// Counts the loop's tasks and polls, its lag, and what its thread used of the lock.
    pub fn stats(&self) -> LoopStats {
        let mut tasks = Stats {
            running: self.shared.in_flight.load(Relaxed),
            threads: 1,
            gvl: self.shared.lock.usage(),
            ..Stats::default()
        };
        self.shared.counters.fill(&mut tasks);
        self.shared.meter.stats(tasks)
    }

    /// Counts the offload pool's tasks and threads.
    pub fn offload_stats(&self) -> Stats {
        self.offload.stats()
    }

    /// Accepts nothing more, waits for what was accepted at most for `grace`, and drops the rest,
    /// which ends as cancelled. Gives whether everything ended by itself.
    pub fn shutdown(&self, grace: Duration) -> bool {
        let shared = &self.shared;
        tracing::debug!(target: "gvl_lab::executor", ?grace, "shutting down");
        let until = Instant::now().checked_add(grace);
        shared.stopping.store(true, Relaxed);
        if shared.thread.get() == Some(&std::thread::current().id()) {
            // A task that ends its own loop cannot wait for itself.
            shared.end.notify_one();
            return false;
        }
        let mut ended = shared.ended.lock();
        while shared.in_flight.load(Relaxed) > 0 {
            let late = match until {
                Some(until) => shared.changed.wait_until(&mut ended, until).timed_out(),
                None => {
                    shared.changed.wait(&mut ended);
                    false
                }
            };
            if late {
                break;
            }
        }
        let drained = shared.in_flight.load(Relaxed) == 0;
        shared.end.notify_one();
        // The thread may be inside a poll that never returns: it is not waited for longer.
        let until = until.unwrap_or_else(Instant::now).max(Instant::now() + PROBE);
        while !*ended {
            if shared.changed.wait_until(&mut ended, until).timed_out() {
                break;
            }
        }
        drop(ended);
        let left = until.saturating_duration_since(Instant::now());
        self.offload.shutdown(left).drained && drained
    }
}

impl Drop for EventLoop {
    /// Shuts down with the builder's grace.
    fn drop(&mut self) {
        self.shutdown(self.grace);
    }
}

impl Shared {
    /// A task of the loop ended, in whatever way.
    pub(super) fn ended(&self) {
        if self.in_flight.fetch_sub(1, Relaxed) == 1 && self.stopping.load(Relaxed) {
            let _guard = self.ended.lock();
            self.changed.notify_all();
        }
    }

    /// Measures how late a timer of the loop fires, while there are tasks.
    async fn probe(&self) {
        loop {
            if self.in_flight.load(Relaxed) == 0 {
                self.busy.notified().await;
            }
            let due = tokio::time::Instant::now() + PROBE;
            tokio::time::sleep_until(due).await;
            self.meter.lagged(due.elapsed());
        }
    }
}

impl EventLoopBuilder {
    /// The global lock (CPython's).
    #[must_use]
    pub fn gvl(mut self, gvl: Gvl) -> Self {
        self.gvl = gvl;
        self
    }

    /// Keeps accounts of the lock (on). Off, polls are not timed either.
    #[must_use]
    pub fn accounting(mut self, on: bool) -> Self {
        self.accounting = on;
        self
    }

    /// Calls `hook` at each event in a thread's life under the lock.
    #[must_use]
    pub fn hook(mut self, hook: Hook) -> Self {
        self.hook = Some(hook);
        self
    }

    /// How many threads [`EventLoop::offload`] may use (40, Starlette's limit).
    #[must_use]
    pub fn offload_threads(mut self, threads: u32) -> Self {
        self.offload_threads = threads;
        self
    }

    /// From when on a poll is counted as long (10 ms).
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

    /// What the loop's thread is called (`loop`); offload threads are `name off 0`, ...
    #[must_use]
    pub fn name(mut self, name: impl Into<String>) -> Self {
        self.name = name.into();
        self
    }

    /// The deadline of tasks that have none of their own (none).
    #[must_use]
    pub fn deadline(mut self, after: Duration) -> Self {
        self.deadline = Some(after);
        self
    }

    /// How long dropping the loop waits for its tasks (30 s).
    #[must_use]
    pub fn grace(mut self, grace: Duration) -> Self {
        self.grace = grace;
        self
    }

    /// A loop with its thread running.
    ///
    /// # Errors
    /// No offload thread or more than 1024, an interval of nought, or a lock whose quantum is out of range; a system
    /// that gives the loop no thread or no selector.
    pub fn build(self) -> Result<EventLoop, Error> {
        self.gvl.check()?;
        if self.event_interval == 0 {
            return Err(Error::invalid("event_interval", 0, "at least 1"));
        }
        let mut lock = Lock::builder(self.gvl.clone()).accounting(self.accounting);
        if let Some(hook) = self.hook {
            lock = lock.hook(hook);
        }
        let lock = Arc::new(lock.build());
        let offload = Executor::builder()
            .threads(0, self.offload_threads)
            // Starlette's threads leave after ten idle seconds.
            .idle_max(Duration::from_secs(10))
            .name(format!("{} off", self.name))
            .lock(Arc::clone(&lock))
            .build()
            .map_err(|_| Error::invalid("offload_threads", self.offload_threads, "1..=1024"))?;
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .event_interval(self.event_interval)
            .global_queue_interval(self.event_interval.min(31))
            .build()
            .map_err(|e| Error::failed("event loop", e, "a system that gives it a selector"))?;
        let shared = Arc::new(Shared {
            lock,
            meter: Meter::new(self.long_poll),
            counters: Counters::default(),
            in_flight: AtomicU64::new(0),
            stopping: AtomicBool::new(false),
            busy: Notify::new(),
            end: Notify::new(),
            thread: OnceLock::new(),
            ended: Mutex::new(false),
            changed: Condvar::new(),
        });
        let handle = runtime.handle().clone();
        let (loop_shared, name) = (Arc::clone(&shared), self.name);
        std::thread::Builder::new()
            .name(name.clone())
            .spawn(move || run(runtime, &loop_shared, name))
            .map_err(|e| Error::failed("event loop", e, "a system that gives it a thread"))?;
        let (grace, deadline) = (self.grace, self.deadline);
        Ok(EventLoop { shared, runtime: handle, offload, grace, deadline })
    }
}

fn run(runtime: tokio::runtime::Runtime, shared: &Arc<Shared>, name: String) {
    /// Tells the end also if the runtime panics.
    struct Told<'a>(&'a Shared);
    impl Drop for Told<'_> {
        fn drop(&mut self) {
            *self.0.ended.lock() = true;
            self.0.changed.notify_all();
        }
    }
    let _told = Told(shared);
    shared.thread.get_or_init(|| std::thread::current().id());
    let member = Rc::new(shared.lock.join(name));
    let _enlisted = context::enlist(&member);
    runtime.block_on(async {
        tokio::select! {
            () = shared.end.notified() => {}
            () = shared.probe() => {}
        }
    });
    // Dropping the runtime drops the tasks that are left: they end as cancelled.
    drop(runtime);
}

impl fmt::Debug for EventLoop {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("EventLoop").finish_non_exhaustive()
    }
}
