//! Serves a request on a thread, action by action: the interpreter of programs in virtual time.
//!
//! Threads of a pool and event loops call it. The thread holds the lock when an action begins; what
//! blocks is done outside of it.

use super::pools::Found;
use super::request::RequestId;
use super::{Server, Timer};
use crate::clock::{Nanos, nanos};
use crate::gvl::policy::Leave;
use crate::measure::Ended;
use crate::sim::kernel::{Burst, Done, Tid};
use crate::workload::{Action, Inside, PoolIndex};

/// Where a thread is in the request that it serves.
#[derive(Debug, Clone, Copy)]
pub(super) enum Serving {
    /// It holds the lock, and takes the next action.
    Next,
    /// It has left the lock for this.
    Out(Outside),
    /// It wants the lock back.
    Back,
}

/// What is done without the lock.
#[derive(Debug, Clone, Copy)]
pub(super) enum Outside {
    Sleep(Nanos),
    Burn(Nanos),
    Connection(PoolIndex),
    Interlock(Inside),
}

/// How far a thread came.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Progress {
    /// It goes on later.
    Later,
    /// The request is served; the thread holds the lock.
    Ended,
    /// The request waits for something, and the loop is free; it holds the lock.
    Awaits,
}

impl Server<'_> {
    /// Serves on as far as it goes at once. `awaits`: the handler runs on a loop and gives it to
    /// others while it waits.
    pub(super) fn serve(
        &mut self,
        tid: Tid,
        id: RequestId,
        at: &mut Serving,
        awaits: bool,
    ) -> Progress {
        loop {
            let done = match *at {
                Serving::Next => match self.act(tid, id, at, awaits) {
                    Ok(done) => done,
                    Err(progress) => return progress,
                },
                Serving::Out(outside) => {
                    *at = Serving::Back;
                    match outside {
                        Outside::Sleep(length) => self.kernel.sleep(tid, length),
                        Outside::Burn(length) => self.kernel.burn(tid, length, Burst::Free),
                        Outside::Connection(pool) => self.connect(tid, id, pool),
                        Outside::Interlock(how) => self.block_for_interlock(tid, id, how),
                    }
                }
                Serving::Back => {
                    *at = Serving::Next;
                    self.kernel.acquire(tid)
                }
            };
            if done == Done::Later {
                return Progress::Later;
            }
        }
    }

    /// Begins the next action.
    fn act(
        &mut self,
        tid: Tid,
        id: RequestId,
        at: &mut Serving,
        awaits: bool,
    ) -> Result<Done, Progress> {
        let now = self.kernel.now();
        let request = self.requests.at_mut(id);
        if request.served.ended != Ended::Ok {
            return Err(Progress::Ended);
        }
        let Some(action) = request.cursor.next(&self.programs[request.endpoint]) else {
            return Err(Progress::Ended);
        };
        request.served.charge(&action);
        let outside = match action {
            Action::Cpu(length) => return Ok(self.kernel.burn(tid, nanos(length), Burst::Locked)),
            // Whoever computes or waits in C code that keeps the lock.
            Action::Hold(length) => return Ok(self.kernel.sleep(tid, nanos(length))),
            Action::Io(length) if awaits => {
                let due = Timer::Await(id, request.wait);
                self.kernel.remind(now.saturating_add(nanos(length)), due);
                return Err(Progress::Awaits);
            }
            Action::Io(length) => Outside::Sleep(nanos(length)),
            Action::Native(length) => Outside::Burn(nanos(length)),
            Action::Checkout(pool) => {
                match self.take(id, pool) {
                    Found::Connection => return Ok(Done::Now),
                    Found::Refused => return Err(Progress::Ended),
                    Found::AllInUse => {}
                }
                if awaits {
                    self.wait_for(id, pool);
                    return Err(Progress::Awaits);
                }
                Outside::Connection(pool)
            }
            Action::Checkin(pool) => {
                if let Some(place) = request.held.iter().rposition(|held| *held == pool) {
                    request.held.remove(place);
                    self.give_back(id, pool);
                }
                return Ok(Done::Now);
            }
            Action::Enter(how) => {
                if self.enter_interlock(id, how) {
                    return Ok(Done::Now);
                }
                if awaits {
                    self.wait_for_interlock(id, how);
                    return Err(Progress::Awaits);
                }
                Outside::Interlock(how)
            }
            Action::Leave => {
                self.leave_interlock(id);
                return Ok(Done::Now);
            }
            Action::Fail(status) => {
                request.served.fail(format!("status {status}"));
                return Err(Progress::Ended);
            }
        };
        *at = Serving::Out(outside);
        Ok(self.kernel.leave(tid, Leave::Region))
    }

    /// Takes a connection, or waits for one.
    fn connect(&mut self, tid: Tid, id: RequestId, pool: PoolIndex) -> Done {
        if self.take(id, pool) != Found::AllInUse {
            return Done::Now;
        }
        self.requests.at_mut(id).thread = Some(tid);
        self.wait_for(id, pool);
        self.kernel.block(tid);
        Done::Later
    }

    /// Takes a connection for a request, which fails where the database refuses it.
    fn take(&mut self, id: RequestId, pool: PoolIndex) -> Found {
        let request = self.requests.at_mut(id);
        let pools = &mut self.processes[request.process as usize].pools;
        let found = pools.take(pool, &mut self.databases);
        match found {
            Found::Connection => request.held.push(pool),
            Found::Refused => request.served.fail("too many connections"),
            Found::AllInUse => {}
        }
        found
    }

    fn wait_for(&mut self, id: RequestId, pool: PoolIndex) {
        let request = self.requests.at_mut(id);
        request.waits_in = pool;
        let pools = &mut self.processes[request.process as usize].pools;
        pools.wait(pool, id);
        let late = self.kernel.now().saturating_add(pools.timeout(pool));
        self.kernel.remind(late, Timer::Checkout(id, request.wait));
    }

    /// A connection of the request's process is free again.
    pub(super) fn give_back(&mut self, id: RequestId, pool: PoolIndex) {
        let process = self.requests.at(id).process as usize;
        if let Some(next) = self.processes[process].pools.give_back(pool) {
            self.requests.at_mut(next).held.push(pool);
            self.waits_no_more(next);
        }
    }

    /// A wait for a connection runs out.
    pub(super) fn checkout_late(&mut self, id: RequestId, wait: u32) {
        let request = self.requests.at(id);
        let pools = &mut self.processes[request.process as usize].pools;
        if request.wait == wait && pools.give_up(request.waits_in, id) {
            self.requests.at_mut(id).served.fail("checkout timeout");
            self.waits_no_more(id);
        }
    }

    pub(super) fn waits_no_more(&mut self, id: RequestId) {
        let request = self.requests.at_mut(id);
        match request.thread.take() {
            Some(tid) => {
                request.wait = request.wait.wrapping_add(1);
                self.kernel.wake(tid);
            }
            None => self.resume(id),
        }
    }
}
