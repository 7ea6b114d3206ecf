//! The submitter's end of a task: a future, and something to wait on.

use super::context::released;
use super::error::TaskError;
use super::task::Outcome;
use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context as Poller, Poll, Wake, Waker};
use std::thread::Thread;
use std::time::{Duration, Instant};
use tokio::task::JoinHandle as LoopHandle;

/// Gives a task's outcome: `await` it, or wait for it.
///
/// Dropping the handle leaves the task alone.
#[must_use = "the outcome is in the handle; drop it on purpose if it does not matter"]
pub struct JoinHandle<T>(Kind<T>);

enum Kind<T> {
    Pool(Arc<dyn Outcome<T>>),
    Loop(LoopHandle<Result<T, TaskError>>),
}

impl<T> JoinHandle<T> {
    pub(crate) fn of_task(task: Arc<dyn Outcome<T>>) -> Self {
        Self(Kind::Pool(task))
    }

    pub(super) fn of_loop(handle: LoopHandle<Result<T, TaskError>>) -> Self {
        Self(Kind::Loop(handle))
    }

    /// Waits for the outcome. Inside a task the global lock is released meanwhile, as in a blocking
    /// region; a pool whose threads all wait for tasks behind them in its queue waits for ever.
    ///
    /// # Errors
    /// What became of the task, if it has no value.
    pub fn wait(mut self) -> Result<T, TaskError> {
        if let Kind::Pool(task) = &self.0 {
            task.look_out();
        }
        park_until(&mut self, None).expect("a wait without an end gives an outcome")
    }

    /// Waits for the outcome, at most for `longest`; gives the handle back when it is not there.
    ///
    /// # Errors
    /// The handle itself, with the task still under way.
    pub fn wait_for(mut self, longest: Duration) -> Result<Result<T, TaskError>, Self> {
        let until = Instant::now().checked_add(longest);
        park_until(&mut self, until).ok_or(self)
    }

    /// Ends the task as cancelled, unless it has ended. A closure that is running goes on until
    /// its next checkpoint, where it is unwound; a future is dropped.
    pub fn cancel(&self) {
        match &self.0 {
            Kind::Pool(task) => drop(task.end(TaskError::Cancelled)),
            Kind::Loop(handle) => handle.abort(),
        }
    }

    /// Whether the outcome is there.
    pub fn is_finished(&self) -> bool {
        match &self.0 {
            Kind::Pool(task) => task.is_settled(),
            Kind::Loop(handle) => handle.is_finished(),
        }
    }
}

/// Unparks a thread.
struct Unpark(Thread);

impl Wake for Unpark {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}

thread_local! {
    /// Wakes this thread.
    static WAKER: Waker = Arc::new(Unpark(std::thread::current())).into();
}

/// Polls a future on this thread until it is ready or the time has come.
fn park_until<F: Future + Unpin>(future: &mut F, until: Option<Instant>) -> Option<F::Output> {
    match WAKER.try_with(|waker| poll_until(&mut *future, until, waker)) {
        Ok(output) => output,
        // In a destructor, after the thread's own one.
        Err(_) => poll_until(future, until, &Arc::new(Unpark(std::thread::current())).into()),
    }
}

fn poll_until<F: Future + Unpin>(
    future: &mut F,
    until: Option<Instant>,
    waker: &Waker,
) -> Option<F::Output> {
    let mut poller = Poller::from_waker(waker);
    if let Poll::Ready(output) = Pin::new(&mut *future).poll(&mut poller) {
        return Some(output);
    }
    released(|| {
        loop {
            match until.map(|until| until.saturating_duration_since(Instant::now())) {
                None => std::thread::park(),
                Some(Duration::ZERO) => return None,
                Some(left) => std::thread::park_timeout(left),
            }
            if let Poll::Ready(output) = Pin::new(&mut *future).poll(&mut poller) {
                return Some(output);
            }
        }
    })
}

/// A task of the loop that tokio gave up: aborted, dropped with its loop, or panicked.
fn lost(error: tokio::task::JoinError) -> TaskError {
    match error.try_into_panic() {
        Ok(payload) => TaskError::of_panic(&*payload),
        Err(_) => TaskError::Cancelled,
    }
}

impl<T> Future for JoinHandle<T> {
    type Output = Result<T, TaskError>;

    fn poll(mut self: Pin<&mut Self>, poller: &mut Poller<'_>) -> Poll<Self::Output> {
        match &mut self.0 {
            Kind::Pool(task) => task.poll(poller.waker()),
            Kind::Loop(handle) => {
                Pin::new(handle).poll(poller).map(|done| done.unwrap_or_else(|e| Err(lost(e))))
            }
        }
    }
}

impl<T> fmt::Debug for JoinHandle<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("JoinHandle").field("finished", &self.is_finished()).finish()
    }
}
