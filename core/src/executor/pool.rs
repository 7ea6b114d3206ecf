//! A pool of threads under one global lock.

use super::context::{Context, deadline_after, released};
use super::deadline::Deadlines;
use super::error::{Rejected, RejectedWhy, TaskError};
use super::join::JoinHandle;
use super::options::TaskOptions;
use super::pool_builder::ExecutorBuilder;
use super::queue::{Pushed, Queue};
use super::stats::{Counters, Stats};
use super::task::{Job, Outcome, Task};
use super::worker::{self, Desk};
use crate::contain::contain;
use crate::error::Error;
use crate::gvl::lock::Lock;
use parking_lot::Mutex;
use std::fmt;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering::Relaxed};
use std::time::{Duration, Instant};

/// Runs closures on a pool of threads, each of which holds the global lock while it runs.
///
/// ```
/// use gvl_lab::executor::Executor;
/// use gvl_lab::gvl::Gvl;
///
/// let executor = Executor::builder().threads(2, 4).gvl(Gvl::cruby()).build()?;
/// let handle = executor.spawn(|cx| cx.blocking(|| 6 * 7))?;
/// assert_eq!(handle.wait(), Ok(42));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Executor {
    pub(super) shared: Arc<Shared>,
    pub(super) grace: Duration,
    pub(super) deadline: Option<Duration>,
}

/// How a shutdown went.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shutdown {
    /// Whether everything accepted was run to its end within the grace.
    pub drained: bool,
    /// Tasks that were cancelled for it.
    pub cancelled: u64,
    /// Threads that are still in a task which reaches no checkpoint. A thread cannot be ended
    /// from outside; its task has ended as cancelled, and it leaves when the closure returns.
    pub threads_left: u32,
}

pub(super) struct Shared {
    pub(super) name: String,
    /// What stands between the name and a thread's number.
    pub(super) before_number: &'static str,
    pub(super) queue: Queue<Arc<dyn Job>>,
    pub(super) lock: Arc<Lock>,
    /// Guards nothing but itself: the threads that are alive.
    pub(super) desks: Mutex<Vec<Arc<Desk>>>,
    counters: Arc<Counters>,
    deadlines: Deadlines,
    started: AtomicU32,
    /// A shutdown is out of patience: what a thread takes now is cancelled.
    pub(super) cancelling: AtomicBool,
}

/// A thread that the system did not give, and the jobs for which nobody is left.
pub(super) struct Refused {
    pub(super) error: io::Error,
    left: Vec<Arc<dyn Job>>,
}

impl Executor {
    /// An executor to set up: 5 threads, CRuby's lock, an endless queue.
    pub fn builder() -> ExecutorBuilder {
        ExecutorBuilder::new()
    }

