//! The listening socket, and the threads that take requests from it: an acceptor and a reactor in each
//! process, which need the process's lock as every other thread of it does.
//!
//! As the record of the server and its version says. Between waiting for a connection and accepting
//! it, an acceptor needs the lock to look how busy its threads are, and again after a pause: as Puma's
//! does (`Server#handle_servers`), so that a worker whose threads compute is slow to accept.

use super::backlog::Room;
use super::keep::Kept;
use super::request::{RequestId, Stage};
use super::{Role, Server, Timer};
use crate::clock::{Nanos, nanos};
use crate::cluster::accept::{self, Accept, AcceptWait, Between};
use crate::gvl::policy::Leave;
use crate::sim::kernel::{Burst, Done, Tid};
use std::collections::VecDeque;

/// What the thread of an acceptor is at.
#[derive(Debug, Clone, Copy)]
pub(super) enum Acceptor {
    /// It waits for a free thread first, where it must be able to take what wakes it.
    Gate,
    /// It waits for a connection.
    Poll,
    /// There is one: it asks for the lock.
    Lock,
    /// It holds the lock, and looks how busy its threads are.
    Look,
    /// It has left the lock for a pause.
    Pause(Pause),
    /// Its pause is over: it asks for the lock.
    Again,
    /// It holds the lock, and accepts so many more.
    Take(u32),
    /// It has a connection, and asks for the lock (a blocking `accept`).
    Taken(RequestId),
    /// It holds the lock, and takes the request of a connection in.
    Receive(RequestId),
    /// It has done so; it accepts so many more.
    Admit(RequestId, u32),
}

/// What an acceptor pauses for before it accepts.
#[derive(Debug, Clone, Copy)]
pub(super) enum Pause {
    /// A free thread.
    Free,
    /// What a busy worker waits for.
    BackOff(accept::Pause),
}

/// What the thread of a reactor is at.
#[derive(Debug, Clone, Copy)]
pub(super) enum Reactor {
    /// It waits for a request on a connection that is open.
    Poll,
    /// It holds the lock, and takes in what there is.
    Read,
    /// It has taken a request in, and hands it to the threads.
    Hand(RequestId),
}

/// The socket that all workers accept from.
pub(super) struct Listener {
    pub(super) accept: Accept,
    /// Connections that nobody has accepted, each with its request.
    pub(super) backlog: VecDeque<RequestId>,
    pub(super) room: Room,
    /// Who waits for one, in the order of going to sleep: a process.
    waiting: Vec<u32>,
}

/// What a process has at the door.
#[derive(Debug, Default)]
pub(super) struct Door {
    pub(super) acceptor: Option<Tid>,
    pub(super) reactor: Option<Tid>,
    /// Requests under way, and idle connections that keep a thread.
    pub(super) under_way: u64,
    /// Connections without a request.
    pub(super) watched: u64,
    /// Requests that came over open connections.
    incoming: VecDeque<RequestId>,
    reactor_sleeps: bool,
    /// The acceptor has accepted since it last waited for a connection.
    accepted: bool,
    /// The acceptor waits for a request to end.
    waits_for_end: bool,
    wait: u32,
}

/// A user's connection.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Connection {
    /// The process that has it; `None`: there is none.
    pub(super) process: Option<u32>,
    /// It keeps a thread.
    pub(super) holds_thread: bool,
    /// Counts the connections that the user has closed.
    pub(super) life: u32,
    /// Counts its requests.
    pub(super) number: u32,
    /// What is kept by rules.
    pub(super) kept: Kept,
}

impl Listener {
    pub(super) fn new(accept: Accept, room: Room) -> Self {
        Self { accept, backlog: VecDeque::new(), room, waiting: Vec::new() }
    }

    fn waits_no_more(&mut self, number: u32) {
        self.waiting.retain(|waiting| *waiting != number);
    }
}

