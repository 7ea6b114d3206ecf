//! `pool`: the executor by itself, without a server around it.
//!
//! With workers, requests wait in the master's queue, not at a socket: the next one goes to
//! whatever thread is free, in whatever worker.

use super::listing::{Field, Record};
use super::topology::slots;
use super::{
    Dispatch, Model, ModelKind, Serving, Socket, THREADS_MAX, ThreadsLive, Topology, Workers,
};
use crate::cluster::cpus::Cpus;
use crate::gvl::Gvl;
use crate::value::{Fields, Value};

pub(super) const RECORD: Record = Record {
    key: "pool",
    summary: "a pool of threads in each worker, without a server; any lock",
    fields: &[
        Field {
            key: "workers",
            default: "0",
            summary: "processes, 0 to 1024, or \"auto\"; 0: one, without a master",
        },
        Field { key: "threads", default: "1", summary: "threads of a worker, 1 to 1024" },
        Field {
            key: "min_threads",
            default: "threads",
            summary: "threads there from the start, 0 to threads",
        },
        Field {
            key: "gvl",
            default: "\"cruby-4.0\"",
            summary: "the lock: a name below, or { base, ... } with what differs from it",
        },
    ],
    read,
};

/// Builds the model `pool`.
#[derive(Debug, Clone)]
pub struct Pool {
    workers: Workers,
    threads: u32,
    min_threads: Option<u32>,
    gvl: Gvl,
}

/// Models the executor by itself: one process, one thread, the lock of CRuby 4.0.
pub fn pool() -> Pool {
    Pool { workers: Workers::Count(0), threads: 1, min_threads: None, gvl: Gvl::cruby() }
}

impl Pool {
    /// Changes the number of worker processes, at most 1024; 0 is one process without a master.
    pub fn workers(mut self, workers: impl Into<Workers>) -> Self {
        self.workers = workers.into();
        self
    }

    /// Changes the number of threads of each worker, 1 to 1024.
    pub fn threads(mut self, threads: u32) -> Self {
        self.threads = threads;
        self
    }

    /// Changes how many threads there are from the start; by default all.
    pub fn min_threads(mut self, threads: u32) -> Self {
        self.min_threads = Some(threads);
        self
    }

    /// Changes the lock of each worker.
    pub fn gvl(mut self, gvl: Gvl) -> Self {
        self.gvl = gvl;
        self
    }
}

fn read(fields: &Fields<'_>) -> Option<Model> {
    let workers = Workers::read(fields, 0, 0);
    let threads = fields.get("threads").map_or(Some(1), |n| n.int(1..=THREADS_MAX.into()));
    let min_threads = read_min_threads(fields, threads);
    let gvl = fields.get("gvl").map_or_else(|| Some(Gvl::cruby()), Gvl::read);
    let (workers, threads) = (workers?, threads? as u32);
    Some(Pool { workers, threads, min_threads: min_threads?, gvl: gvl? }.into())
}

/// Reads how many of `threads` there are from the start, where that is given.
pub(super) fn read_min_threads(fields: &Fields<'_>, threads: Option<i64>) -> Option<Option<u32>> {
    let Some(node) = fields.get("min_threads") else {
        return Some(None);
    };
    let most = threads.unwrap_or(THREADS_MAX.into());
    node.int(0..=most).map(|n| Some(n as u32))
}

impl ModelKind for Pool {
    fn record(&self) -> &'static Record {
        &RECORD
    }

    fn to_value(&self) -> Value {
        let mut fields = vec![
            ("workers", self.workers.to_value()),
            ("threads", Value::Int(self.threads.into())),
        ];
        fields.extend(self.min_threads.map(|n| ("min_threads", Value::Int(n.into()))));
        fields.push(("gvl", self.gvl.to_value()));
        Value::table(fields)
    }

    fn topology(&self, on: &dyn Fn() -> Cpus) -> Topology {
        let workers = self.workers.at_least_one(on);
        Topology {
            label: format!("pool {}{}", self.gvl.name(), workers.words),
            workers: workers.count,
            threads: self.threads,
            slots: Some(slots(workers.count, self.threads)),
            processes: workers.count.max(1),
            gvl: self.gvl.clone(),
            serving: Serving::Pool {
                min_threads: self.min_threads.unwrap_or(self.threads),
                max_threads: self.threads,
                threads_live: ThreadsLive::Forever,
            },
            dispatch: match workers.count {
                0 => Dispatch::InProcess,
                _ => Dispatch::SharedQueue,
            },
            socket: Socket::new(None, 0),
        }
    }
}

impl From<Pool> for Model {
    fn from(pool: Pool) -> Self {
        Self::of(pool)
    }
}