    /// Submits a closure.
    ///
    /// # Errors
    /// The closure comes back when the queue is full and the executor rejects, when the executor
    /// was shut down, when one of its own threads would have to wait for room, or when the system
    /// gives the task no thread.
    pub fn spawn<F, T>(&self, closure: F) -> Result<JoinHandle<T>, Rejected<F>>
    where
        F: FnOnce(&mut Context<'_>) -> T + Send + 'static,
        T: Send + 'static,
    {
        self.spawn_with(TaskOptions::default(), closure)
    }

    /// Submits a closure with a deadline or a name of its own.
    ///
    /// # Errors
    /// As [`Executor::spawn`].
    pub fn spawn_with<F, T>(
        &self,
        options: TaskOptions,
        closure: F,
    ) -> Result<JoinHandle<T>, Rejected<F>>
    where
        F: FnOnce(&mut Context<'_>) -> T + Send + 'static,
        T: Send + 'static,
    {
        let shared = &self.shared;
        let deadline = deadline_after(options.deadline.or(self.deadline));
        let counters = Arc::clone(&shared.counters);
        let task = Arc::new(Task::new(closure, deadline, options.name, counters));
        if let Err(why) = shared.submit(|| Arc::clone(&task) as Arc<dyn Job>, deadline.is_some()) {
            shared.counters.rejected();
            tracing::trace!(target: "gvl_lab::executor", %why, "rejected");
            let task = Arc::into_inner(task).expect("a refused task was given to nobody");
            return Err(Rejected { why, task: task.into_closure() });
        }
        tracing::trace!(target: "gvl_lab::executor", "queued");
        if let Some(at) = deadline {
            shared.deadlines.watch(at, &(Arc::clone(&task) as Arc<dyn Job>));
        }
        Ok(JoinHandle::of_task(task as Arc<dyn Outcome<T>>))
    }

    /// Counts tasks and threads, and what each thread used of the global lock.
    pub fn stats(&self) -> Stats {
        let (queued, threads) = self.shared.queue.count();
        // What has its outcome runs no more, though it may lie on its desk still.
        let runs = |desk: &&Arc<Desk>| desk.job.lock().as_ref().is_some_and(|j| !j.is_settled());
        let running = self.shared.desks.lock().iter().filter(runs).count();
        let mut stats = Stats {
            queued: queued as u64,
            running: running as u64,
            threads,
            gvl: self.shared.lock.usage(),
            ..Stats::default()
        };
        self.shared.counters.fill(&mut stats);
        stats
    }

    /// Accepts nothing more, runs what was accepted, at most for `grace`, and then cancels what is
    /// left. Threads leave as their tasks end. Inside a task of another executor the global lock is
    /// released meanwhile; a task of this one does not wait, since it would wait for itself.
    pub fn shutdown(&self, grace: Duration) -> Shutdown {
        let shared = &self.shared;
        tracing::debug!(target: "gvl_lab::executor", name = shared.name, ?grace, "shutting down");
        shared.queue.stop();
        if worker::is_own(shared) {
            return self.report(false, 0);
        }
        released(|| self.drain_or_cancel(grace))
    }

    fn drain_or_cancel(&self, grace: Duration) -> Shutdown {
        let shared = &self.shared;
        if shared.queue.wait_until_deserted(Instant::now().checked_add(grace)) {
            return self.report(true, 0);
        }
        shared.cancelling.store(true, Relaxed);
        let queued = shared.queue.drain();
        let running: Vec<_> =
            shared.desks.lock().iter().filter_map(|desk| desk.job.lock().clone()).collect();
        let cancelled = queued.into_iter().chain(running).map(cancel).sum();
        // Those that reach a checkpoint leave at once; a moment is enough, and the rest is told.
        shared.queue.wait_until_deserted(Some(Instant::now() + LAST_MOMENT));
        self.report(false, cancelled)
    }

    fn report(&self, drained: bool, cancelled: u64) -> Shutdown {
        Shutdown { drained, cancelled, threads_left: self.shared.queue.count().1 }
    }
}

/// Cancels a job; how many tasks that ended.
fn cancel(job: Arc<dyn Job>) -> u64 {
    let ended = job.end(TaskError::Cancelled);
    // The last one to let go of the task drops its value.
    contain(|| drop(job));
    u64::from(ended)
}

/// How long a shutdown whose grace is over waits for threads that were told to stop.
const LAST_MOMENT: Duration = Duration::from_millis(100);

impl Drop for Executor {
    /// Shuts down with the builder's grace.
    fn drop(&mut self) {
        self.shutdown(self.grace);
    }
}

impl Shared {
    /// A pool whose threads are still to be started.
    pub(super) fn new(
        name: String,
        before_number: &'static str,
        queue: Queue<Arc<dyn Job>>,
        lock: Arc<Lock>,
    ) -> Self {
        Self {
            name,
            before_number,
            queue,
            lock,
            desks: Mutex::new(Vec::new()),
            counters: Arc::default(),
            deadlines: Deadlines::default(),
            started: AtomicU32::new(0),
            cancelling: AtomicBool::new(false),
        }
    }

    /// What thread `n` is called.
    pub(super) fn thread_name(&self, n: u32) -> String {
        format!("{}{}{n}", self.name, self.before_number)
    }

    /// Queues a job that nobody else has yet, and starts a thread where it needs one.
    fn submit(
        self: &Arc<Self>,
        job: impl Fn() -> Arc<dyn Job>,
        has_deadline: bool,
    ) -> Result<(), RejectedWhy> {
        if has_deadline {
            self.deadlines.start().map_err(|_| RejectedWhy::NoThread)?;
        }
        let Pushed::StartThread = self.queue.push(worker::is_own(self), &job)? else {
            return Ok(());
        };
        let Err(mut refused) = self.start_thread() else { return Ok(()) };
        let submitted = job();
        let place = refused.left.iter().position(|left| Arc::ptr_eq(left, &submitted));
        place.map(|place| refused.left.remove(place));
        refused.cancel();
        place.map_or(Ok(()), |_| Err(RejectedWhy::NoThread))
    }

    /// Starts one more thread, which the queue counts as alive already.
    ///
    /// # Errors
    /// The system gives none. Where no other thread is left, the queue is empty then.
    pub(super) fn start_thread(self: &Arc<Self>) -> Result<(), Refused> {
        worker::start(self, self.started.fetch_add(1, Relaxed)).map_err(|error| {
            tracing::warn!(target: "gvl_lab::executor", name = self.name, %error, "no thread");
            Refused { error, left: self.queue.not_started() }
        })
    }

    /// Whether a job that a thread takes now is one too many.
    pub(super) fn is_cancelling(&self) -> bool {
        // ORDERING: Relaxed; set before a shutdown looks at the desks, read after the job is on
        // one: the desk's mutex orders them.
        self.cancelling.load(Relaxed)
    }
}

impl Refused {
    /// Ends the jobs.
    pub(super) fn cancel(self) {
        for job in self.left {
            cancel(job);
        }
    }
}

impl fmt::Debug for Executor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Executor").field("name", &self.shared.name).finish_non_exhaustive()
    }
}

impl From<RejectedWhy> for Error {
    fn from(why: RejectedWhy) -> Self {
        Error::failed("executor", why, "an executor that accepts tasks")
    }
}
