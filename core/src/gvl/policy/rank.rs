//! The order of a line that is not first come, first served: who used the lock least comes first.
//!
//! A candidate, of no interpreter so far ("round-robin hurts I/O-bound threads", L. Gruber, RubyKaigi
//! 2026). A waiter's rank is a moment: when it lined up, plus 16 times what it used the lock lately.
//! The lowest rank has the next turn; who holds the lock keeps it for its quantum as ever.
//!
//! - *Used* is the time of holding it while others waited. It is halved for each quantum that has
//!   passed since, and counts for two quanta at most.
//! - A thread's priority doubles (below nought) or halves (above) what its use weighs, as it does with
//!   its quantum.
//! - Nobody starves: who asks more than 32 quanta after a waiter (times 8 for a priority of -3) ranks
//!   behind it, whatever either used. So a waiter is passed for that long at most, and then waits for
//!   those who were in line by then, each once.

use super::{Nanos, Sched, ThreadId};
use crate::gvl::record::Order;

/// What each nanosecond of use weighs: a thread that computes lets some 16 others, that compute too,
/// and all that hardly do, go first.
const WEIGHT: Nanos = 16;

/// The most quanta of use that count.
const QUANTA_MAX: Nanos = 2;

/// How long a thread held the lock lately while others waited, as of a moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Used {
    time: Nanos,
    at: Nanos,
}

/// A thread that has used nothing.
pub(super) fn used_anew() -> Used {
    Used { time: 0, at: 0 }
}

impl Used {
    /// What is left of it at `now`: half for each quantum.
    pub(super) fn left(self, now: Nanos, quantum: Nanos) -> Nanos {
        let halvings = now.saturating_sub(self.at) / quantum.max(1);
        self.time.checked_shr(u32::try_from(halvings).unwrap_or(u32::MAX)).unwrap_or(0)
    }
}

impl Sched {
    /// `thread` stops holding the lock: what it used is noted.
    pub(super) fn account(&mut self, thread: ThreadId, now: Nanos) {
        let Some(since) = self.contended_since.take() else { return };
        if self.gvl.order == Order::Priority {
            let left = self.at(thread).used.left(now, self.quantum);
            let time = left.saturating_add(now.saturating_sub(since));
            let time = time.min(self.quantum.saturating_mul(QUANTA_MAX));
            self.at_mut(thread).used = Used { time, at: now };
        }
    }

    /// The rank with which `thread` lines up at `now`.
    pub(super) fn rank(&self, thread: ThreadId, now: Nanos) -> Nanos {
        if self.gvl.order == Order::Fifo {
            return now;
        }
        let used = self.at(thread).used.left(now, self.quantum).saturating_mul(WEIGHT);
        let priority = if self.gvl.priorities { self.at(thread).priority } else { 0 };
        let weighs = match priority {
            0.. => used >> priority,
            _ => used.saturating_mul(1 << -priority),
        };
        now.saturating_add(weighs)
    }
}
