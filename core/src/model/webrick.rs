//! `webrick`: one process that starts a thread for each request, under CRuby's lock.
//!
//! WEBrick gives a thread to each connection, which it keeps until the connection ends; with a
//! new connection for each request that is a thread for each request.

use super::listing::{Field, Record};
use super::slices::{PRIORITY, RubyThreads, TIMESLICE};
use super::{Dispatch, Model, ModelKind, Serving, Socket, ThreadsLive, Topology, version};
use crate::cluster::cpus::Cpus;
use crate::value::{Fields, Value};
use std::time::Duration;

pub(super) const RECORD: Record = Record {
    key: "webrick",
    summary: "Ruby's WEBrick: one process, a new thread for each request",
    fields: &[
        Field {
            key: "max_clients",
            default: "100",
            summary: "requests served at once, 1 to 10000; others wait to be accepted",
        },
        Field { key: "ruby", default: "\"4.0.5\"", summary: "CRuby's version, from 3.1 on" },
        TIMESLICE,
        PRIORITY,
    ],
    read,
};

/// `MaxClients` (lib/webrick/config.rb).
const MAX_CLIENTS: u32 = 100;
const MAX_CLIENTS_MAX: u32 = 10_000;
const RUBY: &str = "4.0.5";

/// Builds the model `webrick`.
#[derive(Debug, Clone)]
pub struct Webrick {
    max_clients: u32,
    ruby: String,
    slices: RubyThreads,
}

/// Models WEBrick on CRuby 4.0.5, with 100 clients at most as by default.
pub fn webrick() -> Webrick {
    Webrick { max_clients: MAX_CLIENTS, ruby: RUBY.to_owned(), slices: RubyThreads::default() }
}

impl Webrick {
    /// Changes how many requests are served at once, 1 to 10,000.
    pub fn max_clients(mut self, clients: u32) -> Self {
        self.max_clients = clients;
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
    let max_clients = fields
        .get("max_clients")
        .map_or(Some(MAX_CLIENTS.into()), |n| n.int(1..=MAX_CLIENTS_MAX.into()));
    let ruby = fields.get("ruby").map_or_else(|| Some(RUBY.to_owned()), version::ruby);
    let slices = RubyThreads::read(fields, ruby.as_deref());
    Some(Webrick { max_clients: max_clients? as u32, ruby: ruby?, slices: slices? }.into())
}

impl ModelKind for Webrick {
    fn record(&self) -> &'static Record {
        &RECORD
    }

    fn to_value(&self) -> Value {
        let fields = [
            ("max_clients", Value::Int(self.max_clients.into())),
            ("ruby", Value::text(&self.ruby)),
        ];
        Value::table(fields.into_iter().chain(self.slices.to_fields()))
    }

    fn topology(&self, _on: &dyn Fn() -> Cpus) -> Topology {
        let ruby = version::suffix(" ruby ", &self.ruby, RUBY);
        Topology {
            label: format!("webrick{ruby}{}", self.slices.suffix()),
            workers: 0,
            threads: self.max_clients,
            slots: Some(self.max_clients.into()),
            processes: 1,
            gvl: self.slices.gvl(&self.ruby),
            serving: Serving::Pool {
                min_threads: 0,
                max_threads: self.max_clients,
                threads_live: ThreadsLive::OneRequest,
            },
            dispatch: Dispatch::InProcess,
            socket: Socket::new(None, 0),
        }
    }
}

impl From<Webrick> for Model {
    fn from(webrick: Webrick) -> Self {
        Self::of(webrick)
    }
}
