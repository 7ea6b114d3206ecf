//! `uvicorn`: worker processes with an event loop each, under CPython's lock.
//!
//! One worker is the process itself; several have a parent that binds the socket and spawns them
//! (supervisors/multiprocess.py, 0.35.0). Differs from uvicorn: with several workers its keep-alive
//! responses wait for the client's delayed acknowledgement (the listener's protocol number is 0, so
//! that asyncio leaves Nagle's algorithm on), which no model has.

use super::listing::{Field, Record};
use super::slices::{self, SWITCH_INTERVAL};
use super::socket;
use super::topology::slots;
use super::{
    Dispatch, Handlers, Model, ModelKind, Serving, Socket, THREADS_MAX, Topology, Workers, version,
};
use crate::cluster::accept::{Accept, AcceptWait, Backoff, Between};
use crate::cluster::cpus::Cpus;
use crate::value::{Fields, Node, Value};
use std::time::Duration;

pub(super) const RECORD: Record = Record {
    key: "uvicorn",
    summary: "Python's uvicorn with Starlette: an event loop in each worker, and offload threads",
    fields: &[
        Field {
            key: "workers",
            default: "1",
            summary: "processes, 1 to 1024, or \"auto\"; 1: no parent",
        },
        Field {
            key: "handlers",
            default: "\"async\"",
            summary: "\"async\" awaits on the loop, \"def\" runs on offload threads, \
                      \"blocking\" blocks the loop",
        },
        Field { key: "python", default: "\"3.13\"", summary: "CPython's version, 3.8 to 3.14t" },
        SWITCH_INTERVAL,
        Field {
            key: "offload_threads",
            default: "40",
            summary: "threads for \"def\" handlers, 1 to 1024",
        },
        socket::field("2048"),
    ],
    read,
};

/// `backlog` (config.py).
const BACKLOG: u32 = 2048;
const NO_BACKLOG: &str =
    "workers, 2 or more, beside it: with one of them nothing waits to be accepted";
const PYTHON: &str = "3.13";
/// `total_tokens` of anyio's default limiter, which Starlette uses.
pub(super) const OFFLOAD_THREADS: u32 = 40;
/// All loops watch the listener; the first to run accepts all that is pending, up to the backlog
/// (`_accept_connection`, Lib/asyncio/selector_events.py, 3.8 to 3.13), which is uvicorn's default
/// of 2048 (config.py, 0.35.0). Nothing keeps a busy loop from it.
pub(super) const ACCEPT: Accept = Accept {
    wait: AcceptWait::Herd,
    only_when_free: false,
    backoff: Backoff::None,
    burst: BACKLOG,
    between: Between::Watched,
};
const HANDLERS: [Handlers; 3] = [Handlers::Async, Handlers::Offloaded, Handlers::Blocking];
const HANDLERS_ALLOWED: &str = "\"async\", \"def\" or \"blocking\"";

/// Builds the model `uvicorn`.
#[derive(Debug, Clone)]
pub struct Uvicorn {
    workers: Workers,
    handlers: Handlers,
    python: String,
    switch_interval: Option<Duration>,
    offload_threads: u32,
    backlog: Option<u32>,
}

/// Models uvicorn on CPython 3.13: one worker, async handlers, 40 offload threads.
pub fn uvicorn() -> Uvicorn {
    Uvicorn {
        workers: Workers::Count(1),
        handlers: Handlers::Async,
        python: PYTHON.to_owned(),
        switch_interval: None,
        offload_threads: OFFLOAD_THREADS,
        backlog: None,
    }
}

impl Uvicorn {
    /// Changes the number of worker processes, 1 to 1024.
    pub fn workers(mut self, workers: impl Into<Workers>) -> Self {
        self.workers = workers.into();
        self
    }

