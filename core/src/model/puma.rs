//! `puma`: worker processes with a pool of threads each, under CRuby's lock.
//!
//! Threads are started as requests come, and one without a request ends every 30 s, down to
//! `min_threads`; in the real engine they stay. A process accepts and keeps connections as its version
//! does, see `accept`. Differs from Puma: in single mode the real engine accepts nothing, and gives
//! requests to the threads directly.

mod accept;

use super::listing::{Field, Record};
use super::pool::read_min_threads;
use super::slices::{PRIORITY, RubyThreads, TIMESLICE};
use super::socket;
use super::topology::slots;
use super::{
    Dispatch, Model, ModelKind, Serving, Socket, THREADS_MAX, ThreadsLive, Topology, Workers,
    version,
};
use crate::cluster::cpus::Cpus;
use crate::value::{Fields, Node, Value};
use std::time::Duration;

pub(super) const RECORD: Record = Record {
    key: "puma",
    summary: "Ruby's Puma: workers that accept from one socket, a pool of threads in each",
    fields: &[
        Field {
            key: "workers",
            default: "0",
            summary: "processes, 0 to 1024, or \"auto\"; 0: single mode, 1: a cluster of one",
        },
        Field { key: "threads", default: "5", summary: "threads of a worker, 1 to 1024" },
        Field {
            key: "min_threads",
            default: "threads where given, else 0",
            summary: "threads there from the start, 0 to threads",
        },
        Field {
            key: "queue_requests",
            default: "true",
            summary: "whether a reactor takes requests in; without it no connection is kept",
        },
        Field {
            key: "version",
            default: "\"8.0.2\"",
            summary: "Puma's version, 5.0 to 8.x, or \"main\"; workers accept by it",
        },
        Field { key: "ruby", default: "\"4.0.5\"", summary: "CRuby's version, from 3.1 on" },
        TIMESLICE,
        PRIORITY,
        socket::field("1024"),
    ],
    read,
};

/// `max_threads` on MRI (lib/puma/configuration.rb, 5.0 to 8.0.2).
const THREADS: u32 = 5;
/// `min_threads` of the same table.
const MIN_THREADS: u32 = 0;
/// `auto_trim_time` (lib/puma/configuration.rb, 5.0 to 8.0.2).
const TRIM: Duration = Duration::from_secs(30);
const VERSION: &str = "8.0.2";
const VERSION_ALLOWED: &str =
    "a Puma version from 5.0 to 8.x as text, such as \"8.0.2\", or \"main\"";
/// `DEFAULTS[:backlog]` (lib/puma/binder.rb and lib/puma/const.rb).
const BACKLOG: u32 = 1024;
const RUBY: &str = "4.0.5";

/// Builds the model `puma`.
#[derive(Debug, Clone)]
pub struct Puma {
    workers: Workers,
    threads: Option<u32>,
    min_threads: Option<u32>,
    queue_requests: bool,
    version: String,
    ruby: String,
    slices: RubyThreads,
    backlog: Option<u32>,
}

/// Models Puma 8.0.2 on CRuby 4.0.5, in single mode with 0 to 5 threads as by default.
pub fn puma() -> Puma {
    Puma {
        workers: Workers::Count(0),
        threads: None,
        min_threads: None,
        queue_requests: true,
        version: VERSION.to_owned(),
        ruby: RUBY.to_owned(),
        slices: RubyThreads::default(),
        backlog: None,
    }
}

impl Puma {
    /// Changes the number of worker processes, at most 1024; 0 is single mode.
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

    /// Changes the number of threads of each worker, 1 to 1024. All are there from the start, as
    /// with `threads n` in Puma's configuration, unless `min_threads` says otherwise.
    pub fn threads(mut self, threads: u32) -> Self {
        self.threads = Some(threads);
        self
    }

    /// Changes how many threads there are from the start.
    pub fn min_threads(mut self, threads: u32) -> Self {
        self.min_threads = Some(threads);
        self
    }

    /// Changes whether a reactor takes requests in before a thread does; without one, connections
    /// are not kept from request to request.
    pub fn queue_requests(mut self, queue_requests: bool) -> Self {
        self.queue_requests = queue_requests;
        self
    }

    /// Changes the version of Puma, 5.0 to 8.x, or `main`.
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
}

fn read(fields: &Fields<'_>) -> Option<Model> {
    let workers = Workers::read(fields, 0, 0);
    let threads = match fields.get("threads") {
        Some(node) => node.int(1..=THREADS_MAX.into()).map(Some),
        None => Some(None),
    };
    let most = threads.map(|threads| threads.unwrap_or(THREADS.into()));
    let min_threads = read_min_threads(fields, most);
    let queue_requests = fields.get("queue_requests").map_or(Some(true), read_bool);
    let version = match fields.get("version") {
        Some(node) => version::server(node, 5..=8, VERSION_ALLOWED),
        None => Some(VERSION.to_owned()),
    };
    let ruby = fields.get("ruby").map_or_else(|| Some(RUBY.to_owned()), version::ruby);
    let slices = RubyThreads::read(fields, ruby.as_deref());
    let backlog = socket::read(fields, None);
    let puma = Puma {
        workers: workers?,
        threads: threads?.map(|n| n as u32),
        min_threads: min_threads?,
        queue_requests: queue_requests?,
        version: version?,
        ruby: ruby?,
        slices: slices?,
        backlog: backlog?,
    };
    Some(puma.into())
}

fn read_bool(node: &Node<'_>) -> Option<bool> {
    match node.value() {
        Value::Bool(answer) => Some(*answer),
        _ => node.refuse("true or false"),
    }
}

impl ModelKind for Puma {
    fn record(&self) -> &'static Record {
        &RECORD
    }

    fn to_value(&self) -> Value {
        let mut fields = vec![("workers", self.workers.to_value())];
        fields.extend(self.threads.map(|n| ("threads", Value::Int(n.into()))));
        fields.extend(self.min_threads.map(|n| ("min_threads", Value::Int(n.into()))));
        fields.push(("queue_requests", Value::Bool(self.queue_requests)));
        fields.push(("version", Value::text(&self.version)));
        fields.push(("ruby", Value::text(&self.ruby)));
        fields.extend(self.slices.to_fields());
        fields.extend(socket::to_field(self.backlog));
        Value::table(fields)
    }

    fn topology(&self, on: &dyn Fn() -> Cpus) -> Topology {
        let threads = self.threads.unwrap_or(THREADS);
        let workers = self.workers.of_puma(on);
        let version = version::suffix(" ", &self.version, VERSION);
        let ruby = version::suffix(" ruby ", &self.ruby, RUBY);
        Topology {
            label: format!(
                "puma{version}{ruby}{}{}{}",
                self.slices.suffix(),
                socket::suffix(self.backlog),
                workers.words
            ),
            workers: workers.count,
            threads,
            slots: Some(slots(workers.count, threads)),
            processes: workers.count.max(1),
            gvl: self.slices.gvl(&self.ruby),
            serving: Serving::Pool {
                min_threads: self.min_threads.or(self.threads).unwrap_or(MIN_THREADS),
                max_threads: threads,
                threads_live: ThreadsLive::Trimmed { every: TRIM },
            },
            dispatch: match workers.count {
                0 => Dispatch::Alone(accept::of(&self.version, self.queue_requests, 0)),
                n => Dispatch::Accept(accept::of(&self.version, self.queue_requests, n)),
            },
            socket: Socket::new(self.backlog, BACKLOG).seeing_closed(),
        }
    }
}

impl From<Puma> for Model {
    fn from(puma: Puma) -> Self {
        Self::of(puma)
    }
}
