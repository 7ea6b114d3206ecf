//! The thread that watches connections without a request, and what follows an answer.

use super::door::{Door, Place};
use crate::cluster::accept::{Between, Keep, Then};
use crate::cluster::wire::Task;
use crate::cluster::worker::connection::{Connection, Found};
use crate::sync::serve;
use parking_lot::Mutex;
use rustix::event::{EventfdFlags, Timespec, epoll, eventfd};
use std::collections::HashMap;
use std::io;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::time::Instant;

pub(super) struct Reactor {
    door: Arc<Door>,
    set: OwnedFd,
    /// Guards: what is watched is in the set.
    all: Mutex<Watched>,
    /// Readable when there is something to look at beside the connections.
    wake: OwnedFd,
}

#[derive(Default)]
struct Watched {
    connections: HashMap<u64, (Connection, Option<Held>)>,
    next: u64,
}

/// A place that a connection keeps between its requests.
struct Held {
    _place: Place,
    until: Instant,
}

/// Tells the wake-up from a connection.
const WAKE: u64 = u64::MAX;

/// The most events that are looked at together.
const EVENTS: usize = 64;

/// Starts the thread.
///
/// # Errors
/// The system gives none.
pub(super) fn start(door: &Arc<Door>) -> io::Result<Arc<Reactor>> {
    let set = epoll::create(epoll::CreateFlags::CLOEXEC)?;
    let wake = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?;
    epoll::add(&set, &wake, epoll::EventData::new_u64(WAKE), epoll::EventFlags::IN)?;
    let (door, all) = (Arc::clone(door), Mutex::default());
    let reactor = Arc::new(Reactor { door, set, all, wake });
    let thread = Arc::clone(&reactor);
    serve(&format!("w{} react", reactor.door.number), move || thread.run())?;
    Ok(reactor)
}

impl Reactor {
    /// Connections without a request.
    pub(super) fn watched(&self) -> usize {
        self.all.lock().connections.len()
    }

    /// Gives a request to the pool; the connection comes back with its answer.
    pub(super) fn start(self: &Arc<Self>, task: Task, connection: Connection, held: Option<Place>) {
        let place = held.unwrap_or_else(|| self.door.place());
        let (out, reactor) = (Arc::clone(&connection.out), Arc::clone(self));
        let after = After { reactor, rest: Some((connection, place)) };
        self.door.run(task, &out, after);
    }

    /// Watches a connection until its next request; `held`: with its place, for so long at most.
    pub(super) fn watch(&self, connection: Connection, held: Option<(Place, Instant)>) {
        let held = held.map(|(_place, until)| Held { _place, until });
        let has_limit = held.is_some();
        let mut all = self.all.lock();
        let key = all.next;
        all.next += 1;
        let flags = epoll::EventFlags::IN | epoll::EventFlags::ONESHOT;
        // One that cannot be watched is closed.
        if epoll::add(&self.set, &*connection.socket, epoll::EventData::new_u64(key), flags).is_ok()
        {
            all.connections.insert(key, (connection, held));
        }
        drop(all);
        if has_limit {
            let _ = rustix::io::write(&self.wake, &1_u64.to_ne_bytes());
        }
    }

    fn run(self: Arc<Self>) {
        let member = self.door.crew.lock.join(format!("w{} react", self.door.number));
        let mut events = Vec::with_capacity(EVENTS);
        while !self.door.is_closing() {
            events.clear();
            let until = self.expire();
            let timeout = until.map(|until| {
                let left = until.saturating_duration_since(Instant::now());
                Timespec { tv_sec: left.as_secs() as i64, tv_nsec: left.subsec_nanos().into() }
            });
            let space = rustix::buffer::spare_capacity(&mut events);
            if epoll::wait(&self.set, space, timeout.as_ref()).is_err() {
                continue;
            }
            let _held = member.acquire();
            for event in &events {
                match event.data.u64() {
                    WAKE => drop(rustix::io::read(&self.wake, &mut [0; 8])),
                    key => self.look(key),
                }
            }
        }
    }

    fn look(self: &Arc<Self>, key: u64) {
        let Some((mut connection, held)) = self.all.lock().connections.remove(&key) else { return };
        // It was in the set for one look.
        let _ = epoll::delete(&self.set, &*connection.socket);
        let Some(_reading) = self.door.read() else { return };
        match connection.look(&self.door.crew) {
            Found::Request(task) => self.start(task, connection, held.map(|held| held._place)),
            Found::Nothing => {
                self.watch(connection, held.map(|held| (held._place, held.until)));
            }
            Found::End => {}
        }
    }

    /// Looks whether the next request is there already, as the thread that has answered does: it goes
    /// to the end of the queue, from which another thread takes it that waits.
    fn look_at_once(self: &Arc<Self>, mut connection: Connection, place: Place) {
        let Some(_reading) = self.door.read() else { return };
        match connection.look(&self.door.crew) {
            Found::Request(task) => self.start(task, connection, Some(place)),
            Found::Nothing => {
                drop(place);
                self.watch(connection, None);
            }
            Found::End => {}
        }
    }

    /// Closes connections that kept their place for too long; when the next one does.
    fn expire(&self) -> Option<Instant> {
        let now = Instant::now();
        let is_late = |held: &Option<Held>| held.as_ref().is_some_and(|held| held.until <= now);
        let mut all = self.all.lock();
        // Their places are given back outside of the lock.
        let _late: Vec<_> = all.connections.extract_if(|_, (_, held)| is_late(held)).collect();
        let limits = all.connections.values().filter_map(|(_, held)| Some(held.as_ref()?.until));
        let next = limits.min();
        drop(all);
        next
    }
}

/// Follows an answer: decides what becomes of the connection.
struct After {
    reactor: Arc<Reactor>,
    rest: Option<(Connection, Place)>,
}

impl Drop for After {
    fn drop(&mut self) {
        let (mut connection, place) = self.rest.take().expect("there until the drop");
        if connection.is_last() {
            return;
        }
        match self.reactor.door.accept.between {
            Between::Closed => {}
            Between::Watched => {
                drop(place);
                self.reactor.watch(connection, None);
            }
            Between::HeldByThread { most } => {
                self.reactor.watch(connection, Some((place, Instant::now() + most)));
            }
            Between::Kept(Keep { requests_max, then }) => {
                connection.answered += 1;
                if requests_max.is_some_and(|most| connection.answered >= most) {
                    return;
                }
                match then {
                    // Refused where connections are kept (`real::refused`).
                    Then::Watch | Then::Wait { .. } => {
                        drop(place);
                        self.reactor.watch(connection, None);
                    }
                    Then::Queue | Then::ServeWhereOneWaits => {
                        self.reactor.look_at_once(connection, place);
                    }
                }
            }
        }
    }
}
