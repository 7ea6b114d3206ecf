//! How a worker of Puma accepts, by version.
//!
//! Each accepts from the master's socket, or from its own in single mode; versions differ in what a busy
//! one does before
//! (`Server#handle_servers` in lib/puma/server.rb, `ThreadPool` in lib/puma/thread_pool.rb):
//!
//! | version | every thread busy | any request under way |
//! |---|---|---|
//! | 5.0 to 5.6.9 | does not accept | accepts: `wait_for_less_busy_worker` is off by default |
//! | 6.0.0 to 6.6.1 | does not accept | waits for one to end, 5 ms at most; from 6.5.0 on not in single mode |
//! | 7.0.0 to 7.0.3 | sleeps 0.1 ms x (reactor + 1.5 x busy) / threads, in single mode 0.1 ms | accepts |
//! | 7.0.4 to 8.0.2 | as beside | sleeps 5 ms x busy / (25 x threads), if there are siblings |
//! | main (puma#3969) | as 8.0.2; as 5.6.9 without `queue_requests` | as 8.0.2, or accepts |
//!
//! They differ in what becomes of a connection that is kept, too (`Server#process_client`,
//! and `force_keep_alive` in lib/puma/request.rb):
//!
//! | version | the thread that has answered | closed |
//! |---|---|---|
//! | 5.0 to 5.3.1 | waits 0.2 s for the next request, after ten in a row not at all | - |
//! | 5.3.2 to 6.6.1 | the same, but gives it up after ten only where a request is queued | after ten, where every thread is busy and a connection waits |
//! | 7.0.0 to 7.0.3 | leaves it to the reactor | after 1000 requests |
//! | 7.0.4 to 7.0.x | looks, and puts a request that is there at the end of the queue | as beside |
//! | from 7.1 on | serves that request itself where another thread waits | as beside |
//!
//! Differs from Puma: an idle connection is kept for ever, not 20 s or 65 s (`persistent_timeout`), and
//! 5.3.2 closes like 5.4.

use crate::cluster::accept::{Accept, AcceptWait, Backoff, Between, Keep, Room, Then};
use crate::model::version;
use std::time::Duration;

/// `wait_for_less_busy_worker` (lib/puma/configuration.rb, 6.0.0 to 8.0.2).
const LESS_BUSY: Duration = Duration::from_millis(5);
/// The unit of the sleep of a full worker (lib/puma/server.rb, 7.0.0 to 7.0.3).
const WHEN_FULL: Duration = Duration::from_micros(100);
/// `FAST_TRACK_KA_TIMEOUT` (lib/puma/const.rb, 5.0 to 6.6.1).
const FAST_TRACK: Duration = Duration::from_millis(200);
/// `max_fast_inline` (`MAX_FAST_INLINE` in lib/puma/const.rb, 5.0 to 6.6.1).
const IN_A_ROW: u32 = 10;
/// A connection is kept while it has served less than `max_keep_alive` (999) requests before this one
/// (lib/puma/request.rb, 7.0.0 to 8.0.2): the thousandth is its last.
const REQUESTS_MAX: u32 = 1000;

/// The record of each of so many workers; 0 is single mode.
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
        match workers {
            0 => Backoff::WhenFullFor { length: WHEN_FULL },
            _ => Backoff::WhenFull { unit: WHEN_FULL },
        }
    } else if from(6, 0, 0) && (workers >= 1 || !from(6, 5, 0)) {
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
        between: if queue_requests { Between::Kept(keep(version)) } else { Between::Closed },
    }
}

/// What a version does with a connection between its requests.
fn keep(version: &str) -> Keep {
    let from = |major, minor, patch| version::from(version, [major, minor, patch]);
    if !from(7, 0, 0) {
        let room = if from(5, 3, 2) { Room::WhereOthersWait } else { Room::Always };
        let then = Then::Wait { most: FAST_TRACK, in_a_row: IN_A_ROW, room };
        return Keep { requests_max: None, then };
    }
    let then = match (from(7, 0, 4), from(7, 1, 0)) {
        (false, _) => Then::Watch,
        (true, false) => Then::Queue,
        (true, true) => Then::ServeWhereOneWaits,
    };
    Keep { requests_max: Some(REQUESTS_MAX), then }
}
