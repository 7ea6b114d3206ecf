//! Writes down what the threads of a process do, where the run is told to record its timeline.
//!
//! Told by the lock's hook, on the thread that it happens to, and by whoever serves a request there.

use crate::clock;
use crate::gvl::{Event, EventKind, Phase};
use crate::timeline::{Log, Role, TrackId};
use parking_lot::Mutex;
use std::collections::HashMap;
use std::sync::Arc;
use std::thread::{self, ThreadId};

/// The log of a process, written by all its threads.
pub(super) struct Record {
    /// Tells what a thread is there for by its name.
    role: fn(&str) -> Role,
    /// Guards: a thread that is alive has a track.
    state: Mutex<State>,
}

struct State {
    log: Log,
    tracks: HashMap<ThreadId, TrackId>,
}

/// A request that a thread serves, until it is dropped.
pub(super) struct Serves<'r>(Option<(&'r Record, u64)>);

impl Record {
    /// A record of `max` events at most.
    pub(super) fn new(max: usize, role: fn(&str) -> Role) -> Arc<Self> {
        let state = State { log: Log::new(max), tracks: HashMap::new() };
        Arc::new(Self { role, state: Mutex::new(state) })
    }

    /// What was written so far.
    pub(super) fn log(&self) -> Log {
        self.state.lock().log.clone()
    }

    /// Writes down what the lock tells of the calling thread.
    pub(super) fn hear(&self, event: &Event<'_>) {
        let id = thread::current().id();
        // A free lock is told as got when it was asked for; the last holder may have had it until now.
        let now = if event.kind == EventKind::Resumed { clock::now() } else { event.at };
        let mut state = self.state.lock();
        let State { log, tracks } = &mut *state;
        if event.kind == EventKind::Started {
            let track = log.begins(0, (self.role)(event.name), number(event.name), now);
            tracks.insert(id, track);
            return;
        }
        let Some(track) = tracks.get(&id).copied() else { return };
        match event.kind {
            EventKind::Started => {}
            EventKind::Ready => log.asks(track, now),
            EventKind::Resumed => log.takes(track, event.waited_ns > 0, now),
            EventKind::Suspended => log.enters(track, Phase::Blocked, now),
            EventKind::Exited => {
                log.ends(track, now);
                tracks.remove(&id);
            }
        }
    }

    /// Writes of the calling thread, if it has a track. Times are read before, not while it waits here.
    fn write(&self, write: impl FnOnce(&mut Log, TrackId)) {
        let mut state = self.state.lock();
        if let Some(track) = state.tracks.get(&thread::current().id()).copied() {
            write(&mut state.log, track);
        }
    }
}

impl<'r> Serves<'r> {
    /// The calling thread begins with a request, which a record, if there is one, is told.
    pub(super) fn begin(record: Option<&'r Arc<Record>>, request: u64, endpoint: usize) -> Self {
        Self(record.map(|record| {
            let now = clock::now();
            record.write(|log, track| log.serves(track, request, endpoint, now));
            (&**record, request)
        }))
    }
}

impl Drop for Serves<'_> {
    fn drop(&mut self) {
        if let Some((record, request)) = self.0 {
            let now = clock::now();
            record.write(|log, track| log.served(track, request, now));
        }
    }
}

/// The number at the end of a thread's name; nought where there is none.
fn number(name: &str) -> u32 {
    let digits = name.bytes().rev().take_while(u8::is_ascii_digit).count();
    name[name.len() - digits..].parse().unwrap_or(0)
}

/// The role of a thread in a pool of its own.
pub(super) fn in_pool(_: &str) -> Role {
    Role::Thread
}

/// The role of a thread of an event loop, which is called as its model is, or of its offload pool.
pub(super) fn on_loop(name: &str) -> Role {
    let number = name.rsplit_once(" off ").map(|(_, number)| number.parse::<u32>());
    if matches!(number, Some(Ok(_))) { Role::Offload } else { Role::Loop }
}

/// The role of a thread in a worker process, whose names are the library's own.
pub(super) fn in_worker(name: &str) -> Role {
    if name.contains(" loop") {
        on_loop(name)
    } else if name.ends_with(" accept") {
        Role::Acceptor
    } else if name.ends_with(" react") {
        Role::Reactor
    } else {
        Role::Thread
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_tell_numbers_and_roles() {
        assert_eq!([number("pool 12"), number("w3 t0"), number("w3 accept")], [12, 0, 0]);
        let roles = ["w0 loop", "uvicorn def 3.13", "uvicorn off 3"].map(on_loop);
        assert_eq!(roles, [Role::Loop, Role::Loop, Role::Offload]);
        let roles = ["w0 t1", "w0 accept", "w0 react", "w0 loop", "w0 loop off 1"].map(in_worker);
        let expected = [Role::Thread, Role::Acceptor, Role::Reactor, Role::Loop, Role::Offload];
        assert_eq!(roles, expected);
    }
}
