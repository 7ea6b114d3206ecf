//! Threads that look at the connection that they have just answered over, as Puma's do
//! (`Server#process_client`): whether the next request is there, or comes soon.
//!
//! `threads` asks after each answer, while the thread holds the lock; `accept` tells of the requests
//! that come. A thread is busy for as long as it has a connection, waiting or not. The client sends its
//! next request as soon as it has the answer: where it takes no time for that (`client` of the machine,
//! think time), the request is there when the thread looks.

use super::request::RequestId;
use super::{Server, Timer};
use crate::clock::{Nanos, nanos};
use crate::cluster::accept::{Between, Keep, Room, Then};
use crate::gvl::policy::Leave;
use crate::sim::kernel::{Done, Tid};

/// What a connection that is kept by rules has had.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Kept {
    /// Its requests.
    requests: u32,
    /// Those that one thread has served without a break.
    in_a_row: u32,
    at: At,
}

/// Whether a thread has the connection.
#[derive(Debug, Clone, Copy, Default)]
enum At {
    /// None has.
    #[default]
    Reactor,
    /// One is about to look at it.
    Thread,
    /// The same, and its request has come.
    Ready(RequestId),
    /// One sleeps until its request comes.
    Sleeper(Tid),
}

/// What a thread is at that has a connection.
#[derive(Debug, Clone, Copy)]
pub(super) enum Keeps {
    /// It holds the lock, and looks.
    Look,
    /// It has left the lock, and waits so long for a request.
    Wait(Nanos),
    /// It wants the lock back.
    Back,
    /// It holds the lock, and looks for the last time.
    Last,
}

/// How a thread goes on.
pub(super) enum Turn {
    /// It keeps the connection.
    Stays(Done),
    /// It reads its next request, and serves it.
    Serves(RequestId),
    /// It has read its next request for whoever takes it, and is done with the connection.
    Queued,
    /// It is done with the connection.
    Leaves,
}

impl Kept {
    pub(super) fn is_at_thread(self) -> bool {
        !matches!(self.at, At::Reactor)
    }
}

