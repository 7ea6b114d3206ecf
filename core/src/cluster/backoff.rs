//! How long a worker's place stays empty after it was lost.

use std::time::Duration;

/// A worker that served for so long is replaced at once.
const STABLE: Duration = Duration::from_secs(1);

/// The first pause after a worker that was lost soon; each further one is twice as long.
const FIRST: Duration = Duration::from_millis(10);

/// The longest pause.
const LONGEST: Duration = Duration::from_secs(5);

/// Boots in a row that may fail before a place counts as hopeless.
const HOPELESS: u32 = 5;

/// What became of the processes of one place, as far as the next one depends on it.
#[derive(Debug, Clone, Default)]
pub(super) struct Backoff {
    short_lives: u32,
    failed_boots: u32,
}

impl Backoff {
    /// A worker served for so long and was lost; the pause before the next.
    pub(super) fn lost(&mut self, served: Duration) -> Duration {
        self.failed_boots = 0;
        self.short_lives = if served >= STABLE { 0 } else { self.short_lives + 1 };
        self.pause()
    }

    /// A process ended before it served; the pause before the next.
    pub(super) fn failed_to_boot(&mut self) -> Duration {
        self.failed_boots += 1;
        self.short_lives += 1;
        self.pause()
    }

    /// Whether no process will ever serve here.
    pub(super) fn is_hopeless(&self) -> bool {
        self.failed_boots >= HOPELESS
    }

    fn pause(&self) -> Duration {
        match self.short_lives {
            0 => Duration::ZERO,
            n => FIRST.saturating_mul(1 << (n - 1).min(16)).min(LONGEST),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_double_until_a_worker_stays() {
        let mut backoff = Backoff::default();
        let soon = Duration::from_millis(5);
        let pauses: Vec<_> = (0..3).map(|_| backoff.lost(soon).as_millis()).collect();
        assert_eq!(pauses, [10, 20, 40]);
        assert_eq!(backoff.lost(STABLE), Duration::ZERO);
        assert_eq!(backoff.failed_to_boot().as_millis(), 10);
        let last = (0..40).map(|_| backoff.failed_to_boot()).last();
        assert_eq!((last, backoff.is_hopeless()), (Some(LONGEST), true));
        backoff.lost(STABLE);
        assert!(!backoff.is_hopeless());
    }
}
