//! A load as a pure state machine: asks for the time, says which request starts.
//!
//! The real engine drives it with a real clock, the simulator with a virtual one; times are
//! nanoseconds since the run's start. Holds no clock or thread, and its arrivals depend on the
//! seed and on the times it is told, on nothing else.

use super::closed::Closed;
use super::load::Load;
use super::open::Open;
use super::pattern::Pattern;
use super::pick::Picks;
use super::until::Limit;
use crate::clock::Nanos;
use crate::random::{Stream, Streams};
use crate::workload::Workload;

/// Times the requests of one run.
///
/// An arrival belongs to a run by its intended time, however late it is taken: with a duration,
/// none is intended at its end or later.
#[derive(Debug, Clone)]
pub struct Driver {
    requests: Streams,
    limit: Limit,
    picks: Picks,
    source: Source,
}

/// A request that starts.
#[derive(Debug, Clone)]
pub struct Arrival {
    /// Its number, from 0 in the order of starts.
    pub number: u64,
    /// The user of a closed loop that makes it.
    pub user: Option<u32>,
    /// Its endpoint: a place in `Workload::endpoints`.
    pub endpoint: usize,
    /// When it should start; an open loop's latency counts from here.
    pub intended: Nanos,
    /// What its steps draw from, named by its number.
    pub stream: Stream,
}

#[derive(Debug, Clone)]
enum Source {
    Closed(Closed),
    Open(Open),
}

impl Driver {
    /// Makes the driver of one run of a checked load and workload.
    pub fn new(load: &Load, workload: &Workload, seed: u64) -> Self {
        let (source, until) = match &load.pattern {
            Pattern::Closed { users, spawn_rate, think, until } => {
                (Source::Closed(Closed::new(*users, *spawn_rate, think.clone(), seed)), until)
            }
            Pattern::Open { rate, arrivals, until } => {
                (Source::Open(Open::new(*rate, *arrivals, seed)), until)
            }
        };
        let requests = Streams::new(seed, "request");
        Self { requests, limit: Limit::new(*until), picks: Picks::new(workload), source }
    }

    /// Gives when the next arrival is due, which may be past. `None`: nothing until a request
    /// finishes, or ever.
    pub fn next_due(&self) -> Option<Nanos> {
        let due = match &self.source {
            Source::Closed(closed) => closed.next_due()?,
            Source::Open(open) => open.next_due(),
        };
        self.limit.allows(due).then_some(due)
    }

    /// Takes one arrival due at `now` or before. Arrivals come in the order of their times, then
    /// of their users.
    ///
    /// # Panics
    /// If the request has no endpoint, which `Experiment::check` refuses.
    pub fn take_due(&mut self, now: Nanos) -> Option<Arrival> {
        if self.next_due()? > now {
            return None;
        }
        let start = match &mut self.source {
            Source::Closed(closed) => closed.start(&self.picks)?,
            Source::Open(open) => open.start(&self.picks),
        };
        let number = self.limit.start();
        Some(Arrival {
            number,
            user: start.user,
            endpoint: start.endpoint,
            intended: start.intended,
            stream: self.requests.at(number),
        })
    }

    /// Tells that a request was answered, failed or given up: its `user` thinks and asks again.
    /// With no time to think the next arrival is due at `now` exactly.
    ///
    /// # Panics
    /// If the user has no request in flight.
    pub fn finished(&mut self, user: Option<u32>, now: Nanos) {
        if let (Source::Closed(closed), Some(user)) = (&mut self.source, user) {
            closed.finished(user, now, &self.limit);
        }
    }

    /// Tells whether no arrival will ever come again.
    pub fn is_exhausted(&self, now: Nanos) -> bool {
        let may_continue = match &self.source {
            Source::Closed(closed) => closed.may_continue(now, &self.limit),
            Source::Open(_) => false,
        };
        self.next_due().is_none() && !may_continue
    }
}
