//! The only reader of time. `gvl`, `executor`, `load` and `real` ask here.
//!
//! Times are nanoseconds since the process's epoch (its first reading), so that they compare and
//! subtract across threads; a virtual clock counts from nought in the same unit.

use rustix::time::{ClockId, clock_gettime};
use std::sync::OnceLock;
use std::time::{Duration, Instant};

/// A point in time: nanoseconds since an epoch that one clock fixes.
pub type Nanos = u64;

static EPOCH: OnceLock<Instant> = OnceLock::new();

/// The monotonic time now.
#[inline]
pub fn now() -> Nanos {
    // 584 years fit in 64 bits of nanoseconds.
    EPOCH.get_or_init(Instant::now).elapsed().as_nanos() as Nanos
}

/// The instant that `at` stands for, to wait until it.
pub fn instant(at: Nanos) -> Instant {
    *EPOCH.get_or_init(Instant::now) + Duration::from_nanos(at)
}

/// A duration as nanoseconds, the longest where it does not fit.
#[inline]
pub fn nanos(duration: Duration) -> Nanos {
    Nanos::try_from(duration.as_nanos()).unwrap_or(Nanos::MAX)
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
