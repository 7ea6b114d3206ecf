//! `webrick`: one process that starts a thread for each request, under CRuby's lock.
//!
//! WEBrick gives a thread to each connection, which it keeps until the connection ends; with a
//! new connection for each request that is a thread for each request.

use super::listing::{Field, Record};
use super::{Dispatch, Model, ModelKind, Serving, ThreadsLive, Topology, version};
use crate::cluster::cpus::Cpus;
use crate::gvl::Gvl;
use crate::value::{Fields, Value};

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
}

/// Models WEBrick on CRuby 4.0.5, with 100 clients at most as by default.
pub fn webrick() -> Webrick {
    Webrick { max_clients: MAX_CLIENTS, ruby: RUBY.to_owned() }
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
}

fn read(fields: &Fields<'_>) -> Option<Model> {
    let max_clients = fields
        .get("max_clients")
        .map_or(Some(MAX_CLIENTS.into()), |n| n.int(1..=MAX_CLIENTS_MAX.into()));
    let ruby = fields.get("ruby").map_or_else(|| Some(RUBY.to_owned()), version::ruby);
    Some(Webrick { max_clients: max_clients? as u32, ruby: ruby? }.into())
}

impl ModelKind for Webrick {
    fn record(&self) -> &'static Record {
        &RECORD
    }

    fn to_value(&self) -> Value {
        Value::table([
            ("max_clients", Value::Int(self.max_clients.into())),
            ("ruby", Value::text(&self.ruby)),
        ])
    }

    fn topology(&self, _on: &dyn Fn() -> Cpus) -> Topology {
        Topology {
            label: format!("webrick{}", version::suffix(" ruby ", &self.ruby, RUBY)),
            workers: 0,
            threads: self.max_clients,
            slots: Some(self.max_clients.into()),
            processes: 1,
            gvl: Gvl::of_ruby(&self.ruby).expect("a checked model has a known CRuby version"),
            serving: Serving::Pool {
                min_threads: 0,
                max_threads: self.max_clients,
                threads_live: ThreadsLive::OneRequest,
            },
            dispatch: Dispatch::InProcess,
        }
    }
}

impl From<Webrick> for Model {
    fn from(webrick: Webrick) -> Self {
        Self::of(webrick)
    }
}
