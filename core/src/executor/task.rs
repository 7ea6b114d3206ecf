//! One task of a pool: its closure, then its outcome, in one allocation.
//!
//! Whoever comes first decides the outcome: the thread that ran it, its deadline, a cancellation
//! or the executor's end. All of them go through [`Task::settle`], so that there is exactly one.

use super::context::{Context, Stop};
use super::error::TaskError;
use super::stats::Counters;
use crate::clock::Nanos;
use crate::contain::{contain, discard};
use parking_lot::Mutex;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering::Relaxed};
use std::task::{Poll, Waker};

/// A task as its pool sees it.
pub(super) trait Job: Send + Sync {
    /// Runs it on this thread and settles it. Never unwinds.
    fn run(&self, cx: &mut Context<'_>);
    /// Ends it without a value, unless it has ended; whether it did.
    fn end(&self, error: TaskError) -> bool;
    /// Whether it has ended.
    fn is_settled(&self) -> bool;
    /// Whether it was told to stop, and why.
    fn stop(&self) -> Option<Stop>;
    /// When it has to have ended.
    fn deadline(&self) -> Option<Nanos>;
    /// Its name, for spans.
    fn name(&self) -> &str;
}

/// A task as its handle sees it.
pub(crate) trait Outcome<T>: Send + Sync {
    /// The outcome, or notes whom to wake when there is one.
    fn poll(&self, waker: &Waker) -> Poll<Result<T, TaskError>>;
    fn end(&self, error: TaskError) -> bool;
    /// Called by a thread before it sleeps until there is an outcome: looks out for one that is near.
    fn look_out(&self) {}
    fn is_settled(&self) -> bool;
}

pub(super) struct Task<F, T> {
    /// Guards: exactly one outcome, and nobody who waits for it is forgotten.
    stage: Mutex<Stage<F, T>>,
    /// A [`Stop`] for the running closure, or nought.
    stop: AtomicU8,
    /// What few tasks have: the others are two cache lines with it, and one without.
    extra: Option<Box<Extra>>,
    counters: Arc<Counters>,
}

struct Extra {
    deadline: Option<Nanos>,
    name: Option<String>,
}

enum Stage<F, T> {
    Queued(F, Option<Waker>),
    Running(Option<Waker>),
    Settled(Result<T, TaskError>),
    Taken,
}

impl<F, T> Task<F, T> {
    pub(super) fn new(
        closure: F,
        deadline: Option<Nanos>,
        name: Option<String>,
        counters: Arc<Counters>,
    ) -> Self {
        let extra =
            (deadline.is_some() || name.is_some()).then(|| Box::new(Extra { deadline, name }));
        let stage = Mutex::new(Stage::Queued(closure, None));
        Self { stage, stop: AtomicU8::new(0), extra, counters }
    }

    /// Takes the closure back from a task that was never queued.
    pub(super) fn into_closure(self) -> F {
        match self.stage.into_inner() {
            Stage::Queued(closure, _) => closure,
            _ => unreachable!("a task that was not queued did not run"),
        }
    }

    /// Sets the outcome, if there is none yet, and wakes whoever waits for it; whether it did. Never
    /// unwinds: wakers and destructors are code of others, and run after the lock is released.
    fn settle(&self, outcome: Result<T, TaskError>) -> bool {
        let mut stage = self.stage.lock();
        if matches!(*stage, Stage::Settled(_) | Stage::Taken) {
            drop(stage);
            contain(|| drop(outcome));
            return false;
        }
        match &outcome {
            Ok(_) => self.counters.done(),
            Err(error) => self.counters.failed(error),
        }
        let before = std::mem::replace(&mut *stage, Stage::Settled(outcome));
        drop(stage);
        let (closure, waker) = match before {
            Stage::Queued(closure, waker) => (Some(closure), waker),
            Stage::Running(waker) => (None, waker),
            Stage::Settled(_) | Stage::Taken => unreachable!("a task is settled once"),
        };
        contain(|| waker.into_iter().for_each(Waker::wake));
        contain(|| drop(closure));
        true
    }
}

impl<F, T> Job for Task<F, T>
where
    F: FnOnce(&mut Context<'_>) -> T + Send,
    T: Send,
{
    fn run(&self, cx: &mut Context<'_>) {
        let mut stage = self.stage.lock();
        let closure = match std::mem::replace(&mut *stage, Stage::Taken) {
            Stage::Queued(closure, waker) => {
                *stage = Stage::Running(waker);
                closure
            }
            ended => {
                *stage = ended;
                return;
            }
        };
        drop(stage);
        match catch_unwind(AssertUnwindSafe(|| closure(cx))) {
            Ok(value) => {
                self.settle(Ok(value));
            }
            Err(payload) => {
                // A closure that was told to stop, and did: its outcome stands already, or is this.
                let stop = payload.downcast_ref::<Stop>().map(|stop| stop.error());
                self.settle(Err(stop.unwrap_or_else(|| TaskError::of_panic(&*payload))));
                discard(payload);
            }
        }
    }

    fn end(&self, error: TaskError) -> bool {
        self.stop.store(Stop::of(&error) as u8, Relaxed);
        self.settle(Err(error))
    }

    fn is_settled(&self) -> bool {
        matches!(*self.stage.lock(), Stage::Settled(_) | Stage::Taken)
    }

    fn stop(&self) -> Option<Stop> {
        Stop::from_bits(self.stop.load(Relaxed))
    }

    fn deadline(&self) -> Option<Nanos> {
        self.extra.as_ref()?.deadline
    }

    fn name(&self) -> &str {
        self.extra.as_ref().and_then(|extra| extra.name.as_deref()).unwrap_or("task")
    }
}

impl<F, T> Outcome<T> for Task<F, T>
where
    F: FnOnce(&mut Context<'_>) -> T + Send,
    T: Send,
{
    fn poll(&self, waker: &Waker) -> Poll<Result<T, TaskError>> {
        let mut stage = self.stage.lock();
        if matches!(*stage, Stage::Settled(_) | Stage::Taken) {
            return Poll::Ready(take(&mut stage));
        }
        drop(stage);
        // A waker is code of others: cloned before and dropped after the lock is held.
        let waker = waker.clone();
        let mut stage = self.stage.lock();
        let _old = match &mut *stage {
            Stage::Queued(_, slot) | Stage::Running(slot) => slot.replace(waker),
            _ => return Poll::Ready(take(&mut stage)),
        };
        drop(stage);
        Poll::Pending
    }

    fn end(&self, error: TaskError) -> bool {
        Job::end(self, error)
    }

    fn is_settled(&self) -> bool {
        Job::is_settled(self)
    }
}

fn take<F, T>(stage: &mut Stage<F, T>) -> Result<T, TaskError> {
    match std::mem::replace(stage, Stage::Taken) {
        Stage::Settled(outcome) => outcome,
        _ => unreachable!("a handle takes its outcome once"),
    }
}
