//! How a worker of Puma accepts, by version.
//!
//! Each accepts from the master's socket; versions differ in what a busy worker does before
//! (`Server#handle_servers` in lib/puma/server.rb, `ThreadPool` in lib/puma/thread_pool.rb):
//!
//! | version | every thread busy | any request under way |
//! |---|---|---|
//! | 5.0 to 5.6.9 | does not accept | accepts: `wait_for_less_busy_worker` is off by default |
//! | 6.0.0 to 6.6.1 | does not accept | waits for one to end, 5 ms at most |
//! | 7.0.0 to 7.0.3 | sleeps 0.1 ms x (reactor + 1.5 x busy) / threads | accepts |
//! | 7.0.4 to 8.0.2 | as beside | sleeps 5 ms x busy / (25 x threads), if there are siblings |
//! | main (puma#3969) | as 8.0.2; as 5.6.9 without `queue_requests` | as 8.0.2, or accepts |
//!
//! Differs from Puma: a connection is watched between its requests in every version, while 5.x and
//! 6.x keep a thread at it for 0.2 s, and for ten requests in a row.

use crate::cluster::accept::{Accept, AcceptWait, Backoff, Between};
use crate::model::version;
use std::time::Duration;

/// `wait_for_less_busy_worker` (lib/puma/configuration.rb, 6.0.0 to 8.0.2).
const LESS_BUSY: Duration = Duration::from_millis(5);
/// The unit of the sleep of a full worker (lib/puma/server.rb, 7.0.0 to 7.0.3).
const WHEN_FULL: Duration = Duration::from_micros(100);

/// The record of each of so many workers.
pub(super) fn of(version: &str, queue_requests: bool, workers: u32) -> Accept {
    let from = |major, minor, patch| version::from(version, [major, minor, patch]);
    let gate = !from(7, 0, 0) || (version == version::MAIN && !queue_requests);
    let backoff = if from(7, 0, 4) {
        // `ClusterAcceptLoopDelay#on?`
        let has_siblings = workers >= 2;
        match has_siblings && !gate {
            true => Backoff::Proportional { most: LESS_BUSY },
            false => Backoff::None,
        }
    } else if from(7, 0, 0) {
        Backoff::WhenFull { unit: WHEN_FULL }
    } else if from(6, 0, 0) {
        Backoff::UntilOneEnds { most: LESS_BUSY }
    } else {
        Backoff::None
    };
    Accept {
        // `IO.select` on the shared listener, then one `accept_nonblock`.
        wait: AcceptWait::Herd,
        only_when_free: gate,
        backoff,
        burst: 1,
        between: if queue_requests { Between::Watched } else { Between::Closed },
    }
}