impl Server<'_> {
    /// A request comes over a new connection, for which there is room.
    pub(super) fn connect_to_socket(&mut self, id: RequestId) {
        let listener = self.listener.as_mut().expect("workers accept from a socket");
        listener.backlog.push_back(id);
        self.requests.at_mut(id).stage = Stage::Backlog;
        match listener.accept.wait {
            AcceptWait::Herd => {
                // All wake, whoever went to sleep last first (`add_wait_queue` puts it in front), and
                // each takes its time: the last one to accept is the likeliest to be the next.
                let herd = std::mem::take(&mut listener.waiting);
                for (place, number) in herd.into_iter().rev().enumerate() {
                    self.wake_acceptor(number, place);
                }
            }
            AcceptWait::Exclusive => {
                if let Some(number) = listener.waiting.pop() {
                    self.wake_acceptor(number, 0);
                }
            }
            AcceptWait::Blocking => {
                if !listener.waiting.is_empty() {
                    let number = listener.waiting.remove(0);
                    self.wake_acceptor(number, 0);
                }
            }
        }
    }

    fn wake_acceptor(&mut self, number: u32, place: usize) {
        match self.processes[number as usize].door.acceptor {
            Some(tid) => self.kernel.wake_as(tid, place),
            None => self.rouse_loop(number),
        }
    }

    /// Whether there is a connection; else the process waits for one.
    pub(super) fn may_accept(&mut self, number: u32) -> bool {
        let Some(listener) = &mut self.listener else { return false };
        let accepted = std::mem::take(&mut self.processes[number as usize].door.accepted);
        if listener.backlog.is_empty() {
            if !listener.waiting.contains(&number) {
                // One of a herd that finds nothing sleeps again while the one that was first still
                // hands its connection on, which takes no time here.
                let before = listener.accept.wait == AcceptWait::Herd && !accepted;
                let place = if before { 0 } else { listener.waiting.len() };
                listener.waiting.insert(place, number);
            }
            return false;
        }
        true
    }

    /// A loop accepts what there is.
    pub(super) fn accept_on_loop(&mut self, number: u32) {
        let Some(listener) = &mut self.listener else { return };
        listener.waits_no_more(number);
        let burst = listener.accept.burst as usize;
        let taken: Vec<_> = listener.backlog.drain(..burst.min(listener.backlog.len())).collect();
        for id in taken {
            self.opened(number, id);
            let request = self.requests.at_mut(id);
            (request.process, request.stage) = (number, Stage::Inside);
            self.processes[number as usize].door.under_way += 1;
            self.resume(id);
        }
    }

    pub(super) fn step_acceptor(&mut self, tid: Tid, number: u32, mut at: Acceptor) {
        let accept = self.listener.as_ref().expect("an acceptor has a socket").accept;
        let threads = u64::from(self.processes[number as usize].threads_max);
        loop {
            let is_full = self.processes[number as usize].door.under_way >= threads;
            let done = match at {
                Acceptor::Gate if accept.gates_first() && is_full => self.wait_for_end(tid, number),
                Acceptor::Gate => {
                    at = Acceptor::Poll;
                    Done::Now
                }
                Acceptor::Poll if !self.may_accept(number) => {
                    self.kernel.block(tid);
                    Done::Later
                }
                Acceptor::Poll if accept.wait == AcceptWait::Blocking => {
                    match self.take_connection(number) {
                        Some(id) => at = Acceptor::Taken(id),
                        None => unreachable!("there is one"),
                    }
                    Done::Now
                }
                Acceptor::Poll => {
                    at = Acceptor::Lock;
                    Done::Now
                }
                Acceptor::Lock => {
                    at = Acceptor::Look;
                    self.kernel.acquire(tid)
                }
                Acceptor::Look => match self.pause(number, accept, threads) {
                    Some(pause) => {
                        at = Acceptor::Pause(pause);
                        self.kernel.leave(tid, Leave::Idle)
                    }
                    None => {
                        at = Acceptor::Take(accept.burst);
                        Done::Now
                    }
                },
                // It looks again: another connection may have been faster.
                Acceptor::Pause(Pause::Free) => {
                    at = Acceptor::Lock;
                    if is_full { self.wait_for_end(tid, number) } else { Done::Now }
                }
                Acceptor::Pause(Pause::BackOff(pause)) => {
                    at = Acceptor::Again;
                    match pause {
                        accept::Pause::OneEnds(most) => {
                            self.wait_for_end_until(tid, number, nanos(most))
                        }
                        accept::Pause::Sleep(length) => self.kernel.sleep(tid, nanos(length)),
                    }
                }
                Acceptor::Again => {
                    at = Acceptor::Take(accept.burst);
                    self.kernel.acquire(tid)
                }
                Acceptor::Take(left) => {
                    let next = if left > 0 { self.take_connection(number) } else { None };
                    match next {
                        Some(id) => {
                            at = Acceptor::Admit(id, left - 1);
                            self.kernel.burn(tid, self.costs.receive, Burst::Locked)
                        }
                        // Another worker was faster, or that was all.
                        None => {
                            at = Acceptor::Gate;
                            self.kernel.leave(tid, Leave::Region)
                        }
                    }
                }
                Acceptor::Taken(id) => {
                    at = Acceptor::Receive(id);
                    self.kernel.acquire(tid)
                }
                Acceptor::Receive(id) => {
                    at = Acceptor::Admit(id, 0);
                    self.kernel.burn(tid, self.costs.receive, Burst::Locked)
                }
                Acceptor::Admit(id, left) => {
                    self.admit(number, id);
                    at = Acceptor::Take(left);
                    Done::Now
                }
            };
            if done == Done::Later {
                break;
            }
        }
        self.roles[tid.0 as usize] = (number, Role::Acceptor(at));
    }

    fn take_connection(&mut self, number: u32) -> Option<RequestId> {
        let listener = self.listener.as_mut()?;
        let id = listener.backlog.pop_front()?;
        listener.waits_no_more(number);
        self.processes[number as usize].door.accepted = true;
        Some(id)
    }

    /// The request of a connection that was accepted goes to the threads.
    fn admit(&mut self, number: u32, id: RequestId) {
        self.opened(number, id);
        let request = self.requests.at_mut(id);
        request.stage = Stage::Inside;
        if !request.sent && request.gone {
            return self.end_unserved(id);
        }
        if !request.sent {
            // Its connection is watched until it comes. Differs from Puma: no thread looks first.
            (request.process, request.watched) = (number, true);
            self.processes[number as usize].door.watched += 1;
            return;
        }
        self.processes[number as usize].door.under_way += 1;
        self.enqueue(number, id);
    }

    /// A request comes whose connection was opened before, accepted or not.
    pub(super) fn comes_late(&mut self, id: RequestId) {
        let request = self.requests.at_mut(id);
        request.sent = true;
        if std::mem::take(&mut request.watched) {
            let number = request.process;
            self.processes[number as usize].door.watched -= 1;
            self.wake_reactor(number, id);
        }
    }

    /// Sleeps until a request ends.
    fn wait_for_end(&mut self, tid: Tid, number: u32) -> Done {
        let door = &mut self.processes[number as usize].door;
        door.waits_for_end = true;
        door.wait = door.wait.wrapping_add(1);
        self.kernel.block(tid);
        Done::Later
    }

    /// Sleeps until a request ends, or for so long.
    fn wait_for_end_until(&mut self, tid: Tid, number: u32, most: Nanos) -> Done {
        if self.processes[number as usize].door.under_way == 0 {
            return Done::Now;
        }
        let done = self.wait_for_end(tid, number);
        let wait = self.processes[number as usize].door.wait;
        let late = self.kernel.now().saturating_add(most);
        self.kernel.remind(late, Timer::NoneEnded(number, wait));
        done
    }

    /// What an acceptor that holds the lock has to wait for before it accepts.
    fn pause(&self, number: u32, accept: Accept, threads: u64) -> Option<Pause> {
        let door = &self.processes[number as usize].door;
        let gates_late = accept.only_when_free && !accept.gates_first();
        if gates_late && door.under_way >= threads {
            return Some(Pause::Free);
        }
        accept.backoff.pause(door.under_way, || door.watched, threads).map(Pause::BackOff)
    }

    /// No request ended in the time that an acceptor waits for one.
    pub(super) fn none_ended(&mut self, number: u32, wait: u32) {
        if self.processes[number as usize].door.wait == wait {
            self.one_ended(number);
        }
    }

    /// An acceptor that waits for a request to end goes on.
    pub(super) fn one_ended(&mut self, number: u32) {
        let door = &mut self.processes[number as usize].door;
        if std::mem::take(&mut door.waits_for_end)
            && let Some(tid) = door.acceptor
        {
            self.kernel.wake(tid);
        }
    }

    pub(super) fn step_reactor(&mut self, tid: Tid, number: u32, mut at: Reactor) {
        loop {
            let door = &mut self.processes[number as usize].door;
            let done = match at {
                Reactor::Poll if door.incoming.is_empty() => {
                    door.reactor_sleeps = true;
                    self.kernel.block(tid);
                    Done::Later
                }
                Reactor::Poll => {
                    at = Reactor::Read;
                    self.kernel.acquire(tid)
                }
                Reactor::Read => match door.incoming.pop_front() {
                    Some(id) => {
                        at = Reactor::Hand(id);
                        self.kernel.burn(tid, self.costs.receive, Burst::Locked)
                    }
                    None => {
                        at = Reactor::Poll;
                        self.kernel.leave(tid, Leave::Region)
                    }
                },
                Reactor::Hand(id) => {
                    door.under_way += 1;
                    self.enqueue(number, id);
                    at = Reactor::Read;
                    Done::Now
                }
            };
            if done == Done::Later {
                break;
            }
        }
        self.roles[tid.0 as usize] = (number, Role::Reactor(at));
    }

    /// A request comes over the connection that its user has; false where there is none.
    pub(super) fn comes_over_connection(&mut self, id: RequestId) -> bool {
        let Some(user) = self.requests.at(id).user else { return false };
        let Some(connection) = self.connections.get_mut(user as usize) else { return false };
        let Some(number) = connection.process else { return false };
        connection.number = connection.number.wrapping_add(1);
        if connection.kept.is_at_thread() {
            self.comes_to_thread(user, number, id);
            return true;
        }
        let held = std::mem::take(&mut connection.holds_thread);
        self.requests.at_mut(id).process = number;
        let door = &mut self.processes[number as usize].door;
        door.watched -= 1;
        // The place that it kept is its own.
        door.under_way -= u64::from(held);
        if door.reactor.is_none() {
            door.under_way += 1;
            self.resume(id);
            return true;
        }
        self.wake_reactor(number, id);
        true
    }

    /// A request comes over a connection that a worker watches.
    pub(super) fn wake_reactor(&mut self, number: u32, id: RequestId) {
        let door = &mut self.processes[number as usize].door;
        door.incoming.push_back(id);
        if std::mem::take(&mut door.reactor_sleeps)
            && let Some(tid) = door.reactor
        {
            self.kernel.wake(tid);
        }
    }

    /// Whether the request's user has a connection open.
    pub(super) fn is_connected(&self, id: RequestId) -> bool {
        let user = self.requests.at(id).user.map(|user| user as usize);
        let connection = user.and_then(|user| self.connections.get(user));
        connection.is_some_and(|connection| connection.process.is_some())
    }

    /// A process has accepted the request's connection.
    fn opened(&mut self, number: u32, id: RequestId) {
        if let Some(user) = self.requests.at(id).user
            && let Some(connection) = self.connections.get_mut(user as usize)
        {
            connection.process = Some(number);
        }
    }

    /// Whether a connection waits to be accepted.
    pub(super) fn one_waits_to_be_accepted(&self) -> bool {
        self.listener.as_ref().is_some_and(|listener| !listener.backlog.is_empty())
    }

    /// A request of the process is answered: what becomes of its connection and its place.
    pub(super) fn answered(&mut self, number: u32, user: Option<u32>) {
        let Some(listener) = &self.listener else { return };
        let between = listener.accept.between;
        if let (Between::Kept(keep), Some(user)) = (between, user)
            && !self.connections.is_empty()
        {
            return self.answered_by_thread(number, user, keep);
        }
        let door = &mut self.processes[number as usize].door;
        let connection = user.and_then(|user| self.connections.get_mut(user as usize));
        let Some(connection) = connection.filter(|_| between != Between::Closed) else {
            door.under_way -= 1;
            if let Some(user) = user
                && let Some(connection) = self.connections.get_mut(user as usize)
            {
                connection.process = None;
            }
            return self.one_ended(number);
        };
        door.watched += 1;
        if let Between::HeldByThread { most } = between {
            connection.holds_thread = true;
            let timer = Timer::Idle(user.unwrap_or_default(), connection.number);
            let late = self.kernel.now().saturating_add(nanos(most));
            self.kernel.remind(late, timer);
            return;
        }
        door.under_way -= 1;
        self.one_ended(number);
    }

    /// A connection that keeps a thread had no request for so long: it is closed.
    pub(super) fn idle_too_long(&mut self, user: u32, number: u32) {
        let connection = &self.connections[user as usize];
        if connection.number == number && connection.holds_thread {
            self.hang_up(user);
        }
    }

    /// The connection of a user, if it has one, is closed between two requests.
    pub(super) fn hang_up(&mut self, user: u32) {
        if self.is_at_thread(user) {
            return self.closed_at_thread(user);
        }
        let Some(connection) = self.connections.get_mut(user as usize) else { return };
        connection.kept = Kept::default();
        let held = std::mem::take(&mut connection.holds_thread);
        let Some(process) = connection.process.take() else { return };
        let door = &mut self.processes[process as usize].door;
        door.watched -= 1;
        if held {
            door.under_way -= 1;
            self.one_ended(process);
        }
    }

    /// The user has closed its connection, over which a request is under way.
    pub(super) fn forget_connection(&mut self, user: u32) {
        if self.is_at_thread(user) {
            return self.closed_at_thread(user);
        }
        if let Some(connection) = self.connections.get_mut(user as usize) {
            (connection.process, connection.kept) = (None, Kept::default());
        }
    }
}
