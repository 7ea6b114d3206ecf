//! `unicorn`: worker processes of one thread each, under CRuby's lock.
//!
//! A worker takes a connection, answers one request and closes it; what it cannot take waits in the
//! socket's backlog, first come, first served (lib/unicorn/http_server.rb, `worker_loop`, 6.1.0).
//! Differs from Unicorn: no worker is killed for being slow (`timeout`).

use super::listing::{Field, Record};
use super::slices::{PRIORITY, RubyThreads, TIMESLICE};
use super::socket;
use super::topology::slots;
use super::workers::Found;
use super::{Dispatch, Model, ModelKind, Serving, Socket, ThreadsLive, Topology, Workers, version};
use crate::cluster::accept::{Accept, AcceptWait, Backoff, Between};
use crate::cluster::cpus::Cpus;
use crate::gvl::Gvl;
use crate::value::{Fields, Value};
use std::time::Duration;

pub(super) const RECORD: Record = Record {
    key: "unicorn",
    summary: "Ruby's Unicorn: workers that accept from one socket, one request at a time each",
    fields: &[
        Field { key: "workers", default: "1", summary: "processes, 1 to 1024, or \"auto\"" },
        Field {
            key: "version",
            default: "\"6.1.0\"",
            summary: "Unicorn's version, 4.0 to 6.x; before 6.1 a connection wakes all workers",
        },
        Field { key: "ruby", default: "\"4.0.5\"", summary: "CRuby's version, from 3.1 on" },
        TIMESLICE,
        PRIORITY,
        socket::field("1024"),
    ],
    read,
};

/// `worker_processes` (lib/unicorn/configurator.rb).
const WORKERS: u32 = 1;
const VERSION: &str = "6.1.0";
const VERSION_ALLOWED: &str = "a Unicorn version from 4.0 to 6.x as text, such as \"6.1.0\"";
/// `DEFAULTS[:backlog]` (lib/unicorn/socket_helper.rb).
pub(super) const BACKLOG: u32 = 1024;
const RUBY: &str = "4.0.5";

/// Builds the model `unicorn`.
#[derive(Debug, Clone)]
pub struct Unicorn {
    workers: Workers,
    version: String,
    ruby: String,
    slices: RubyThreads,
    backlog: Option<u32>,
}

/// Models Unicorn 6.1.0 on CRuby 4.0.5, with one worker as by default.
pub fn unicorn() -> Unicorn {
    Unicorn {
        workers: Workers::Count(WORKERS),
        version: VERSION.to_owned(),
        ruby: RUBY.to_owned(),
        slices: RubyThreads::default(),
        backlog: None,
    }
}

impl Unicorn {
    /// Changes the number of worker processes, 1 to 1024.
    pub fn workers(mut self, workers: impl Into<Workers>) -> Self {
        self.workers = workers.into();
        self
    }

    /// Changes how many connections may wait to be accepted, 1 to 65,535. Only the simulator
    /// has this queue: what it does not take is tried again after 1 s, 3 s, 7 s and so on.
    pub fn backlog(mut self, connections: u32) -> Self {
        self.backlog = Some(connections);
        self
    }

    /// Changes the version of Unicorn, 4.0 to 6.x.
    pub fn version(mut self, version: impl Into<String>) -> Self {
        self.version = version.into();
        self
    }

    /// Changes the version of CRuby, from 3.1 on.
    pub fn ruby(mut self, version: impl Into<String>) -> Self {
        self.ruby = version.into();
        self
    }

    /// Changes `RUBY_THREAD_TIMESLICE`, whole milliseconds from 1 ms to 1 h: how long a thread may keep
    /// the GVL, rounded up to ticks of 10 ms. Ruby 3.4 and later have it.
    pub fn timeslice(mut self, timeslice: Duration) -> Self {
        self.slices.timeslice = Some(timeslice);
        self
    }

    /// Changes the `Thread#priority` of the threads that serve, -3 to 3: each step up doubles the slice,
    /// each step down halves it.
    pub fn priority(mut self, priority: i8) -> Self {
        self.slices.priority = Some(priority);
        self
    }

    /// `EPOLLEXCLUSIVE` came with 6.1.0 (ext/unicorn_http/epollexclusive.h); before it was
    /// `IO.select`.
    fn accept(&self) -> Accept {
        let exclusive = version::from(&self.version, [6, 1, 0]);
        if exclusive { EXCLUSIVE } else { Accept { wait: AcceptWait::Herd, ..EXCLUSIVE } }
    }
}

/// A worker takes one connection for one request when it has nothing to do, and is woken alone.
pub(super) const EXCLUSIVE: Accept = Accept {
    wait: AcceptWait::Exclusive,
    only_when_free: true,
    backoff: Backoff::None,
    burst: 1,
    between: Between::Closed,
};

/// Workers of one thread each.
pub(super) fn of_one_thread(
    label: String,
    workers: &Found,
    gvl: Gvl,
    accept: Accept,
    socket: Socket,
) -> Topology {
    Topology {
        label,
        workers: workers.count,
        threads: 1,
        slots: Some(slots(workers.count, 1)),
        processes: workers.count.max(1),
        gvl,
        serving: Serving::Pool {
            min_threads: 1,
            max_threads: 1,
            threads_live: ThreadsLive::Forever,
        },
        dispatch: Dispatch::Accept(accept),
        socket,
    }
}

fn read(fields: &Fields<'_>) -> Option<Model> {
    let workers = Workers::read(fields, 1, WORKERS);
    let version = match fields.get("version") {
        Some(node) => version::server(node, 4..=6, VERSION_ALLOWED),
        None => Some(VERSION.to_owned()),
    };
    let ruby = fields.get("ruby").map_or_else(|| Some(RUBY.to_owned()), version::ruby);
    let slices = RubyThreads::read(fields, ruby.as_deref());
    let backlog = socket::read(fields, None);
    let unicorn = Unicorn {
        workers: workers?,
        version: version?,
        ruby: ruby?,
        slices: slices?,
        backlog: backlog?,
    };
    Some(unicorn.into())
}

impl ModelKind for Unicorn {
    fn record(&self) -> &'static Record {
        &RECORD
    }

    fn to_value(&self) -> Value {
        let fields = [
            ("workers", self.workers.to_value()),
            ("version", Value::text(&self.version)),
            ("ruby", Value::text(&self.ruby)),
        ];
        let rest = self.slices.to_fields().chain(socket::to_field(self.backlog));
        Value::table(fields.into_iter().chain(rest))
    }

    fn topology(&self, on: &dyn Fn() -> Cpus) -> Topology {
        let workers = self.workers.at_least_one(on);
        let version = version::suffix(" ", &self.version, VERSION);
        let ruby = version::suffix(" ruby ", &self.ruby, RUBY);
        let (slices, backlog) = (self.slices.suffix(), socket::suffix(self.backlog));
        let label = format!("unicorn{version}{ruby}{slices}{backlog}{}", workers.words);
        let socket = Socket::new(self.backlog, BACKLOG);
        of_one_thread(label, &workers, self.slices.gvl(&self.ruby), self.accept(), socket)
    }
}

impl From<Unicorn> for Model {
    fn from(unicorn: Unicorn) -> Self {
        Self::of(unicorn)
    }
}
