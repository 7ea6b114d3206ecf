//! Requests under way.

use crate::clock::Nanos;
use crate::load::Arrival;
use crate::measure::Served;
use crate::sim::kernel::Tid;
use crate::workload::{Cursor, PoolIndex};
use smallvec::SmallVec;

/// A request under way; taken again after it ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::sim) struct RequestId(pub(super) u32);

pub(super) struct Request {
    pub(super) number: u64,
    pub(super) endpoint: usize,
    pub(super) user: Option<u32>,
    pub(super) intended: Nanos,
    pub(super) cursor: Cursor,
    pub(super) served: Served,
    /// The process that has it.
    pub(super) process: u32,
    /// The connections that it holds.
    pub(super) held: SmallVec<[PoolIndex; 2]>,
    /// The thread that waits for it, where one does.
    pub(super) thread: Option<Tid>,
    /// A loop has run it before.
    pub(super) begun: bool,
    /// Counts its waits, so that a time-out finds only the one that it was set for.
    pub(super) wait: u32,
}

#[derive(Default)]
pub(super) struct Requests {
    all: Vec<Request>,
    spare: Vec<RequestId>,
}

impl Requests {
    pub(super) fn add(&mut self, arrival: Arrival) -> RequestId {
        let mut request = Request {
            number: arrival.number,
            endpoint: arrival.endpoint,
            user: arrival.user,
            intended: arrival.intended,
            cursor: Cursor::new(arrival.stream),
            served: Served::nothing_yet(),
            process: 0,
            held: SmallVec::new(),
            thread: None,
            begun: false,
            wait: 0,
        };
        if let Some(id) = self.spare.pop() {
            request.wait = self.at(id).wait;
            *self.at_mut(id) = request;
            return id;
        }
        self.all.push(request);
        RequestId(self.all.len() as u32 - 1)
    }

    /// The request ended; gives what became of it.
    pub(super) fn end(&mut self, id: RequestId) -> Served {
        self.spare.push(id);
        let request = self.at_mut(id);
        request.wait = request.wait.wrapping_add(1);
        std::mem::replace(&mut request.served, Served::nothing_yet())
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
