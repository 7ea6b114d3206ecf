//! How the lock was used, as a row shows it.

use super::Spread;
use super::latency::rounded;
use crate::measure::GvlUse;
use crate::measure::facts::share;
use serde::Serialize;
use std::time::Duration;

/// Summarises the use of the GVL.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct GvlRow {
    /// The lock's name.
    pub name: String,
    /// The share of the threads' serving time (waiting, holding or in a blocking region) that was
    /// waiting: wait / (wait + hold + blocked).
    pub wait_share: Option<f64>,
    /// How busy the locks were: hold / (elapsed x processes).
    pub hold_share: Option<f64>,
    /// How often it passed from one thread to another.
    pub handoffs: u64,
    /// How often a holder gave way because its quantum was over.
    pub forced_yields: u64,
    /// How often a thread had to wait for it.
    pub waits: u64,
    /// How long those waits were, in ms.
    pub wait_ms: Spread,
}

impl GvlRow {
    /// Summarises the use of locks that could be held for `lockable`: elapsed x processes.
    pub(super) fn of(name: &str, gvl: &GvlUse, lockable: Duration) -> Self {
        let serving = gvl.wait + gvl.hold + gvl.blocked;
        Self {
            name: name.to_owned(),
            wait_share: share(gvl.wait, serving).map(rounded),
            hold_share: share(gvl.hold, lockable).map(rounded),
            handoffs: gvl.handoffs,
            forced_yields: gvl.forced_yields,
            waits: gvl.waits.count(),
            wait_ms: Spread::of(&gvl.waits),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measure::samples::ms;

    #[test]
    fn shares_are_of_the_threads_time_and_of_the_locks_time() {
        let (wait, hold, blocked) = (ms(300), ms(500), ms(1200));
        let used = GvlUse { wait, hold, blocked, ..Default::default() };
        let gvl = GvlRow::of("cruby-3.3", &used, ms(1000) * 2);
        assert_eq!((gvl.wait_share, gvl.hold_share), (Some(0.15), Some(0.25)));
    }
}
