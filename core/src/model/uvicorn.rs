//! `uvicorn`: worker processes with an event loop each, under CPython's lock.

use super::listing::{Field, Record};
use super::topology::slots;
use super::{Handlers, Model, ModelKind, Serving, THREADS_MAX, Topology, WORKERS_MAX, version};
use crate::gvl::Gvl;
use crate::value::{Fields, Node, Value};

pub(super) const RECORD: Record = Record {
    key: "uvicorn",
    summary: "Python's uvicorn with Starlette: an event loop in each worker, and offload threads",
    fields: &[
        Field { key: "workers", default: "1", summary: "processes, 1 to 1024" },
        Field {
            key: "handlers",
            default: "\"async\"",
            summary: "\"async\" awaits on the loop, \"def\" runs on offload threads, \
                      \"blocking\" blocks the loop",
        },
        Field { key: "python", default: "\"3.13\"", summary: "CPython's version, 3.8 to 3.14t" },
        Field {
            key: "offload_threads",
            default: "40",
            summary: "threads for \"def\" handlers, 1 to 1024",
        },
    ],
    read,
};

const PYTHON: &str = "3.13";
/// `total_tokens` of anyio's default limiter, which Starlette uses.
const OFFLOAD_THREADS: u32 = 40;
const HANDLERS: [Handlers; 3] = [Handlers::Async, Handlers::Offloaded, Handlers::Blocking];
const HANDLERS_ALLOWED: &str = "\"async\", \"def\" or \"blocking\"";

/// Builds the model `uvicorn`.
#[derive(Debug, Clone)]
pub struct Uvicorn {
    workers: u32,
    handlers: Handlers,
    python: String,
    offload_threads: u32,
}

/// Models uvicorn on CPython 3.13: one worker, async handlers, 40 offload threads.
pub fn uvicorn() -> Uvicorn {
    Uvicorn {
        workers: 1,
        handlers: Handlers::Async,
        python: PYTHON.to_owned(),
        offload_threads: OFFLOAD_THREADS,
    }
}

impl Uvicorn {
    /// Changes the number of worker processes, 1 to 1024.
    pub fn workers(mut self, workers: u32) -> Self {
        self.workers = workers;
        self
    }

    /// Changes where the steps of a request run.
    pub fn handlers(mut self, handlers: Handlers) -> Self {
        self.handlers = handlers;
        self
    }

    /// Changes the version of CPython, 3.8 to 3.14; a trailing `t` means free-threaded.
    pub fn python(mut self, version: impl Into<String>) -> Self {
        self.python = version.into();
        self
    }

    /// Changes the number of offload threads of each worker, 1 to 1024.
    pub fn offload_threads(mut self, threads: u32) -> Self {
        self.offload_threads = threads;
        self
    }

    /// The threads of a worker that serve requests: the loop's, or those of the offload pool.
    fn threads(&self) -> u32 {
        match self.handlers {
            Handlers::Offloaded => self.offload_threads,
            Handlers::Async | Handlers::Blocking => 1,
        }
    }
}

fn read(fields: &Fields<'_>) -> Option<Model> {
    let workers = fields.get("workers").map_or(Some(1), |n| n.int(1..=WORKERS_MAX.into()));
    let handlers = fields.get("handlers").map_or(Some(Handlers::Async), read_handlers);
    let python = fields.get("python").map_or_else(|| Some(PYTHON.to_owned()), version::python);
    let offload_threads = fields
        .get("offload_threads")
        .map_or(Some(OFFLOAD_THREADS.into()), |n| n.int(1..=THREADS_MAX.into()));
    let uvicorn = Uvicorn {
        workers: workers? as u32,
        handlers: handlers?,
        python: python?,
        offload_threads: offload_threads? as u32,
    };
    Some(uvicorn.into())
}

fn read_handlers(node: &Node<'_>) -> Option<Handlers> {
    let text = node.text(HANDLERS_ALLOWED)?;
    let named = HANDLERS.into_iter().find(|handlers| name_of(*handlers) == text);
    named.or_else(|| node.refuse(HANDLERS_ALLOWED))
}

fn name_of(handlers: Handlers) -> &'static str {
    match handlers {
        Handlers::Async => "async",
        Handlers::Offloaded => "def",
        Handlers::Blocking => "blocking",
    }
}

impl ModelKind for Uvicorn {
    fn record(&self) -> &'static Record {
        &RECORD
    }

    fn to_value(&self) -> Value {
        Value::table([
            ("workers", Value::Int(self.workers.into())),
            ("handlers", Value::text(name_of(self.handlers))),
            ("python", Value::text(&self.python)),
            ("offload_threads", Value::Int(self.offload_threads.into())),
        ])
    }

    fn topology(&self) -> Topology {
        let python = version::suffix(" python ", &self.python, PYTHON);
        Topology {
            label: format!("uvicorn {}{python}", name_of(self.handlers)),
            workers: self.workers,
            threads: self.threads(),
            slots: match self.handlers {
                Handlers::Async => None,
                Handlers::Offloaded | Handlers::Blocking => {
                    Some(slots(self.workers, self.threads()))
                }
            },
            processes: self.workers.max(1),
            gvl: Gvl::of_python(&self.python).expect("a checked model has a known CPython version"),
            serving: Serving::EventLoop {
                handlers: self.handlers,
                offload_threads: self.offload_threads,
            },
        }
    }
}

impl From<Uvicorn> for Model {
    fn from(uvicorn: Uvicorn) -> Self {
        Self::of(uvicorn)
    }
}
