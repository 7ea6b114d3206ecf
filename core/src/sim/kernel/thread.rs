//! A simulated thread: where it is, what it has to do next, what it used.

use super::LockId;
use crate::clock::Nanos;
use crate::gvl::policy::ThreadId;
use crate::gvl::{Phase, Usage};
use crate::measure::Waits;
use std::time::Duration;

/// A thread of the simulated machine; taken again after it ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(in crate::sim) struct Tid(pub(in crate::sim) u32);

/// How a thread uses the CPU.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::sim) enum Burst {
    /// Holding the lock, with safepoints everywhere.
    Locked,
    /// Without the lock.
    Free,
}

/// What a thread does once it is on a core.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Next {
    /// Asks its role.
    Step,
    /// Goes on with its burst.
    Burst,
}

/// Where a thread is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Place {
    /// Asleep, until it is woken or its time comes.
    Asleep,
    /// Woken, and not ready yet.
    Waking,
    /// Ready, and in line for a core.
    Queued,
    /// On a core.
    On(u32),
}

/// What a thread used of the lock.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Used {
    /// Nanoseconds in each phase that is over, by [`Phase`].
    spent_ns: [Nanos; 3],
    pub(super) acquisitions: u64,
    pub(super) handoffs: u64,
    pub(super) forced_yields: u64,
}

#[derive(Debug)]
pub(super) struct Thread {
    pub(super) lock: LockId,
    pub(super) id: ThreadId,
    pub(super) place: Place,
    pub(super) next: Next,
    /// The lock told it to wait: before it goes on, it tells the lock that it woke.
    pub(super) at_lock: bool,
    /// Counts its changes; an event that was entered before the last one is void.
    pub(super) stamp: u32,
    /// The burst, what is left of it, and since when it runs.
    pub(super) burst: Burst,
    pub(super) left: Nanos,
    pub(super) since: Nanos,
    /// Whether the burst runs at this moment.
    pub(super) runs: bool,
    /// It is asked to look at its quantum at the next safepoint.
    pub(super) interrupted: bool,
    /// Its present wait for the lock ran out by itself.
    pub(super) timed_out: bool,
    /// The core that it was on last.
    pub(super) core: u32,
    /// CPU time, with what it was spared for sleeping: the scheduler's order.
    pub(super) vruntime: Nanos,
    pub(super) phase: Phase,
    pub(super) phase_since: Nanos,
    pub(super) used: Used,
    /// Waits for the lock since its role took stock.
    pub(super) waits: Waits,
}

impl Thread {
    pub(super) fn new(lock: LockId, id: ThreadId, now: Nanos) -> Self {
        Self {
            lock,
            id,
            place: Place::Asleep,
            next: Next::Step,
            at_lock: false,
            stamp: 0,
            burst: Burst::Free,
            left: 0,
            since: now,
            runs: false,
            interrupted: false,
            timed_out: false,
            core: 0,
            vruntime: 0,
            phase: Phase::Blocked,
            phase_since: now,
            used: Used::default(),
            waits: Waits::default(),
        }
    }

    /// Ends the phase, and tells how long it was.
    pub(super) fn enter(&mut self, phase: Phase, now: Nanos) -> Nanos {
        let spent = now - self.phase_since;
        self.used.spent_ns[self.phase as usize] += spent;
        (self.phase, self.phase_since) = (phase, now);
        spent
    }

    /// What it used of the lock until `now`, the open phase included.
    pub(super) fn usage_at(&self, now: Nanos) -> Usage {
        let mut spent_ns = self.used.spent_ns;
        spent_ns[self.phase as usize] += now.saturating_sub(self.phase_since);
        let [blocked, wait, hold] = spent_ns.map(Duration::from_nanos);
        let Used { acquisitions, handoffs, forced_yields, .. } = self.used;
        Usage { hold, wait, blocked, acquisitions, handoffs, forced_yields }
    }
}