impl Server<'_> {
    /// The user's connection, by the user and its number, where a thread has it.
    pub(super) fn at_thread(&self, user: u32) -> Option<(u32, u32)> {
        let connection = self.connections.get(user as usize)?;
        connection.kept.is_at_thread().then_some((user, connection.life))
    }

    /// Whether a thread has the user's connection.
    pub(super) fn is_at_thread(&self, user: u32) -> bool {
        self.connections.get(user as usize).is_some_and(|c| c.kept.is_at_thread())
    }

    /// A thread has answered over the user's connection: it is closed, or looked at, or watched.
    pub(super) fn answered_by_thread(&mut self, number: u32, user: u32, keep: Keep) {
        let is_wanted = self.is_full(number) && self.one_waits_to_be_accepted();
        let connection = &mut self.connections[user as usize];
        let kept = &mut connection.kept;
        kept.requests += 1;
        kept.in_a_row += 1;
        let makes_room = match keep.then {
            Then::Wait { in_a_row, room: Room::WhereOthersWait, .. } => {
                kept.in_a_row >= in_a_row && is_wanted
            }
            _ => false,
        };
        if makes_room || keep.requests_max.is_some_and(|most| kept.requests >= most) {
            (connection.process, connection.kept) = (None, Kept::default());
            return self.free_place(number);
        }
        match keep.then {
            Then::Watch => self.watch(number, user),
            Then::Queue | Then::ServeWhereOneWaits | Then::Wait { .. } => kept.at = At::Thread,
        }
    }

    /// Whether every thread of the process is busy, or will be.
    fn is_full(&self, number: u32) -> bool {
        let process = &self.processes[number as usize];
        process.door.under_way >= u64::from(process.threads_max)
    }

    fn free_place(&mut self, number: u32) {
        self.processes[number as usize].door.under_way -= 1;
        self.one_ended(number);
    }

    /// The reactor has the connection from here on.
    fn watch(&mut self, number: u32, user: u32) {
        let kept = &mut self.connections[user as usize].kept;
        (kept.in_a_row, kept.at) = (0, At::Reactor);
        self.processes[number as usize].door.watched += 1;
        self.free_place(number);
    }

    /// A request comes over a connection that a thread has.
    pub(super) fn comes_to_thread(&mut self, user: u32, number: u32, id: RequestId) {
        self.requests.at_mut(id).process = number;
        let kept = &mut self.connections[user as usize].kept;
        let before = std::mem::replace(&mut kept.at, At::Ready(id));
        if let At::Sleeper(tid) = before {
            self.kernel.wake(tid);
        }
    }

    /// The next request was not sent in the time that a thread waits for it.
    pub(super) fn none_follows(&mut self, user: u32, number: u32) {
        let connection = &mut self.connections[user as usize];
        if connection.number == number
            && let At::Sleeper(tid) = connection.kept.at
        {
            connection.kept.at = At::Thread;
            self.kernel.wake(tid);
        }
    }

    /// The client has closed the connection that a thread has. What was sent over it is found all the
    /// same, by whoever takes it next.
    pub(super) fn closed_at_thread(&mut self, user: u32) {
        let connection = &mut self.connections[user as usize];
        let process = connection.process.take();
        let kept = std::mem::take(&mut connection.kept);
        connection.life = connection.life.wrapping_add(1);
        connection.number = connection.number.wrapping_add(1);
        match (kept.at, process) {
            (At::Sleeper(tid), _) => self.kernel.wake(tid),
            (At::Ready(id), Some(number)) => {
                self.processes[number as usize].door.under_way += 1;
                self.enqueue(number, id);
            }
            _ => {}
        }
    }

    /// A thread goes on with the connection of that user that it has, the `life`th.
    pub(super) fn keep(
        &mut self,
        tid: Tid,
        number: u32,
        (user, life): (u32, u32),
        at: &mut Keeps,
    ) -> Turn {
        let connection = &mut self.connections[user as usize];
        let now = self.kernel.now();
        let is_closed = connection.life != life;
        let done = match (*at, connection.kept.at) {
            (Keeps::Look | Keeps::Last, _) if is_closed => {
                self.free_place(number);
                return Turn::Leaves;
            }
            (Keeps::Wait(_) | Keeps::Back, _) if is_closed => {
                *at = Keeps::Last;
                self.kernel.acquire(tid)
            }
            (Keeps::Look, ready) => return self.look(tid, number, user, ready, at),
            (Keeps::Wait(most), At::Thread) => {
                connection.kept.at = At::Sleeper(tid);
                let late = Timer::NoneFollows(user, connection.number);
                *at = Keeps::Back;
                self.kernel.block(tid);
                self.kernel.remind(now.saturating_add(most), late);
                Done::Later
            }
            (Keeps::Wait(_) | Keeps::Back, _) => {
                *at = Keeps::Last;
                self.kernel.acquire(tid)
            }
            (Keeps::Last, At::Ready(id)) => return self.serve_itself(user, id),
            (Keeps::Last, _) => {
                self.watch(number, user);
                return Turn::Leaves;
            }
        };
        Turn::Stays(done)
    }

    /// Whether there is a request now, and what the rules make of it.
    fn look(&mut self, tid: Tid, number: u32, user: u32, ready: At, at: &mut Keeps) -> Turn {
        let process = &self.processes[number as usize];
        let (one_is_queued, one_waits) = (!process.todo.is_empty(), !process.idle.is_empty());
        let in_a_row = self.connections[user as usize].kept.in_a_row;
        match (self.rules().then, ready) {
            (Then::Wait { in_a_row: most, room, .. }, _)
                if in_a_row >= most && (room == Room::Always || one_is_queued) =>
            {
                self.watch(number, user);
                if let At::Ready(id) = ready {
                    self.processes[number as usize].door.watched -= 1;
                    self.wake_reactor(number, id);
                }
            }
            (Then::Wait { .. }, At::Ready(id)) => return self.serve_itself(user, id),
            (Then::Wait { most, .. }, _) => {
                *at = Keeps::Wait(nanos(most));
                return Turn::Stays(self.kernel.leave(tid, Leave::Region));
            }
            (Then::ServeWhereOneWaits, At::Ready(id)) if one_waits => {
                return self.serve_itself(user, id);
            }
            (_, At::Ready(id)) => {
                // Its place goes with it.
                let kept = &mut self.connections[user as usize].kept;
                (kept.in_a_row, kept.at) = (0, At::Reactor);
                self.enqueue(number, id);
                return Turn::Queued;
            }
            (_, _) => self.watch(number, user),
        }
        Turn::Leaves
    }

    fn serve_itself(&mut self, user: u32, id: RequestId) -> Turn {
        self.connections[user as usize].kept.at = At::Reactor;
        Turn::Serves(id)
    }

    fn rules(&self) -> Keep {
        match self.listener.as_ref().map(|listener| listener.accept.between) {
            Some(Between::Kept(keep)) => keep,
            _ => unreachable!("a thread keeps a connection by rules alone"),
        }
    }
}
