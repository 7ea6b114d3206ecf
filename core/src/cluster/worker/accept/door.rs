//! How many requests are under way behind the door, and when the worker may end.

use crate::cluster::accept::Accept;
use crate::cluster::setup::Setup;
use crate::cluster::wire::{Frame, Task};
use crate::cluster::worker::crew::Crew;
use crate::cluster::worker::job::Out;
use parking_lot::{Condvar, Mutex};
use rustix::event::{EventfdFlags, eventfd};
use std::io;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::SeqCst};
use std::time::{Duration, Instant};

pub(in super::super) struct Door {
    pub(super) crew: Arc<Crew>,
    pub(super) accept: Accept,
    pub(super) number: u32,
    pub(super) frame_max: u32,
    /// Guards nothing but itself: places that are taken.
    taken: Mutex<u64>,
    /// Told when a place is free again.
    freed: Condvar,
    /// Nothing more is accepted.
    ///
    /// ORDERING: SeqCst, as `reading`. Who reads a request counts itself and then looks whether the
    /// door is closed; who closes it says so and then looks at the count: one sees the other.
    closing: AtomicBool,
    reading: AtomicU64,
    /// Readable when the door closes.
    pub(super) closed: OwnedFd,
}

/// A request's place, from its reading to its answer.
pub(super) struct Place(Arc<Door>);

/// Who reads a request: the worker does not end meanwhile.
pub(super) struct Reading<'d>(&'d Door);

impl Door {
    pub(super) fn new(crew: &Arc<Crew>, setup: &Setup, accept: Accept) -> io::Result<Self> {
        Ok(Self {
            crew: Arc::clone(crew),
            accept,
            number: setup.number,
            frame_max: setup.frame_max,
            taken: Mutex::new(0),
            freed: Condvar::new(),
            closing: AtomicBool::new(false),
            reading: AtomicU64::new(0),
            closed: eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?,
        })
    }

    /// Accepts nothing more, and calls `exit` when every request that was read is answered. Those
    /// that were not read are not begun: their clients try again.
    pub(in super::super) fn close(self: &Arc<Self>, exit: impl Fn() + Send + 'static) {
        self.closing.store(true, SeqCst);
        // The counter is far from full.
        let _ = rustix::io::write(&self.closed, &1_u64.to_ne_bytes());
        // Who has looked and is about to wait holds this.
        let taken = self.taken.lock();
        self.freed.notify_all();
        drop(taken);
        let door = Arc::clone(self);
        self.crew.jobs.drain(move || door.reading.load(SeqCst) == 0, exit);
    }

    pub(super) fn is_closing(&self) -> bool {
        self.closing.load(SeqCst)
    }

    /// Leave to read a request; none once the door closes.
    pub(super) fn read(&self) -> Option<Reading<'_>> {
        self.reading.fetch_add(1, SeqCst);
        let reading = Reading(self);
        (!self.is_closing()).then_some(reading)
    }

    /// Requests under way: waiting for a thread, or at one.
    pub(super) fn under_way(&self) -> u64 {
        *self.taken.lock()
    }

    /// Takes a place.
    pub(super) fn place(self: &Arc<Self>) -> Place {
        *self.taken.lock() += 1;
        Place(Arc::clone(self))
    }

    /// Waits while there are as many requests under way as threads, or until the door closes.
    pub(super) fn wait_until_free(&self, threads: u64) {
        let mut taken = self.taken.lock();
        while *taken >= threads && !self.is_closing() {
            self.freed.wait(&mut taken);
        }
    }

    /// Waits until a request ends, at most so long; not at all where there is none.
    pub(super) fn wait_until_one_ends(&self, most: Duration) {
        let until = Instant::now() + most;
        let mut taken = self.taken.lock();
        if *taken > 0 {
            self.freed.wait_until(&mut taken, until);
        }
    }

    /// Runs a request that was read: its client hears that it is accepted, then how it ended; then
    /// `after` is dropped.
    pub(super) fn run(&self, task: Task, out: &Arc<Out>, after: impl Send + 'static) {
        let job = self.crew.begin(&task, out);
        out.put(&Frame::Accepted { pid: std::process::id() });
        out.flush();
        self.crew.run(task, job, after);
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        *self.0.taken.lock() -= 1;
        self.0.freed.notify_all();
    }
}

impl Drop for Reading<'_> {
    fn drop(&mut self) {
        self.0.reading.fetch_sub(1, SeqCst);
        if self.0.is_closing() {
            self.0.crew.jobs.look_whether_drained();
        }
    }
}

#[cfg(test)]
#[cfg(not(model_check))]
mod tests {
    use super::*;
    use crate::cluster::accept::{AcceptWait, Backoff, Between};
    use crate::cluster::app::App;
    use crate::cluster::setup::Serving;
    use std::sync::mpsc::channel;

    fn door() -> Arc<Door> {
        let accept = Accept {
            wait: AcceptWait::Herd,
            only_when_free: true,
            backoff: Backoff::None,
            burst: 1,
            between: Between::Closed,
        };
        let setup = Setup {
            name: "pool".to_owned(),
            number: 0,
            frame_max: 1 << 20,
            gvl: "none".into(),
            serving: Serving::Threads { min: 1, max: 1, one_task: false },
            accept: Some(accept),
            workers: 1,
            app: String::new(),
        };
        let crew = Arc::new(Crew::start(&setup, App::new(String::new())).unwrap());
        Arc::new(Door::new(&crew, &setup, accept).unwrap())
    }

    #[test]
    fn a_worker_does_not_end_while_a_request_is_read() {
        let door = door();
        let reading = door.read().unwrap();
        let (exit, exits) = channel();
        door.close(move || exit.send(()).unwrap());
        assert!(exits.try_recv().is_err());
        // Nothing is begun any more, and who tries keeps nobody.
        assert!(door.read().is_none() && exits.try_recv().is_err());
        drop(reading);
        assert!(exits.try_recv().is_ok());
    }

    #[test]
    fn who_waits_for_a_place_is_let_go_by_its_end_and_by_the_doors() {
        let door = door();
        let place = door.place();
        let waiting = std::thread::spawn({
            let door = Arc::clone(&door);
            move || door.wait_until_free(1)
        });
        drop(place);
        waiting.join().unwrap();
        let _place = door.place();
        let waiting = std::thread::spawn({
            let door = Arc::clone(&door);
            move || door.wait_until_free(1)
        });
        door.close(|| {});
        waiting.join().unwrap();
        assert_eq!(door.under_way(), 1);
    }
}