    /// Changes how many connections may wait to be accepted, 1 to 65,535, where there is more than one worker. Only the simulator
    /// has this queue: what it does not take is tried again after 1 s, 3 s, 7 s and so on.
    pub fn backlog(mut self, connections: u32) -> Self {
        self.backlog = Some(connections);
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

    /// Changes `sys.setswitchinterval`, 10 us to 1 h: how long a thread may keep the GIL while another
    /// one waits.
    pub fn switch_interval(mut self, interval: Duration) -> Self {
        self.switch_interval = Some(interval);
        self
    }

    /// Changes the number of offload threads of each worker, 1 to 1024.
    pub fn offload_threads(mut self, threads: u32) -> Self {
        self.offload_threads = threads;
        self
    }
}

fn read(fields: &Fields<'_>) -> Option<Model> {
    let workers = Workers::read(fields, 1, 1);
    let handlers = fields.get("handlers").map_or(Some(Handlers::Async), read_handlers);
    let python = fields.get("python").map_or_else(|| Some(PYTHON.to_owned()), version::python);
    let switch_interval = slices::read_interval(fields, python.as_deref());
    let offload_threads = fields
        .get("offload_threads")
        .map_or(Some(OFFLOAD_THREADS.into()), |n| n.int(1..=THREADS_MAX.into()));
    let alone = workers == Some(Workers::Count(1));
    let backlog = socket::read(fields, alone.then_some(NO_BACKLOG));
    let uvicorn = Uvicorn {
        workers: workers?,
        handlers: handlers?,
        python: python?,
        switch_interval: switch_interval?,
        offload_threads: offload_threads? as u32,
        backlog: backlog?,
    };
    Some(uvicorn.into())
}

/// Reads the key `handlers`.
pub(super) fn read_handlers(node: &Node<'_>) -> Option<Handlers> {
    let text = node.text(HANDLERS_ALLOWED)?;
    let named = HANDLERS.into_iter().find(|handlers| name_of(*handlers) == text);
    named.or_else(|| node.refuse(HANDLERS_ALLOWED))
}

/// What a document and a label call them.
pub(super) fn name_of(handlers: Handlers) -> &'static str {
    match handlers {
        Handlers::Async => "async",
        Handlers::Offloaded => "def",
        Handlers::Blocking => "blocking",
    }
}

/// The threads of a worker that serve requests: the loop's, or those of the offload pool.
pub(super) fn threads(handlers: Handlers, offload_threads: u32) -> u32 {
    match handlers {
        Handlers::Offloaded => offload_threads,
        Handlers::Async | Handlers::Blocking => 1,
    }
}

/// The slots of workers with a loop each.
pub(super) fn loop_slots(workers: u32, handlers: Handlers, offload_threads: u32) -> Option<u64> {
    match handlers {
        Handlers::Async => None,
        Handlers::Offloaded | Handlers::Blocking => {
            Some(slots(workers, threads(handlers, offload_threads)))
        }
    }
}

impl ModelKind for Uvicorn {
    fn record(&self) -> &'static Record {
        &RECORD
    }

    fn to_value(&self) -> Value {
        let fields = [
            ("workers", self.workers.to_value()),
            ("handlers", Value::text(name_of(self.handlers))),
            ("python", Value::text(&self.python)),
            ("offload_threads", Value::Int(self.offload_threads.into())),
        ];
        let interval = slices::interval_field(self.switch_interval).into_iter();
        let rest = interval.chain(socket::to_field(self.backlog));
        Value::table(fields.into_iter().chain(rest))
    }

    fn topology(&self, on: &dyn Fn() -> Cpus) -> Topology {
        let python = version::suffix(" python ", &self.python, PYTHON)
            + &slices::interval_suffix(self.switch_interval)
            + &socket::suffix(self.backlog);
        let workers = self.workers.at_least_one(on);
        let several = workers.count > 1;
        let socket = Socket::new(self.backlog, BACKLOG);
        Topology {
            label: format!("uvicorn {}{python}{}", name_of(self.handlers), workers.words),
            workers: workers.count,
            threads: threads(self.handlers, self.offload_threads),
            slots: loop_slots(workers.count, self.handlers, self.offload_threads),
            processes: workers.count.max(1),
            gvl: slices::python_gvl(&self.python, self.switch_interval),
            serving: Serving::EventLoop {
                handlers: self.handlers,
                offload_threads: self.offload_threads,
            },
            dispatch: if several {
                Dispatch::Accept(Accept { burst: socket.backlog, ..ACCEPT })
            } else {
                Dispatch::InProcess
            },
            socket,
        }
    }
}

impl From<Uvicorn> for Model {
    fn from(uvicorn: Uvicorn) -> Self {
        Self::of(uvicorn)
    }
}
