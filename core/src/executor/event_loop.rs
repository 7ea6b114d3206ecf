//! One thread that polls futures under the global lock, and a pool beside it for blocking calls.
//!
//! The loop is tokio's current-thread runtime, so its timers and sockets work inside a task.

use super::context::{self, Context, deadline_after, released};
use super::error::{Rejected, RejectedWhy};
use super::join::JoinHandle;
use super::lag::{LoopStats, Meter, PROBE};
use super::loop_builder::EventLoopBuilder;
use super::options::TaskOptions;
use super::polled::Polled;
use super::pool::Executor;
use super::stats::{Counters, Stats};
use super::worker;
use crate::clock;
use crate::gvl::lock::Lock;
use parking_lot::{Condvar, Mutex};
use std::fmt;
use std::future::Future;
use std::rc::Rc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed, Ordering::SeqCst};
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
    pub(super) shared: Arc<Shared>,
    pub(super) runtime: tokio::runtime::Handle,
    /// There until the loop is dropped.
    pub(super) offload: Option<Executor>,
    pub(super) grace: Duration,
    pub(super) deadline: Option<Duration>,
}

pub(super) struct Shared {
    pub(super) lock: Arc<Lock>,
    pub(super) meter: Meter,
    pub(super) counters: Counters,
    /// Tasks accepted and not ended.
    ///
    /// ORDERING: SeqCst, as `stopping`. A submission counts itself and then looks whether the loop
    /// stops; a shutdown says so and then looks at the count: one of them sees the other. The same
    /// goes for the end of the last task.
    in_flight: AtomicU64,
    stopping: AtomicBool,
    /// The offload pool of a loop that was dropped on its own thread: ended after it.
    orphan: Mutex<Option<Executor>>,
    /// Starts the probe of the lag when there are tasks.
    busy: Notify,
    /// Ends the loop.
    end: Notify,
    thread: OnceLock<ThreadId>,
    /// Guards: whether the loop's thread has ended.
    pub(super) ended: Mutex<bool>,
    /// Told when the last task or the thread ends.
    changed: Condvar,
}

impl EventLoop {
    /// A loop to set up: CPython's lock, 40 offload threads, a long poll from 10 ms on.
    pub fn builder() -> EventLoopBuilder {
        EventLoopBuilder::new()
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
        let first = shared.in_flight.fetch_add(1, SeqCst) == 0;
        if shared.stopping.load(SeqCst) {
            shared.ended();
            shared.counters.rejected();
            tracing::trace!(target: "gvl_lab::executor", why = %RejectedWhy::ShutDown, "rejected");
            return Err(Rejected { why: RejectedWhy::ShutDown, task: future });
        }
        if first {
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
        self.offload_pool().spawn(closure)
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
        self.offload_pool().stats()
    }

    fn offload_pool(&self) -> &Executor {
        self.offload.as_ref().expect("the pool is there until the drop")
    }

    /// Accepts nothing more, waits for what was accepted at most for `grace`, and drops the rest,
    /// which ends as cancelled. Gives whether everything ended by itself.
    ///
    /// A task of the loop or an offloaded call would wait for itself: there the grace is nought and
    /// nothing is waited for.
    pub fn shutdown(&self, grace: Duration) -> bool {
        let shared = &self.shared;
        tracing::debug!(target: "gvl_lab::executor", ?grace, "shutting down");
        let until = Instant::now().checked_add(grace);
        shared.stopping.store(true, SeqCst);
        if shared.is_own_thread() || worker::is_own(&self.offload_pool().shared) {
            shared.end.notify_one();
            return false;
        }
        released(|| self.drain(until))
    }

    fn drain(&self, until: Option<Instant>) -> bool {
        let shared = &self.shared;
        let mut ended = shared.ended.lock();
        let mut drained = true;
        while shared.in_flight.load(SeqCst) > 0 {
            let late = match until {
                Some(until) => shared.changed.wait_until(&mut ended, until).timed_out(),
                None => {
                    shared.changed.wait(&mut ended);
                    false
                }
            };
            if late {
                drained = shared.in_flight.load(SeqCst) == 0;
                break;
            }
        }
        shared.end.notify_one();
        // The thread may be inside a poll that never returns: it is not waited for longer.
        let soon = Instant::now() + PROBE;
        let last = until.map_or(soon, |until| until.max(soon));
        while !*ended {
            if shared.changed.wait_until(&mut ended, last).timed_out() {
                break;
            }
        }
        drop(ended);
        // Without a limit there is none for offloaded calls either.
        let left = until.map_or(Duration::MAX, |_| last.saturating_duration_since(Instant::now()));
        self.offload_pool().shutdown(left).drained && drained
    }
}

impl Drop for EventLoop {
    /// Shuts down with the builder's grace; by a task of its own, at once.
    fn drop(&mut self) {
        self.shutdown(self.grace);
        if self.shared.is_own_thread() {
            // Its drop waits for the calls, for which a poll has no time.
            *self.shared.orphan.lock() = self.offload.take();
        }
    }
}

impl Shared {
    pub(super) fn new(lock: Arc<Lock>, meter: Meter) -> Self {
        Self {
            lock,
            meter,
            counters: Counters::default(),
            in_flight: AtomicU64::new(0),
            stopping: AtomicBool::new(false),
            orphan: Mutex::new(None),
            busy: Notify::new(),
            end: Notify::new(),
            thread: OnceLock::new(),
            ended: Mutex::new(false),
            changed: Condvar::new(),
        }
    }

    /// A task of the loop ended, in whatever way.
    pub(super) fn ended(&self) {
        if self.in_flight.fetch_sub(1, SeqCst) == 1 && self.stopping.load(SeqCst) {
            let _guard = self.ended.lock();
            self.changed.notify_all();
        }
    }

    fn is_own_thread(&self) -> bool {
        self.thread.get() == Some(&std::thread::current().id())
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

/// The loop's thread.
pub(super) fn run(runtime: tokio::runtime::Runtime, shared: &Arc<Shared>, name: String) {
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
    // The end of the runtime drops the tasks that are left: they end as cancelled. What they gave
    // to `spawn_blocking` is not waited for: nothing ends it.
    runtime.shutdown_background();
    let orphan = shared.orphan.lock().take();
    drop(orphan);
}

impl fmt::Debug for EventLoop {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("EventLoop").finish_non_exhaustive()
    }
}
