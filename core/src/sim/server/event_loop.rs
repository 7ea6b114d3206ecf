//! An event loop: one thread that runs what is ready, then asks the system what has become ready.
//!
//! After asyncio's selector loop (`base_events._run_once`, CPython 3.13): one round runs what was
//! ready when it began, in order; what becomes ready meanwhile waits for the next; between rounds the
//! lock is released, also where there is no time to wait.

use super::request::RequestId;
use super::serving::{Progress, Serving};
use super::{Role, Server};
use crate::clock::Nanos;
use crate::executor::LongPoll;
use crate::gvl::policy::Leave;
use crate::measure::LoopUse;
use crate::model::Handlers;
use crate::sim::kernel::{Burst, Done, Tid};
use std::collections::VecDeque;
use std::time::Duration;

/// What the thread of a loop is at.
#[derive(Debug, Clone, Copy)]
pub(super) enum Loop {
    /// A round is over: it leaves the lock.
    Poll,
    /// It waits for something to become ready.
    Polls,
    /// It holds the lock, and begins a round.
    Round,
    /// It runs what is ready, so many more.
    Next { left: usize },
    /// It takes a request in: what that costs, and its answer.
    Begins { left: usize, id: RequestId },
    /// It runs a request.
    Serves { left: usize, id: RequestId, at: Serving },
}

/// What a loop has to do.
#[derive(Debug)]
pub(super) struct EventLoop {
    pub(super) tid: Tid,
    pub(super) handlers: Handlers,
    /// What is ready, and since when.
    ready: VecDeque<(RequestId, Nanos)>,
    /// Whether its thread sleeps until something is.
    sleeps: bool,
    /// When the present poll of a request began.
    since: Nanos,
    /// How it fares.
    pub(super) used: LoopUse,
}

/// From this length on a poll is long, as in the executor's event loop.
const LONG: Duration = Duration::from_millis(10);

impl EventLoop {
    pub(super) fn new(tid: Tid, handlers: Handlers) -> Self {
        Self {
            tid,
            handlers,
            ready: VecDeque::new(),
            sleeps: false,
            since: 0,
            used: LoopUse { threshold: LONG, ..LoopUse::default() },
        }
    }

    fn polled(&mut self, task: &str, now: Nanos) {
        let length = Duration::from_nanos(now - self.since);
        if length < LONG {
            return;
        }
        let task = task.to_owned();
        self.used.add_long_poll(&LongPoll { task, count: 1, total: length, max: length });
    }
}

impl Server<'_> {
    /// A request goes on: on the loop of its process.
    pub(super) fn resume(&mut self, id: RequestId) {
        let now = self.kernel.now();
        let request = self.requests.at_mut(id);
        request.wait = request.wait.wrapping_add(1);
        let number = request.process;
        let event_loop = self.loop_of(number);
        event_loop.ready.push_back((id, now));
        self.rouse_loop(number);
    }

    /// The loop of a process looks what there is, if it waits.
    pub(super) fn rouse_loop(&mut self, number: u32) {
        let event_loop = self.loop_of(number);
        if std::mem::take(&mut event_loop.sleeps) {
            let tid = event_loop.tid;
            self.kernel.wake(tid);
        }
    }

    pub(super) fn step_loop(&mut self, tid: Tid, number: u32, mut at: Loop) {
        loop {
            let done = match at {
                Loop::Poll => {
                    at = Loop::Polls;
                    self.kernel.leave(tid, Leave::Region)
                }
                Loop::Polls => {
                    if self.loop_of(number).ready.is_empty() && !self.may_accept(number) {
                        self.loop_of(number).sleeps = true;
                        self.kernel.block(tid);
                        Done::Later
                    } else {
                        at = Loop::Round;
                        self.kernel.acquire(tid)
                    }
                }
                Loop::Round => {
                    self.accept_on_loop(number);
                    at = Loop::Next { left: self.loop_of(number).ready.len() };
                    Done::Now
                }
                Loop::Next { left } => {
                    at = self.next_ready(tid, number, left);
                    Done::Now
                }
                Loop::Begins { left, id } => {
                    at = Loop::Serves { left, id, at: Serving::Next };
                    self.kernel.burn(tid, self.costs.receive + self.costs.answer, Burst::Locked)
                }
                Loop::Serves { left, id, at: ref mut serving } => {
                    let awaits = self.loop_of(number).handlers == Handlers::Async;
                    let progress = self.serve(tid, id, serving, awaits);
                    if progress == Progress::Later {
                        Done::Later
                    } else {
                        at = Loop::Next { left };
                        self.polled(tid, number, id);
                        if progress == Progress::Ended {
                            self.served(tid, id);
                            self.finish(id);
                        }
                        Done::Now
                    }
                }
            };
            if done == Done::Later {
                break;
            }
        }
        self.roles[tid.0 as usize] = (number, Role::Loop(at));
    }

    /// Takes the next request that is ready in this round.
    fn next_ready(&mut self, tid: Tid, number: u32, left: usize) -> Loop {
        let now = self.kernel.now();
        let event_loop = self.loop_of(number);
        let next = if left > 0 { event_loop.ready.pop_front() } else { None };
        let Some((id, since)) = next else { return Loop::Poll };
        let left = left - 1;
        event_loop.used.lag.record(Duration::from_nanos(now - since));
        event_loop.used.polls += 1;
        event_loop.since = now;
        let offloads = event_loop.handlers == Handlers::Offloaded;
        let request = self.requests.at_mut(id);
        if std::mem::replace(&mut request.begun, true) {
            if offloads {
                // Its thread has served it.
                self.polled(tid, number, id);
                self.finish(id);
                return Loop::Next { left };
            }
        } else if offloads {
            self.polled(tid, number, id);
            self.enqueue(number, id);
            return Loop::Next { left };
        } else {
            self.tally.started(now);
            self.serves(tid, id);
            return Loop::Begins { left, id };
        }
        Loop::Serves { left, id, at: Serving::Next }
    }

    /// A poll of the request is over.
    fn polled(&mut self, tid: Tid, number: u32, id: RequestId) {
        let now = self.kernel.now();
        let waits = self.kernel.take_waits(tid);
        let request = self.requests.at_mut(id);
        request.served.waits.add(waits);
        let name = self.workload.endpoints[request.endpoint].name.as_str();
        let event_loop = self.processes[number as usize].event_loop.as_mut();
        event_loop.expect("the process has a loop").polled(name, now);
    }

    fn loop_of(&mut self, number: u32) -> &mut EventLoop {
        let event_loop = self.processes[number as usize].event_loop.as_mut();
        event_loop.expect("the process has a loop")
    }
}
