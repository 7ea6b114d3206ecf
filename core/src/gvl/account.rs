//! Who held, waited and was blocked for how long: one account a thread.
//!
//! Written by its own thread alone, so a plain load and store will do; read by anyone. While a
//! thread changes state a reader may see the change half done; at rest the three times add up to
//! the thread's life exactly.

use crate::clock::Nanos;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;

/// What one thread used of the lock.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Usage {
    /// Time holding the lock.
    pub hold: Duration,
    /// Time ready and waiting for it.
    pub wait: Duration,
    /// Time neither holding nor wanting it: blocking regions, and waiting for work.
    pub blocked: Duration,
    /// How often the thread got the lock.
    pub acquisitions: u64,
    /// How many of these it had to wait for: the handoffs to this thread.
    pub handoffs: u64,
    /// How often it had to give the lock up because its quantum was over.
    pub forced_yields: u64,
}

/// The account of a named thread.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ThreadUsage {
    /// The thread's name.
    pub name: String,
    /// Its account.
    pub usage: Usage,
}

/// What a thread does with the lock. An account keeps it in the two low bits beside the time it began.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Phase {
    /// It neither holds the lock nor wants it: a blocking region, or waiting for work.
    Blocked = 0,
    /// It is ready, and waits for the lock.
    Waiting = 1,
    /// It holds the lock.
    Holding = 2,
}

/// Time beside [`Phase`]: 62 bits of nanoseconds are 146 years.
#[derive(Debug)]
pub(super) struct Account {
    since_phase: AtomicU64,
    /// By [`Phase`]; the fourth is never used, so that two bits always find one.
    spent_ns: [AtomicU64; 4],
    acquisitions: AtomicU64,
    handoffs: AtomicU64,
    forced_yields: AtomicU64,
}

impl Account {
    pub(super) fn new(at: Nanos) -> Self {
        let zero = || AtomicU64::new(0);
        Self {
            since_phase: AtomicU64::new(at << 2),
            spent_ns: [zero(), zero(), zero(), zero()],
            acquisitions: zero(),
            handoffs: zero(),
            forced_yields: zero(),
        }
    }

    /// Closes the running phase at `at` and begins `next`.
    #[inline]
    pub(super) fn enter(&self, next: Phase, at: Nanos) {
        let since_phase = self.since_phase.load(Relaxed);
        let spent = at.saturating_sub(since_phase >> 2);
        add(self.of(since_phase), spent);
        self.since_phase.store((at << 2) | next as u64, Relaxed);
    }

    #[inline]
    pub(super) fn count_acquisition(&self, waited: bool) {
        add(&self.acquisitions, 1);
        if waited {
            add(&self.handoffs, 1);
        }
    }

    #[inline]
    pub(super) fn count_forced_yield(&self) {
        add(&self.forced_yields, 1);
    }

    /// The account up to `at`, the running phase included.
    pub(super) fn usage(&self, at: Nanos) -> Usage {
        let since_phase = self.since_phase.load(Relaxed);
        let running = at.saturating_sub(since_phase >> 2);
        let time = |phase: Phase| {
            let open = if since_phase & 0b11 == phase as u64 { running } else { 0 };
            Duration::from_nanos(self.of(phase as u64).load(Relaxed) + open)
        };
        Usage {
            hold: time(Phase::Holding),
            wait: time(Phase::Waiting),
            blocked: time(Phase::Blocked),
            acquisitions: self.acquisitions.load(Relaxed),
            handoffs: self.handoffs.load(Relaxed),
            forced_yields: self.forced_yields.load(Relaxed),
        }
    }

    #[inline]
    fn of(&self, since_phase: u64) -> &AtomicU64 {
        &self.spent_ns[(since_phase & 0b11) as usize]
    }
}

/// Adds without a locked instruction: only the owning thread writes.
#[inline]
fn add(counter: &AtomicU64, amount: u64) {
    counter.store(counter.load(Relaxed).wrapping_add(amount), Relaxed);
}

impl std::ops::Add for Usage {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self {
            hold: self.hold + other.hold,
            wait: self.wait + other.wait,
            blocked: self.blocked + other.blocked,
            acquisitions: self.acquisitions + other.acquisitions,
            handoffs: self.handoffs + other.handoffs,
            forced_yields: self.forced_yields + other.forced_yields,
        }
    }
}

impl std::ops::Sub for Usage {
    type Output = Self;

    /// What was used between an earlier reading (`other`) and this one.
    fn sub(self, other: Self) -> Self {
        Self {
            hold: self.hold.saturating_sub(other.hold),
            wait: self.wait.saturating_sub(other.wait),
            blocked: self.blocked.saturating_sub(other.blocked),
            acquisitions: self.acquisitions.saturating_sub(other.acquisitions),
            handoffs: self.handoffs.saturating_sub(other.handoffs),
            forced_yields: self.forced_yields.saturating_sub(other.forced_yields),
        }
    }
}
