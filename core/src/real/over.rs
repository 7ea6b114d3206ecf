//! The end of a run, for all who compute, sleep or wait: they look here.

use parking_lot::{Condvar, Mutex};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::{Duration, Instant};

/// Whether the run is over; sleeps end with it.
#[derive(Default)]
pub(super) struct Over {
    flag: AtomicBool,
    /// Guards: no sleeper misses the end.
    gate: Mutex<()>,
    ended: Condvar,
}

impl Over {
    pub(super) fn is_over(&self) -> bool {
        self.flag.load(Relaxed)
    }

    /// Sleeps for `length`, or until the run is over.
    pub(super) fn sleep(&self, length: Duration) {
        let until = Instant::now() + length;
        let mut gate = self.gate.lock();
        while !self.is_over() && !self.ended.wait_until(&mut gate, until).timed_out() {}
    }

    /// Ends the run: nobody sleeps any more.
    pub(super) fn end(&self) {
        let _gate = self.gate.lock();
        self.flag.store(true, Relaxed);
        self.ended.notify_all();
    }
}
