//! `puma`: worker processes with a pool of threads each, under CRuby's lock.
//!
//! Differs from Puma: versions do not differ yet. They do in how a busy worker puts off accepting
//! (5.x and 6.x wait up to 5 ms or until not full, 7.0.4 and later a fraction of that) and in
//! keep-alive. In single mode with a new connection for each request none of that happens, and
//! the real engine is the same for all of them.

use super::listing::{Field, Record};
use super::pool::read_min_threads;
use super::topology::slots;
use super::{Model, ModelKind, Serving, THREADS_MAX, ThreadsLive, Topology, WORKERS_MAX, version};
use crate::gvl::Gvl;
use crate::value::{Fields, Value};

pub(super) const RECORD: Record = Record {
    key: "puma",
    summary: "Ruby's Puma: workers that accept from one socket, a pool of threads in each",
    fields: &[
        Field { key: "workers", default: "0", summary: "processes, 0 to 1024; 0: single mode" },
        Field { key: "threads", default: "5", summary: "threads of a worker, 1 to 1024" },
        Field {
            key: "min_threads",
            default: "threads where given, else 0",
            summary: "threads there from the start, 0 to threads",
        },
        Field { key: "version", default: "\"8.0.2\"", summary: "Puma's version, 5.0 to 8.x" },
        Field { key: "ruby", default: "\"4.0.5\"", summary: "CRuby's version, from 3.1 on" },
    ],
    read,
};

/// `max_threads` on MRI (lib/puma/configuration.rb, 5.0 to 8.0.2).
const THREADS: u32 = 5;
/// `min_threads` of the same table.
const MIN_THREADS: u32 = 0;
const VERSION: &str = "8.0.2";
const RUBY: &str = "4.0.5";

/// Builds the model `puma`.
#[derive(Debug, Clone)]
pub struct Puma {
    workers: u32,
    threads: Option<u32>,
    min_threads: Option<u32>,
    version: String,
    ruby: String,
}

/// Models Puma 8.0.2 on CRuby 4.0.5, in single mode with 0 to 5 threads as by default.
pub fn puma() -> Puma {
    Puma {
        workers: 0,
        threads: None,
        min_threads: None,
        version: VERSION.to_owned(),
        ruby: RUBY.to_owned(),
    }
}

impl Puma {
    /// Changes the number of worker processes, at most 1024; 0 is single mode.
    pub fn workers(mut self, workers: u32) -> Self {
        self.workers = workers;
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

    /// Changes the version of Puma, 5.0 to 8.x.
    pub fn version(mut self, version: impl Into<String>) -> Self {
        self.version = version.into();
        self
    }

    /// Changes the version of CRuby, from 3.1 on.
    pub fn ruby(mut self, version: impl Into<String>) -> Self {
        self.ruby = version.into();
        self
    }
}

fn read(fields: &Fields<'_>) -> Option<Model> {
    let workers = fields.get("workers").map_or(Some(0), |n| n.int(0..=WORKERS_MAX.into()));
    let threads = match fields.get("threads") {
        Some(node) => node.int(1..=THREADS_MAX.into()).map(Some),
        None => Some(None),
    };
    let most = threads.map(|threads| threads.unwrap_or(THREADS.into()));
    let min_threads = read_min_threads(fields, most);
    let version = fields.get("version").map_or_else(|| Some(VERSION.to_owned()), version::puma);
    let ruby = fields.get("ruby").map_or_else(|| Some(RUBY.to_owned()), version::ruby);
    let puma = Puma {
        workers: workers? as u32,
        threads: threads?.map(|n| n as u32),
        min_threads: min_threads?,
        version: version?,
        ruby: ruby?,
    };
    Some(puma.into())
}

impl ModelKind for Puma {
    fn record(&self) -> &'static Record {
        &RECORD
    }

    fn to_value(&self) -> Value {
        let mut fields = vec![("workers", Value::Int(self.workers.into()))];
        fields.extend(self.threads.map(|n| ("threads", Value::Int(n.into()))));
        fields.extend(self.min_threads.map(|n| ("min_threads", Value::Int(n.into()))));
        fields.push(("version", Value::text(&self.version)));
        fields.push(("ruby", Value::text(&self.ruby)));
        Value::table(fields)
    }

    fn topology(&self) -> Topology {
        let threads = self.threads.unwrap_or(THREADS);
        let version = version::suffix(" ", &self.version, VERSION);
        Topology {
            label: format!("puma{version}{}", version::suffix(" ruby ", &self.ruby, RUBY)),
            workers: self.workers,
            threads,
            slots: Some(slots(self.workers, threads)),
            processes: self.workers.max(1),
            gvl: Gvl::of_ruby(&self.ruby).expect("a checked model has a known CRuby version"),
            serving: Serving::Pool {
                min_threads: self.min_threads.or(self.threads).unwrap_or(MIN_THREADS),
                max_threads: threads,
                threads_live: ThreadsLive::Forever,
            },
        }
    }
}

impl From<Puma> for Model {
    fn from(puma: Puma) -> Self {
        Self::of(puma)
    }
}
