//! Uses a given amount of the calling thread's CPU time.

use crate::clock;
use std::hint::black_box;
use std::time::Duration;

/// Multiplications between two looks at the clock: a chain of about 4 cycles each, so some 4 us
/// on a machine of 3 GHz (and under 50 us unoptimised), far below the 50 us that a safepoint may
/// be away.
const CHAIN: u32 = 3000;

/// Computes until the thread has used `cpu` more of its CPU time, or `pause` says to stop.
///
/// The time is the thread's CPU clock, so that waiting for a core or for the global lock does not
/// count; `pause` is called at least every 50 us of it.
pub(super) fn burn(cpu: Duration, mut pause: impl FnMut() -> bool) {
    let end = clock::thread_cpu() + cpu;
    let mut x = 1_u64;
    while clock::thread_cpu() < end && !pause() {
        for _ in 0..CHAIN {
            x = black_box(x).wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        }
    }
    black_box(x);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_uses_the_cpu_time_asked_for_and_pauses_often() {
        let asked = Duration::from_millis(5);
        let before = clock::thread_cpu();
        let mut pauses = 0_u32;
        burn(asked, || {
            pauses += 1;
            false
        });
        assert!(clock::thread_cpu() - before >= asked);
        // A hundred, and far fewer where the host takes the processor away unnoticed.
        assert!(pauses >= 5, "{pauses}");
    }

    #[test]
    fn it_stops_when_told() {
        burn(Duration::from_secs(3600), || true);
    }
}
