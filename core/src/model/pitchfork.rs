//! `pitchfork`: worker processes of one thread each that are forked from a warm one, under CRuby's lock.
//!
//! It serves as Unicorn does, of which it is a fork: a worker takes a connection, answers one request
//! and closes it (`worker_loop` in lib/pitchfork/http_server.rb, 0.18.1), and one worker is woken for
//! a connection, the last that went to sleep (ext/pitchfork_http/epollexclusive.h). Differs from
//! Pitchfork: there is one queue (`queues`), no worker is killed for being slow (`timeout`), and none
//! is forked anew (`refork_after`).

use super::listing::{Field, Record};
use super::slices::{PRIORITY, RubyThreads, TIMESLICE};
use super::{Model, ModelKind, Socket, Topology, Workers, version};
use super::{socket, unicorn};
use crate::cluster::cpus::Cpus;
use crate::value::{Fields, Value};
use std::time::Duration;

pub(super) const RECORD: Record = Record {
    key: "pitchfork",
    summary: "Ruby's Pitchfork: workers that accept as Unicorn's, the last one that went to sleep first",
    fields: &[
        Field { key: "workers", default: "1", summary: "processes, 1 to 1024, or \"auto\"" },
        Field { key: "version", default: "\"0.18.1\"", summary: "Pitchfork's version, 0.1 to 0.x" },
        Field { key: "ruby", default: "\"4.0.5\"", summary: "CRuby's version, from 3.1 on" },
        TIMESLICE,
        PRIORITY,
        socket::field("1024"),
    ],
    read,
};

/// `worker_processes` (lib/pitchfork/configurator.rb).
const WORKERS: u32 = 1;
const VERSION: &str = "0.18.1";
const VERSION_ALLOWED: &str = "a Pitchfork version from 0.1 to 0.x as text, such as \"0.18.1\"";
const RUBY: &str = "4.0.5";

/// Builds the model `pitchfork`.
#[derive(Debug, Clone)]
pub struct Pitchfork {
    workers: Workers,
    version: String,
    ruby: String,
    slices: RubyThreads,
    backlog: Option<u32>,
}

/// Models Pitchfork 0.18.1 on CRuby 4.0.5, with one worker as by default.
pub fn pitchfork() -> Pitchfork {
    Pitchfork {
        workers: Workers::Count(WORKERS),
        version: VERSION.to_owned(),
        ruby: RUBY.to_owned(),
        slices: RubyThreads::default(),
        backlog: None,
    }
}

impl Pitchfork {
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

    /// Changes the version of Pitchfork, 0.1 to 0.x; they accept alike.
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
    let workers = Workers::read(fields, 1, WORKERS);
    let version = match fields.get("version") {
        Some(node) => version::server(node, 0..=0, VERSION_ALLOWED),
        None => Some(VERSION.to_owned()),
    };
    let ruby = fields.get("ruby").map_or_else(|| Some(RUBY.to_owned()), version::ruby);
    let slices = RubyThreads::read(fields, ruby.as_deref());
    let backlog = socket::read(fields, None);
    let pitchfork = Pitchfork {
        workers: workers?,
        version: version?,
        ruby: ruby?,
        slices: slices?,
        backlog: backlog?,
    };
    Some(pitchfork.into())
}

impl ModelKind for Pitchfork {
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
        let label = format!("pitchfork{version}{ruby}{slices}{backlog}{}", workers.words);
        let gvl = self.slices.gvl(&self.ruby);
        let socket = Socket::new(self.backlog, unicorn::BACKLOG);
        unicorn::of_one_thread(label, &workers, gvl, unicorn::EXCLUSIVE, socket)
    }
}

impl From<Pitchfork> for Model {
    fn from(pitchfork: Pitchfork) -> Self {
        Self::of(pitchfork)
    }
}
