//! Ends tasks whose deadline passes: one thread a pool, born with the first deadline.

use super::error::TaskError;
use super::task::Job;
use crate::clock::{self, Nanos};
use parking_lot::{Condvar, Mutex};
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::sync::{Arc, Weak};

/// The deadlines of one pool.
#[derive(Default)]
pub(super) struct Deadlines(Arc<Shared>);

#[derive(Default)]
struct Shared {
    /// Guards: the thread knows the next deadline.
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    due: BinaryHeap<Reverse<Due>>,
    seq: u64,
    started: bool,
    ended: bool,
}

struct Due {
    at: Nanos,
    seq: u64,
    job: Weak<dyn Job>,
}

impl Deadlines {
    /// Ends `job` at `at`, unless it has ended by then.
    pub(super) fn watch(&self, at: Nanos, job: &Arc<dyn Job>) {
        let mut state = self.0.state.lock();
        state.seq += 1;
        let seq = state.seq;
        let first = state.due.peek().is_none_or(|Reverse(next)| at < next.at);
        state.due.push(Reverse(Due { at, seq, job: Arc::downgrade(job) }));
        if !state.started {
            state.started = true;
            let shared = Arc::clone(&self.0);
            std::thread::Builder::new()
                .name("deadlines".to_owned())
                .spawn(move || run(&shared))
                .expect("the system can start one more thread");
        } else if first {
            self.0.changed.notify_one();
        }
    }
}

fn run(shared: &Shared) {
    let mut state = shared.state.lock();
    while !state.ended {
        match state.due.peek() {
            None => shared.changed.wait(&mut state),
            Some(Reverse(due)) if due.at > clock::now() => {
                let until = clock::instant(due.at);
                shared.changed.wait_until(&mut state, until);
            }
            Some(_) => {
                let due = state.due.pop().and_then(|Reverse(due)| due.job.upgrade());
                if let Some(job) = due {
                    parking_lot::MutexGuard::unlocked(&mut state, || {
                        job.end(TaskError::TimedOut);
                    });
                }
            }
        }
    }
}

impl Drop for Deadlines {
    fn drop(&mut self) {
        self.0.state.lock().ended = true;
        self.0.changed.notify_one();
    }
}

impl PartialEq for Due {
    fn eq(&self, other: &Self) -> bool {
        (self.at, self.seq) == (other.at, other.seq)
    }
}

impl Eq for Due {}

impl PartialOrd for Due {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Due {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        (self.at, self.seq).cmp(&(other.at, other.seq))
    }
}
