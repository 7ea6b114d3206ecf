//! Ends tasks whose deadline passes: one thread a pool, born with the first deadline.

use super::error::TaskError;
use super::task::Job;
use crate::clock::{self, Nanos};
use crate::contain::contain;
use crate::sync::serve;
use parking_lot::{Condvar, Mutex, MutexGuard};
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::io;
use std::sync::{Arc, Weak};

/// So many deadlines may be of tasks that have ended.
const CROWD_MIN: usize = 64;

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
    /// From how many on the tasks that are gone are looked for.
    crowd: usize,
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
    /// Makes sure that there is a thread to keep deadlines.
    ///
    /// # Errors
    /// The system gives none.
    pub(super) fn start(&self) -> io::Result<()> {
        let mut state = self.0.state.lock();
        if !state.started {
            let shared = Arc::clone(&self.0);
            serve("deadlines", move || run(&shared))?;
            state.started = true;
        }
        Ok(())
    }

    /// Ends `job` at `at`, unless it has ended by then.
    pub(super) fn watch(&self, at: Nanos, job: &Arc<dyn Job>) {
        let mut state = self.0.state.lock();
        state.seq += 1;
        let seq = state.seq;
        let first = state.due.peek().is_none_or(|Reverse(next)| at < next.at);
        if state.due.len() >= state.crowd {
            // Tasks end long before their deadlines: theirs are not kept until then.
            state.due.retain(|Reverse(due)| due.job.strong_count() > 0);
            state.crowd = (2 * state.due.len()).max(CROWD_MIN);
        }
        state.due.push(Reverse(Due { at, seq, job: Arc::downgrade(job) }));
        drop(state);
        if first {
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
                    MutexGuard::unlocked(&mut state, || {
                        job.end(TaskError::TimedOut);
                        // The last one to let go of the task drops its value.
                        contain(|| drop(job));
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::executor::stats::Counters;
    use crate::executor::task::Task;

    #[test]
    fn deadlines_of_tasks_that_are_gone_are_not_kept() {
        let deadlines = Deadlines::default();
        let job = || -> Arc<dyn Job> {
            let closure = |_: &mut crate::executor::Context<'_>| ();
            Arc::new(Task::new(closure, None, None, Arc::<Counters>::default()))
        };
        let kept: Vec<_> = (0..100).map(|_| job()).collect();
        kept.iter().for_each(|job| deadlines.watch(Nanos::MAX, job));
        for _ in 0..10_000 {
            deadlines.watch(Nanos::MAX, &job());
        }
        let due = deadlines.0.state.lock().due.len();
        assert!((100..=2 * 100 + CROWD_MIN).contains(&due), "{due}");
    }
}
