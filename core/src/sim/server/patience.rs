//! Clients that wait no longer than their load says: they hang up, and try again or not.
//!
//! The server is not told. What it has of an attempt stays where it is, as a connection in the
//! backlog, a request in a queue or one that is served, and takes what it takes; its place among the
//! requests is kept until then, and the next attempt has one of its own.

use super::request::{RequestId, Stage};
use super::{Server, Timer};
use crate::clock::nanos;
use crate::load::{Arrival, stream_of};
use crate::measure::{Finished, Served};

impl Server<'_> {
    /// An attempt begins.
    pub(super) fn attempt(&mut self, id: RequestId) {
        let now = self.kernel.now();
        self.tally.queued(now);
        let request = self.requests.at(id);
        if request.attempt > 0 {
            self.tally.retried(now);
        }
        if let Some(late) = self.patience.gives_up(now) {
            self.kernel.remind(late, Timer::GivesUp(id, request.life));
        }
        self.begin(id);
    }

    /// The client of an attempt has waited long enough, if it still waits.
    pub(super) fn gives_up(&mut self, id: RequestId, life: u32) {
        if self.requests.at(id).life == life {
            self.leave(id, "timeout");
        }
    }

    /// The client leaves its attempt, which has failed as `kind`.
    pub(super) fn leave(&mut self, id: RequestId, kind: &str) {
        let request = self.requests.at_mut(id);
        let (number, attempt) = (request.number, request.attempt);
        let (endpoint, intended) = (request.endpoint, request.intended);
        let (stage, process) = (request.stage, request.process);
        let user = request.user.take();
        let waited_for = std::mem::take(&mut request.watched);
        request.gone = true;
        self.gone += 1;
        if waited_for {
            // Its worker reads the end where it waits for a request.
            self.processes[process as usize].door.watched -= 1;
        }
        if let Some(user) = user {
            match stage {
                Stage::Outside => self.hang_up(user),
                Stage::Backlog | Stage::Inside | Stage::Dropped => self.forget_connection(user),
            }
        }
        if waited_for || stage == Stage::Outside {
            self.end_unserved(id);
        }
        let now = self.kernel.now();
        if let Some(pause) = self.patience.next(self.seed, number, attempt) {
            let stream = stream_of(self.seed, number, attempt + 1);
            let again = self.requests.add(Arrival { number, user, endpoint, intended, stream });
            self.requests.at_mut(again).attempt = attempt + 1;
            if pause.is_zero() {
                return self.attempt(again);
            }
            return self.kernel.remind(now.saturating_add(nanos(pause)), Timer::Retry(again));
        }
        let served = &Served::without_an_end(kind);
        self.tally.finished(&Finished { endpoint, intended, at: now, pid: None, served });
        if user.is_some() {
            self.driver.finished(user, now);
            self.arrivals();
        }
    }

    /// An attempt whose client has left ends before it came to a thread.
    pub(super) fn end_unserved(&mut self, id: RequestId) {
        self.tally.started(self.kernel.now());
        self.gone -= 1;
        self.requests.end(id);
    }

    /// Whether the server drops a request that it is about to begin: it sees that the client has left.
    pub(super) fn drops(&mut self, id: RequestId) -> bool {
        let sees = self.topology.socket.sees_closed;
        let request = self.requests.at_mut(id);
        if !(sees && request.gone) {
            return false;
        }
        request.stage = Stage::Dropped;
        self.finish(id);
        true
    }
}
