//! The only reader of time. `gvl`, `executor`, `load` and `real` ask here.
//!
//! Times are nanoseconds of the system's monotonic clock, so that they compare and subtract across
//! threads; a virtual clock counts from nought in the same unit.

use rustix::time::{ClockId, clock_gettime};
use std::time::{Duration, Instant};

/// A point in time: nanoseconds since a moment that one clock fixes.
pub type Nanos = u64;

/// The monotonic time now.
#[inline]
pub fn now() -> Nanos {
    // Plain numbers are a quarter cheaper than an `Instant` and its difference. 584 years fit.
    let time = clock_gettime(ClockId::Monotonic);
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

/// The instant that `at` stands for, to wait until it; now, where it has passed.
pub fn instant(at: Nanos) -> Instant {
    let ahead = Duration::from_nanos(at.saturating_sub(now()));
    let here = Instant::now();
    // A time that no instant can stand for is as good as a year away.
    here.checked_add(ahead).unwrap_or_else(|| here + Duration::from_secs(365 * 24 * 3600))
}

/// A duration as nanoseconds, the longest where it does not fit.
#[inline]
pub fn nanos(duration: Duration) -> Nanos {
    let seconds = duration.as_secs().saturating_mul(1_000_000_000);
    seconds.saturating_add(duration.subsec_nanos().into())
}

/// CPU time of the calling thread since it began.
#[inline]
pub fn thread_cpu() -> Duration {
    cpu(ClockId::ThreadCPUTime)
}

/// CPU time of all threads of this process since it began.
pub fn process_cpu() -> Duration {
    cpu(ClockId::ProcessCPUTime)
}

fn cpu(clock: ClockId) -> Duration {
    let time = clock_gettime(clock);
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}
