//! How a worker takes connections from a socket that it shares with the others, as data.
//!
//! Models fill one record a server and version (SEMANTICS, section 3, 8 and 9); the worker's
//! acceptor reads it. Nothing here does anything.

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
}
