//! The interlock of a process: shared by requests that run, exclusive for one that reloads the code.
//!
//! First come, first served: who wants to share waits behind one that waits to be alone, as in
//! ActiveSupport's `ShareLock`.

use super::Server;
use super::request::RequestId;
use crate::sim::kernel::{Done, Tid};
use crate::workload::Inside;
use std::collections::VecDeque;

#[derive(Debug, Default)]
pub(super) struct Interlock {
    sharing: u32,
    is_alone: bool,
    waiting: VecDeque<(RequestId, Inside)>,
}

impl Interlock {
    fn enter(&mut self, how: Inside) -> bool {
        let may = !self.is_alone && (how == Inside::Shared || self.sharing == 0);
        match how {
            Inside::Shared => self.sharing += u32::from(may),
            Inside::Alone => self.is_alone |= may,
        }
        may
    }

    fn leave(&mut self, how: Inside) {
        match how {
            Inside::Shared => self.sharing -= 1,
            Inside::Alone => self.is_alone = false,
        }
    }

    /// The first to wait, if it may enter now.
    fn next(&mut self) -> Option<(RequestId, Inside)> {
        let (_, how) = *self.waiting.front()?;
        if self.enter(how) { self.waiting.pop_front() } else { None }
    }
}

impl Server<'_> {
    /// Enters the interlock of the request's process, if nobody is in the way or waits for it.
    pub(super) fn enter_interlock(&mut self, id: RequestId, how: Inside) -> bool {
        let process = self.requests.at(id).process as usize;
        let interlock = &mut self.processes[process].interlock;
        let may = interlock.waiting.is_empty() && interlock.enter(how);
        if may {
            self.requests.at_mut(id).inside = Some(how);
        }
        may
    }

    /// Stands in line for it.
    pub(super) fn wait_for_interlock(&mut self, id: RequestId, how: Inside) {
        let process = self.requests.at(id).process as usize;
        self.processes[process].interlock.waiting.push_back((id, how));
    }

    /// Enters, or has the thread wait.
    pub(super) fn block_for_interlock(&mut self, tid: Tid, id: RequestId, how: Inside) -> Done {
        if self.enter_interlock(id, how) {
            return Done::Now;
        }
        self.requests.at_mut(id).thread = Some(tid);
        self.wait_for_interlock(id, how);
        self.kernel.block(tid);
        Done::Later
    }

    /// Leaves it, where the request is inside, and lets in who may enter.
    pub(super) fn leave_interlock(&mut self, id: RequestId) {
        let request = self.requests.at_mut(id);
        let process = request.process as usize;
        let Some(how) = request.inside.take() else { return };
        self.processes[process].interlock.leave(how);
        while let Some((next, how)) = self.processes[process].interlock.next() {
            self.requests.at_mut(next).inside = Some(how);
            self.waits_no_more(next);
        }
    }
}
