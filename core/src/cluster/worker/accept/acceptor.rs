//! The thread that accepts for a pool of threads, as the worker's record says.

use super::door::Door;
use super::reactor::Reactor;
use super::{LACK, is_lack, take};
use crate::cluster::accept::{AcceptWait, Pause};
use crate::cluster::worker::connection::{Connection, Found};
use crate::gvl::lock::{Held, Member};
use crate::sync::serve;
use rustix::event::{PollFd, PollFlags, Timespec, epoll, poll};
use rustix::net::sockopt::{Timeout, set_socket_timeout};
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;
use std::time::Duration;

pub(super) fn start(door: &Arc<Door>, reactor: Arc<Reactor>, listener: OwnedFd) -> io::Result<()> {
    let exclusive = match door.accept.wait {
        AcceptWait::Exclusive => Some(exclusive(&listener, &door.closed)?),
        AcceptWait::Blocking => {
            let most = Duration::from_secs(LOOK_S.unsigned_abs());
            set_socket_timeout(&listener, Timeout::Recv, Some(most))?;
            None
        }
        AcceptWait::Herd => None,
    };
    let acceptor = Acceptor { door: Arc::clone(door), reactor, listener, exclusive };
    serve(&format!("w{} accept", door.number), move || acceptor.run())
}

struct Acceptor {
    door: Arc<Door>,
    reactor: Arc<Reactor>,
    listener: OwnedFd,
    /// Wakes one worker a connection.
    exclusive: Option<OwnedFd>,
}

/// How long a worker waits at most before it looks by itself, in seconds: where only one is woken
/// for a connection and is killed at that moment, nobody else hears of it.
const LOOK_S: i64 = 1;

/// Tells the door's end from a connection.
const CLOSED: u64 = 1;

fn exclusive(listener: &OwnedFd, closed: &OwnedFd) -> io::Result<OwnedFd> {
    let set = epoll::create(epoll::CreateFlags::CLOEXEC)?;
    let flags = epoll::EventFlags::IN | epoll::EventFlags::EXCLUSIVE;
    epoll::add(&set, listener, epoll::EventData::new_u64(0), flags)?;
    epoll::add(&set, closed, epoll::EventData::new_u64(CLOSED), epoll::EventFlags::IN)?;
    Ok(set)
}

impl Acceptor {
    fn run(self) {
        let door = &self.door;
        let member = door.crew.lock.join(format!("w{} accept", door.number));
        let threads = u64::from(door.crew.threads().unwrap_or(u32::MAX));
        let gates_first = door.accept.gates_first();
        while !door.is_closing() {
            if gates_first {
                door.wait_until_free(threads);
            }
            if door.accept.wait == AcceptWait::Blocking {
                let taken = take(&self.listener);
                let held = member.acquire();
                match taken {
                    Ok(socket) => self.admit(Connection::new(socket, door.frame_max)),
                    Err(error) => {
                        drop(held);
                        rest(&error);
                    }
                }
                continue;
            }
            self.wait();
            let held = self.look(&member, threads);
            if door.is_closing() {
                return;
            }
            for _ in 0..door.accept.burst {
                match take(&self.listener) {
                    Ok(socket) => self.admit(Connection::new(socket, door.frame_max)),
                    // Another worker was faster, or that was all.
                    Err(error) => {
                        drop(held);
                        rest(&error);
                        break;
                    }
                }
            }
        }
    }

    /// Waits for a connection or the door's end.
    fn wait(&self) {
        // A wait that fails, as by a signal, is one that found something: it is looked at.
        match &self.exclusive {
            Some(set) => {
                let mut events = Vec::with_capacity(1);
                let most = Timespec { tv_sec: LOOK_S, tv_nsec: 0 };
                let space = rustix::buffer::spare_capacity(&mut events);
                let _ = epoll::wait(set, space, Some(&most));
            }
            None => {
                let readable = |fd| PollFd::from_borrowed_fd(fd, PollFlags::IN);
                let mut both =
                    [readable(self.listener.as_fd()), readable(self.door.closed.as_fd())];
                let _ = poll(&mut both, None);
            }
        }
    }

    /// Takes the lock to look how busy the threads are; leaves it while it waits for a free one, where it
    /// has to, or leaves the connection to a worker that is less busy for a moment.
    fn look<'m>(&self, member: &'m Member, threads: u64) -> Held<'m> {
        let door = &self.door;
        let gates = door.accept.only_when_free && !door.accept.gates_first();
        let mut held = member.acquire();
        while gates && door.under_way() >= threads && !door.is_closing() {
            drop(held);
            door.wait_until_free(threads);
            held = member.acquire();
        }
        let watched = || self.reactor.watched() as u64;
        let Some(pause) = door.accept.backoff.pause(door.under_way(), watched, threads) else {
            return held;
        };
        drop(held);
        match pause {
            Pause::OneEnds(most) => door.wait_until_one_ends(most),
            Pause::Sleep(length) => std::thread::sleep(length),
        }
        member.acquire()
    }

    /// Hands a new connection on.
    fn admit(&self, mut connection: Connection) {
        let Some(_reading) = self.door.read() else { return };
        match connection.look(&self.door.crew) {
            Found::Request(task) => self.reactor.start(task, connection, None),
            Found::Nothing => self.reactor.watch(connection, None),
            Found::End => {}
        }
    }
}

/// Waits where something lacks.
fn rest(error: &io::Error) {
    if is_lack(error) {
        std::thread::sleep(LACK);
    }
}
