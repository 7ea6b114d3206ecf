//! Threads that a pool has too many of: every so often one ends that has nothing to do.
//!
//! After Puma (`ThreadPool#trim` and `auto_trim!` in lib/puma/thread_pool.rb): the looks are that far apart
//! from the start of the process on, each asks for one thread at most, and whichever finds nothing
//! to do next ends. A look is only in the calendar where it may find something.

use super::{Server, Timer};
use crate::clock::{Nanos, nanos};
use crate::model::{Serving, ThreadsLive};

#[derive(Debug, Default)]
pub(super) struct Trim {
    /// From one look to the next, and how many threads there are at least; nought: there are no looks.
    every: Nanos,
    least: u32,
    /// Threads that were asked for and have not ended.
    asked: u32,
    /// A look is in the calendar.
    is_due: bool,
}

impl Trim {
    pub(super) fn of(serving: Serving) -> Self {
        match serving {
            Serving::Pool {
                min_threads,
                max_threads,
                threads_live: ThreadsLive::Trimmed { every },
            } if min_threads < max_threads => {
                Self { every: nanos(every), least: min_threads, ..Self::default() }
            }
            _ => Self::default(),
        }
    }
}

impl Server<'_> {
    /// A thread has nothing to do: the next look may find it.
    pub(super) fn look_at_the_idle(&mut self, number: u32) {
        let process = &mut self.processes[number as usize];
        let trim = &mut process.trim;
        if trim.every > 0 && !trim.is_due && process.live - trim.asked > trim.least {
            trim.is_due = true;
            let next = (self.kernel.now() / trim.every + 1).saturating_mul(trim.every);
            self.kernel.remind(next, Timer::Trim(number));
        }
    }

    /// The process looks whether it has a thread too many.
    pub(super) fn trim(&mut self, number: u32) {
        let process = &mut self.processes[number as usize];
        process.trim.is_due = false;
        let is_one_free = process.idle.len() > process.todo.len();
        if is_one_free
            && process.live - process.trim.asked > process.trim.least
            && let Some(tid) = process.idle.pop_front()
        {
            process.trim.asked += 1;
            self.kernel.wake(tid);
        }
        if !self.processes[number as usize].idle.is_empty() {
            self.look_at_the_idle(number);
        }
    }

    /// Whether the thread that found nothing to do ends.
    pub(super) fn is_trimmed(&mut self, number: u32) -> bool {
        let trim = &mut self.processes[number as usize].trim;
        let is_asked = trim.asked > 0;
        trim.asked -= u32::from(is_asked);
        is_asked
    }
}
