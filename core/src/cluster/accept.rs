//! How a worker takes connections from a socket that it shares with the others, as data.
//!
//! Models fill one record a server and version (SEMANTICS, section 3, 8 and 9); the worker's
//! acceptor and the simulator's read it. What a record comes to is computed here; nothing waits here.

use serde::{Deserialize, Serialize};
use std::time::Duration;

/// How a worker accepts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Accept {
    /// Who wakes when a connection comes.
    pub wait: AcceptWait,
    /// Accepts only while fewer requests are under way than there are threads; the connection
    /// waits in the backlog, where another worker may take it.
    pub only_when_free: bool,
    /// What a busy worker does before it accepts.
    pub backoff: Backoff,
    /// The most connections taken at one wake-up.
    pub burst: u32,
    /// What becomes of a connection between its requests.
    pub between: Between,
}

/// What a busy worker waits for before it accepts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Pause {
    /// A request to end, for so long at most.
    OneEnds(Duration),
    /// So long, that an idler worker may be faster.
    Sleep(Duration),
}

impl Accept {
    /// Whether it waits for a free thread before it waits for a connection: one that is woken alone
    /// has to be able to take what wakes it.
    pub(crate) fn gates_first(&self) -> bool {
        self.only_when_free && self.wait != AcceptWait::Herd
    }
}

impl Backoff {
    /// The pause of a worker of `threads` with `busy` requests under way, and `watched` connections
    /// without one, which are counted where they matter.
    pub(crate) fn pause(
        self,
        busy: u64,
        watched: impl FnOnce() -> u64,
        threads: u64,
    ) -> Option<Pause> {
        let sleep = match self {
            Self::UntilOneEnds { most } if busy > 0 => return Some(Pause::OneEnds(most)),
            Self::None | Self::UntilOneEnds { .. } => Duration::ZERO,
            Self::WhenFull { unit } if busy >= threads => {
                unit.mul_f64((watched() as f64 + 1.5 * busy as f64) / threads as f64)
            }
            Self::WhenFullFor { length } if busy >= threads => length,
            Self::WhenFull { .. } | Self::WhenFullFor { .. } => Duration::ZERO,
            Self::Proportional { most } => {
                let full = 25 * threads;
                most.mul_f64(busy.min(full) as f64 / full as f64)
            }
        };
        (!sleep.is_zero()).then_some(Pause::Sleep(sleep))
    }
}

/// Who wakes when a connection comes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum AcceptWait {
    /// Every worker that waits; the first to run takes it (`select`, `poll`).
    Herd,
    /// One worker, the last that went to sleep (`EPOLLEXCLUSIVE`).
    Exclusive,
    /// One worker, the first that went to sleep (a blocking `accept`).
    Blocking,
}

/// What a busy worker does before it accepts, so that an idle one is faster.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Backoff {
    /// Nothing.
    None,
    /// Waits for a request to end, at most so long, where any is under way (Puma 5 and 6).
    UntilOneEnds {
        /// The longest wait.
        most: Duration,
    },
    /// Sleeps where every thread is busy: `unit` times (connections that wait for their request +
    /// 1.5 x busy) / threads (Puma 7.0.0 to 7.0.3, workers of a cluster).
    WhenFull {
        /// 100 us.
        unit: Duration,
    },
    /// Sleeps so long where every thread is busy (the same in single mode).
    WhenFullFor {
        /// 100 us.
        length: Duration,
    },
    /// Sleeps `most x min(busy, 25 x threads) / (25 x threads)` where anything is under way or
    /// queued (Puma from 7.0.4 on).
    Proportional {
        /// The longest sleep.
        most: Duration,
    },
}

/// What becomes of a connection between its requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Between {
    /// It is closed after each.
    Closed,
    /// It is watched; no thread waits for it (a reactor, an event loop).
    Watched,
    /// The thread that served it waits for its next request, at most so long, and is not free
    /// meanwhile (Apache's prefork and worker).
    HeldByThread {
        /// The longest wait.
        most: Duration,
    },
    /// It is kept by rules, and looked at by the thread that has just answered over it (Puma).
    Kept(Keep),
}

/// The rules by which a connection is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Keep {
    /// The most requests of one connection, which is closed after the last; `None`: any number.
    pub requests_max: Option<u32>,
    /// What the thread does with it.
    pub then: Then,
}

/// What a thread does with the connection that it has just answered over.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Then {
    /// It has it watched (Puma 7.0.0 to 7.0.3).
    Watch,
    /// A request that is there already goes to the end of the queue, and a connection without one
    /// is watched (Puma 7.0.4 to 7.0.x).
    Queue,
    /// The same, but where another thread waits it serves the request itself (Puma from 7.1 on).
    ServeWhereOneWaits,
    /// It waits for the next request and serves it; what sends none in time is watched (Puma 5 and 6).
    Wait {
        /// The longest wait.
        most: Duration,
        /// After so many requests in a row it makes room.
        in_a_row: u32,
        /// For whom it does.
        room: Room,
    },
}

/// For whom a thread makes room that has served many requests of one connection in a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Room {
    /// For anyone: the connection is watched (Puma 5.0 to 5.3.1).
    Always,
    /// For who waits: the connection is watched where a request is queued, and closed where besides
    /// every thread is busy and another connection waits to be accepted (Puma 5.3.2 to 6).
    WhereOthersWait,
}

#[cfg(test)]
#[cfg(not(model_check))]
mod tests {
    use super::*;

    fn check(backoff: Backoff, busy: u64, expected: Option<Pause>) {
        assert_eq!(backoff.pause(busy, || 3, 2), expected, "{backoff:?} {busy}");
    }

    /// Of two threads, with three connections watched.
    #[test]
    fn a_busy_worker_pauses_by_its_record() {
        let (ms, us) = (Duration::from_millis, Duration::from_micros);
        check(Backoff::None, 9, None);
        check(Backoff::UntilOneEnds { most: ms(5) }, 0, None);
        check(Backoff::UntilOneEnds { most: ms(5) }, 1, Some(Pause::OneEnds(ms(5))));
        check(Backoff::WhenFull { unit: us(100) }, 1, None);
        // 100 us x (3 + 1.5 x 2) / 2.
        check(Backoff::WhenFull { unit: us(100) }, 2, Some(Pause::Sleep(us(300))));
        check(Backoff::WhenFullFor { length: us(100) }, 1, None);
        check(Backoff::WhenFullFor { length: us(100) }, 2, Some(Pause::Sleep(us(100))));
        check(Backoff::WhenFullFor { length: us(100) }, 40, Some(Pause::Sleep(us(100))));
        check(Backoff::Proportional { most: ms(5) }, 0, None);
        check(Backoff::Proportional { most: ms(5) }, 1, Some(Pause::Sleep(us(100))));
        check(Backoff::Proportional { most: ms(5) }, 90, Some(Pause::Sleep(ms(5))));
    }
}
