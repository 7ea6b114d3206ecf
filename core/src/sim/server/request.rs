//! Requests under way.

use crate::clock::Nanos;
use crate::load::Arrival;
use crate::measure::Served;
use crate::sim::kernel::Tid;
use crate::workload::{Cursor, Inside, PoolIndex};
use smallvec::SmallVec;

/// A request under way; taken again after it ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::sim) struct RequestId(pub(super) u32);

/// Where an attempt is, as far as its client may know.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Stage {
    /// Not at the server: the client has not sent it, or has no connection yet.
    Outside,
    /// Its connection waits to be accepted.
    Backlog,
    /// The server has it.
    Inside,
    /// The server saw that its client had left, and did not begin it.
    Dropped,
}

/// An attempt at a request.
pub(super) struct Request {
    pub(super) number: u64,
    pub(super) endpoint: usize,
    pub(super) user: Option<u32>,
    pub(super) intended: Nanos,
    pub(super) cursor: Cursor,
    pub(super) served: Served,
    /// The process that has it.
    pub(super) process: u32,
    /// The worker of the proxy that has it, where there is one.
    pub(super) proxied_by: u32,
    /// The connections that it holds.
    pub(super) held: SmallVec<[PoolIndex; 2]>,
    /// How it is inside of its process's interlock, where it is.
    pub(super) inside: Option<Inside>,
    /// The thread that waits for it, where one does.
    pub(super) thread: Option<Tid>,
    /// The client has sent it.
    pub(super) sent: bool,
    /// A worker has its connection and waits for it.
    pub(super) watched: bool,
    pub(super) stage: Stage,
    /// Attempts before this one.
    pub(super) attempt: u32,
    /// Its client has left.
    pub(super) gone: bool,
    /// Counts the attempts that had this place, so that a time-out finds only its own.
    pub(super) life: u32,
    /// A loop has run it before.
    pub(super) begun: bool,
    /// Counts its waits, so that a time-out finds only the one that it was set for.
    pub(super) wait: u32,
    /// The pool that it waits for a connection of, where it does.
    pub(super) waits_in: PoolIndex,
}

#[derive(Default)]
pub(super) struct Requests {
    all: Vec<Request>,
    spare: Vec<RequestId>,
}

impl Requests {
    pub(super) fn add(&mut self, arrival: Arrival) -> RequestId {
        let Arrival { number, endpoint, user, intended, stream } = arrival;
        if let Some(id) = self.spare.pop() {
            let request = self.at_mut(id);
            (request.endpoint, request.user, request.intended) = (endpoint, user, intended);
            request.number = number;
            request.cursor = Cursor::new(stream);
            request.served.begin_anew();
            (request.thread, request.begun) = (None, false);
            (request.sent, request.watched) = (true, false);
            (request.stage, request.attempt, request.gone) = (Stage::Outside, 0, false);
            return id;
        }
        self.all.push(Request {
            number,
            endpoint,
            user,
            intended,
            cursor: Cursor::new(stream),
            served: Served::nothing_yet(),
            process: 0,
            proxied_by: 0,
            held: SmallVec::new(),
            inside: None,
            thread: None,
            sent: true,
            watched: false,
            stage: Stage::Outside,
            attempt: 0,
            gone: false,
            life: 0,
            begun: false,
            wait: 0,
            waits_in: PoolIndex(0),
        });
        RequestId(self.all.len() as u32 - 1)
    }

    /// The request ended, and was counted.
    pub(super) fn end(&mut self, id: RequestId) {
        self.spare.push(id);
        let request = self.at_mut(id);
        request.wait = request.wait.wrapping_add(1);
        request.life = request.life.wrapping_add(1);
        request.held.clear();
    }

    pub(super) fn under_way(&self) -> u64 {
        (self.all.len() - self.spare.len()) as u64
    }

    pub(super) fn at(&self, id: RequestId) -> &Request {
        &self.all[id.0 as usize]
    }

    pub(super) fn at_mut(&mut self, id: RequestId) -> &mut Request {
        &mut self.all[id.0 as usize]
    }
}
