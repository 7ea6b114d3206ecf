//! Threads that serve one request after another, or one each; those of an offload pool too.

use super::keep::{Keeps, Turn};
use super::request::RequestId;
use super::serving::{Progress, Serving};
use super::{Role, Server};
use crate::gvl::policy::Leave;
use crate::sim::kernel::{Burst, Done, Tid};

/// What a thread of a pool is at.
#[derive(Debug, Clone, Copy)]
pub(super) enum Thread {
    /// Asleep until there is something to do.
    Idle,
    /// It holds the lock and looks for a request.
    Fetch,
    /// It found none, and has left the lock.
    Off,
    Serves(RequestId, Serving),
    /// It has served it, and answers.
    Answers(RequestId),
    /// It has answered over a connection: the user, and which of the user's it is.
    Keeps((u32, u32), Keeps),
    /// It has read the next request over that connection.
    Reads(RequestId),
    /// It has left the lock for good.
    End,
}

impl Server<'_> {
    /// A request for the threads of a process.
    pub(super) fn enqueue(&mut self, number: u32, id: RequestId) {
        self.requests.at_mut(id).process = number;
        let process = &mut self.processes[number as usize];
        process.todo.push_back(id);
        if let Some(idle) = process.idle.pop_front() {
            self.kernel.wake(idle);
        } else if process.live < process.threads_max {
            self.spawn_thread(number);
        }
    }

    /// Starts a thread of the pool.
    pub(super) fn spawn_thread(&mut self, number: u32) {
        let process = &mut self.processes[number as usize];
        process.live += 1;
        let tid = self.add(number, Role::Thread(Thread::Idle));
        self.kernel.wake(tid);
    }

    pub(super) fn step_thread(&mut self, tid: Tid, number: u32, mut at: Thread) {
        loop {
            let done = match &mut at {
                Thread::Idle => {
                    at = Thread::Fetch;
                    self.kernel.acquire(tid)
                }
                Thread::Fetch => match self.fetch(number) {
                    Some(id) => {
                        self.serves(tid, id);
                        at = Thread::Serves(id, Serving::Next);
                        Done::Now
                    }
                    None => {
                        at = if self.is_trimmed(number) { Thread::End } else { Thread::Off };
                        self.kernel.leave(tid, Leave::Idle)
                    }
                },
                Thread::Off => {
                    at = Thread::Idle;
                    let process = &mut self.processes[number as usize];
                    if process.todo.is_empty() {
                        process.idle.push_back(tid);
                        self.look_at_the_idle(number);
                        self.kernel.block(tid);
                        Done::Later
                    } else {
                        Done::Now
                    }
                }
                Thread::Serves(id, serving) => {
                    let id = *id;
                    if self.serve(tid, id, serving, false) == Progress::Later {
                        Done::Later
                    } else {
                        at = Thread::Answers(id);
                        // One that a loop has offloaded is answered by the loop.
                        let offloads = self.processes[number as usize].event_loop.is_some();
                        let cost = if offloads { 0 } else { self.costs.answer };
                        self.kernel.burn(tid, cost, Burst::Locked)
                    }
                }
                Thread::Answers(id) => {
                    let id = *id;
                    let user = self.requests.at(id).user;
                    let waits = self.kernel.take_waits(tid);
                    self.requests.at_mut(id).served.waits.add(waits);
                    self.served(tid, id);
                    if self.processes[number as usize].event_loop.is_some() {
                        self.resume(id);
                    } else {
                        self.finish(id);
                    }
                    if self.one_request {
                        at = Thread::End;
                        self.kernel.leave(tid, Leave::Idle)
                    } else {
                        at = match user.and_then(|user| self.at_thread(user)) {
                            Some(connection) => Thread::Keeps(connection, Keeps::Look),
                            None => Thread::Fetch,
                        };
                        Done::Now
                    }
                }
                Thread::Keeps(connection, keeps) => {
                    let connection = *connection;
                    match self.keep(tid, number, connection, keeps) {
                        Turn::Stays(done) => done,
                        Turn::Serves(id) => {
                            at = Thread::Reads(id);
                            self.kernel.burn(tid, self.costs.receive, Burst::Locked)
                        }
                        Turn::Queued => {
                            at = Thread::Fetch;
                            self.kernel.burn(tid, self.costs.receive, Burst::Locked)
                        }
                        Turn::Leaves => {
                            at = Thread::Fetch;
                            Done::Now
                        }
                    }
                }
                Thread::Reads(id) => {
                    let id = *id;
                    self.tally.started(self.kernel.now());
                    self.serves(tid, id);
                    at = Thread::Serves(id, Serving::Next);
                    Done::Now
                }
                Thread::End => return self.end_thread(tid, number),
            };
            if done == Done::Later {
                break;
            }
        }
        self.roles[tid.0 as usize] = (number, Role::Thread(at));
    }

    fn fetch(&mut self, number: u32) -> Option<RequestId> {
        loop {
            let id = self.processes[number as usize].todo.pop_front()?;
            self.tally.started(self.kernel.now());
            if !self.drops(id) {
                return Some(id);
            }
        }
    }

    fn end_thread(&mut self, tid: Tid, number: u32) {
        self.kernel.end_thread(tid);
        self.roles[tid.0 as usize] = (number, Role::Thread(Thread::End));
        let process = &mut self.processes[number as usize];
        process.live -= 1;
        if !process.todo.is_empty() {
            self.spawn_thread(number);
        }
    }
}
