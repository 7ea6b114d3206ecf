//! What was left out of a run's figures: its warm-up.
//!
//! `tally` counts it, a [`Recording`](super::Recording) carries it, `checks::warm_up` judges it.

use crate::clock::{Nanos, nanos};
use crate::load::WarmUp;
use std::time::Duration;

/// Where the measured part of a run begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Begin {
    /// At this time from the start.
    At(Nanos),
    /// With the answer after so many.
    After(u64),
}

impl Begin {
    /// Where a warm-up ends; `None` for one that is still to be found.
    pub(crate) fn after(warm_up: WarmUp) -> Option<Self> {
        match warm_up {
            WarmUp::Auto => None,
            WarmUp::Time(time) => Some(Self::At(nanos(time))),
            WarmUp::Requests(n) => Some(Self::After(n)),
        }
    }
}

/// What was left out of the figures of a run: its warm-up.
///
/// Requests count by when they are answered. Latencies, throughput, failures, queue and what was
/// asked for are those of the measured part; the use of the lock, of CPU time and of the event loop
/// are those of the whole run.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct LeftOut {
    /// How long it was.
    pub time: Duration,
    /// The requests that were answered in it, failed ones too.
    pub requests: u64,
    /// Successful requests of the measured part that began before it: they did not do all of their
    /// work in it.
    pub carried: u64,
    /// Time that the successful requests of the warm-up asked to hold the lock without a safepoint.
    pub held: Duration,
    /// Whether a replication was found not to settle within its first half: nothing was left out of
    /// that one.
    pub unsettled: bool,
}

impl LeftOut {
    /// Adds what was left out of another replication.
    pub(super) fn add(&mut self, other: Self) {
        self.time += other.time;
        self.requests += other.requests;
        self.carried += other.carried;
        self.held += other.held;
        self.unsettled |= other.unsettled;
    }
}
