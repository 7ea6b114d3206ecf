//! The place of one task's outcome: set once, by whoever comes first.

use super::shared::Shared;
use super::wire::Timings;
use crate::clock::{self, Nanos};
use crate::contain::contain;
use crate::executor::{Outcome, TaskError, released};
use bytes::Bytes;
use parking_lot::Mutex;
use std::sync::{Arc, Weak};
use std::task::{Poll, Waker};

/// What a task's handler gave, and how it went.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reply {
    /// The bytes.
    pub bytes: Bytes,
    /// The worker's process.
    pub pid: u32,
    /// When the task was submitted, on the clock of the timings.
    pub submitted: Nanos,
    /// When the task was where in its worker.
    pub timings: Timings,
}

/// How long a thread looks out for an outcome that is near before it sleeps: 50 us, about twice what
/// it costs to wake a sleeper on another core.
const LOOKS_OUT: Nanos = 50_000;

/// A task's outcome, for its handle and its cluster.
pub(super) struct Slot {
    task: u64,
    /// Guards: exactly one outcome, and nobody who waits for it is forgotten.
    stage: Mutex<Stage>,
    cluster: Weak<Shared>,
}

enum Stage {
    Open(Option<Waker>),
    /// Nobody has a handle: this is called with the outcome.
    Then(Then),
    Settled(Result<Reply, TaskError>),
    Taken,
}

/// What is done with an outcome.
pub(super) type Then = Box<dyn FnOnce(Result<Reply, TaskError>) + Send>;

impl Slot {
    /// The place of an outcome that a handle takes, or `then`.
    pub(super) fn new(task: u64, cluster: Weak<Shared>, then: Option<Then>) -> Self {
        let stage = then.map_or(Stage::Open(None), Stage::Then);
        Self { task, stage: Mutex::new(stage), cluster }
    }

    /// Sets the outcome, if there is none yet, and wakes whoever waits for it; whether it did.
    pub(super) fn settle(&self, outcome: Result<Reply, TaskError>) -> bool {
        let mut stage = self.stage.lock();
        match std::mem::replace(&mut *stage, Stage::Taken) {
            Stage::Open(waker) => {
                *stage = Stage::Settled(outcome);
                drop(stage);
                contain(|| waker.into_iter().for_each(Waker::wake));
                true
            }
            Stage::Then(then) => {
                drop(stage);
                contain(|| then(outcome));
                true
            }
            settled => {
                *stage = settled;
                false
            }
        }
    }
}

impl Outcome<Reply> for Slot {
    fn poll(&self, waker: &Waker) -> Poll<Result<Reply, TaskError>> {
        // A waker is code of others: cloned and dropped outside of the lock.
        let waker = waker.clone();
        let mut stage = self.stage.lock();
        let _old = match &mut *stage {
            Stage::Open(slot) => slot.replace(waker),
            _ => return Poll::Ready(take(&mut stage)),
        };
        drop(stage);
        Poll::Pending
    }

    fn end(&self, error: TaskError) -> bool {
        self.cluster.upgrade().is_some_and(|cluster| cluster.end_task(self.task, error))
    }

    fn look_out(&self) {
        let is_near = |cluster: Arc<Shared>| cluster.look(|desk| desk.is_near(self.task));
        if self.is_settled() || !self.cluster.upgrade().is_some_and(is_near) {
            return;
        }
        released(|| {
            let until = clock::now() + LOOKS_OUT;
            while !self.is_settled() && clock::now() < until {
                // Whoever has to run for the outcome to come goes first.
                std::thread::yield_now();
            }
        });
    }

    fn is_settled(&self) -> bool {
        matches!(*self.stage.lock(), Stage::Settled(_) | Stage::Taken)
    }
}

fn take(stage: &mut Stage) -> Result<Reply, TaskError> {
    match std::mem::replace(stage, Stage::Taken) {
        Stage::Settled(outcome) => outcome,
        _ => unreachable!("a handle takes its outcome once"),
    }
}

#[cfg(test)]
#[cfg(not(model_check))]
mod tests {
    use super::*;

    #[test]
    fn the_first_outcome_stands() {
        let slot = Slot::new(1, Weak::new(), None);
        assert!(slot.settle(Err(TaskError::Cancelled)));
        assert!(!slot.settle(Err(TaskError::TimedOut)));
        assert!(slot.is_settled());
        let taken = slot.poll(Waker::noop());
        assert!(matches!(taken, Poll::Ready(Err(TaskError::Cancelled))));
        assert!(!slot.settle(Err(TaskError::TimedOut)));
    }

    #[test]
    fn then_is_called_once_and_may_panic() {
        let (tell, told) = std::sync::mpsc::channel();
        let then: Then = Box::new(move |outcome| {
            tell.send(outcome).unwrap();
            panic!("a callback");
        });
        let slot = Slot::new(1, Weak::new(), Some(then));
        assert!(slot.settle(Err(TaskError::Cancelled)));
        assert!(!slot.settle(Err(TaskError::TimedOut)));
        assert_eq!(told.iter().collect::<Vec<_>>(), [Err(TaskError::Cancelled)]);
    }
}
