//! `gunicorn`: worker processes of one of three classes, under CPython's lock.
//!
//! Read at 23.0.0 and 27.0.1 (gunicorn/workers/sync.py, gthread.py; when `gthread` accepts at 20.0.4,
//! 24.0.0, 25.2.0 and 26.0.0 too), the class `uvicorn` at uvicorn-worker 0.4.0.
//!
//! A `gthread` worker accepts however many requests wait for its threads: no version looks at them. What
//! 23 stops polling for, and 24 takes the listener off for, is `worker_connections` (1000), open ones.
//!
//! Differs from gunicorn: versions do not differ. 23 watches a new connection until its request is
//! there, 24 gives it to a thread at once, which matters for connections that stay silent; here the
//! request follows at once. A `gthread` worker takes any number of connections, and no worker is killed
//! for being silent (`timeout`).

mod class;

pub use class::WorkerClass;

use super::listing::{Field, Record};
use super::slices::{self, SWITCH_INTERVAL};
use super::socket;
use super::topology::slots;
use super::uvicorn::{self, OFFLOAD_THREADS};
use super::{
    Dispatch, Handlers, Model, ModelKind, Serving, Socket, THREADS_MAX, ThreadsLive, Topology,
    Workers, version,
};
use crate::cluster::cpus::Cpus;
use crate::value::{Fields, Node, Value};
use std::time::Duration;

pub(super) const RECORD: Record = Record {
    key: "gunicorn",
    summary: "Python's gunicorn: workers that accept from one socket, of one thread, several, or \
              an event loop",
    fields: &[
        Field { key: "workers", default: "1", summary: "processes, 1 to 1024, or \"auto\"" },
        Field {
            key: "worker_class",
            default: "\"sync\", with threads \"gthread\"",
            summary: "\"sync\" serves one request at a time, \"gthread\" has threads, \"uvicorn\" \
                      has an event loop",
        },
        Field { key: "threads", default: "1", summary: "threads of a \"gthread\", 1 to 1024" },
        Field {
            key: "handlers",
            default: "\"async\"",
            summary: "those of a \"uvicorn\": \"async\", \"def\" or \"blocking\"",
        },
        Field {
            key: "version",
            default: "\"27.0.1\"",
            summary: "gunicorn's version, 20.0 to 27.x",
        },
        Field { key: "python", default: "\"3.13\"", summary: "CPython's version, 3.8 to 3.14t" },
        SWITCH_INTERVAL,
        socket::field("2048"),
    ],
    read,
};

/// `workers` without `WEB_CONCURRENCY` (gunicorn/config.py).
const WORKERS: u32 = 1;
/// `threads` of the same file.
const THREADS: u32 = 1;
const VERSION: &str = "27.0.1";
const VERSION_ALLOWED: &str = "a gunicorn version from 20.0 to 27.x as text, such as \"27.0.1\"";
/// `backlog` of the same file.
const BACKLOG: u32 = 2048;
const PYTHON: &str = "3.13";

/// Builds the model `gunicorn`.
#[derive(Debug, Clone)]
pub struct Gunicorn {
    workers: Workers,
    worker_class: Option<WorkerClass>,
    threads: u32,
    handlers: Option<Handlers>,
    version: String,
    python: String,
    switch_interval: Option<Duration>,
    backlog: Option<u32>,
}

/// Models gunicorn 27.0.1 on CPython 3.13, with one worker of the class `sync` as by default.
pub fn gunicorn() -> Gunicorn {
    Gunicorn {
        workers: Workers::Count(WORKERS),
        worker_class: None,
        threads: THREADS,
        handlers: None,
        version: VERSION.to_owned(),
        python: PYTHON.to_owned(),
        switch_interval: None,
        backlog: None,
    }
}

impl Gunicorn {
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

    /// Changes the class of the workers; by default `sync`, or `gthread` where there are threads,
    /// as gunicorn has it.
    pub fn worker_class(mut self, class: WorkerClass) -> Self {
        self.worker_class = Some(class);
        self
    }

    /// Changes the number of threads of each worker of the class `gthread`, 1 to 1024.
    pub fn threads(mut self, threads: u32) -> Self {
        self.threads = threads;
        self
    }

    /// Changes where the steps of a request run in a worker of the class `uvicorn`.
    pub fn handlers(mut self, handlers: Handlers) -> Self {
        self.handlers = Some(handlers);
        self
    }

    /// Changes the version of gunicorn, 20.0 to 27.x.
    pub fn version(mut self, version: impl Into<String>) -> Self {
        self.version = version.into();
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

    /// `Config.worker_class` (gunicorn/config.py): `sync` with threads is `gthread`.
    fn class(&self) -> WorkerClass {
        let by_threads = if self.threads > 1 { WorkerClass::Gthread } else { WorkerClass::Sync };
        self.worker_class.unwrap_or(by_threads)
    }

    /// The threads of a worker that serve requests, and how.
    fn serving(&self) -> (u32, Serving) {
        let handlers = self.handlers.unwrap_or(Handlers::Async);
        let pool = |min_threads| Serving::Pool {
            min_threads,
            max_threads: self.threads,
            threads_live: ThreadsLive::Forever,
        };
        match self.class() {
            WorkerClass::Sync => (self.threads, pool(1)),
            // A `ThreadPoolExecutor` starts a thread when no other is idle.
            WorkerClass::Gthread => (self.threads, pool(0)),
            WorkerClass::Uvicorn => (
                uvicorn::threads(handlers, OFFLOAD_THREADS),
                Serving::EventLoop { handlers, offload_threads: OFFLOAD_THREADS },
            ),
        }
    }
}

fn read(fields: &Fields<'_>) -> Option<Model> {
    let workers = Workers::read(fields, 1, WORKERS);
    let class =
        fields.get("worker_class").map_or(Some(None), |node| WorkerClass::read(node).map(Some));
    let threads = match fields.get("threads") {
        Some(node) => read_threads(node, class.flatten()),
        None => Some(THREADS),
    };
    let handlers = match fields.get("handlers") {
        Some(node) => read_handlers(node, class.flatten()).map(Some),
        None => Some(None),
    };
    let version = match fields.get("version") {
        Some(node) => version::server(node, 20..=27, VERSION_ALLOWED),
        None => Some(VERSION.to_owned()),
    };
    let python = fields.get("python").map_or_else(|| Some(PYTHON.to_owned()), version::python);
    let switch_interval = slices::read_interval(fields, python.as_deref());
    let backlog = socket::read(fields, None);
    let gunicorn = Gunicorn {
        workers: workers?,
        worker_class: class?,
        threads: threads?,
        handlers: handlers?,
        version: version?,
        python: python?,
        switch_interval: switch_interval?,
        backlog: backlog?,
    };
    Some(gunicorn.into())
}

/// Reads the threads of a worker, of which only a `gthread` has several.
fn read_threads(node: &Node<'_>, class: Option<WorkerClass>) -> Option<u32> {
    let threads = node.int(1..=THREADS_MAX.into())? as u32;
    match class {
        Some(class @ (WorkerClass::Sync | WorkerClass::Uvicorn)) if threads > 1 => {
            node.refuse(format!("1 with the class \"{}\"; \"gthread\" has threads", class.name()))
        }
        _ => Some(threads),
    }
}

/// Reads the handlers of an event loop, which only the class `uvicorn` has.
fn read_handlers(node: &Node<'_>, class: Option<WorkerClass>) -> Option<Handlers> {
    if class != Some(WorkerClass::Uvicorn) {
        return node.refuse_as("this key", "the worker_class \"uvicorn\" beside it");
    }
    uvicorn::read_handlers(node)
}

impl ModelKind for Gunicorn {
    fn record(&self) -> &'static Record {
        &RECORD
    }

    fn to_value(&self) -> Value {
        let mut fields = vec![("workers", self.workers.to_value())];
        fields.extend(self.worker_class.map(|class| ("worker_class", Value::text(class.name()))));
        fields.push(("threads", Value::Int(self.threads.into())));
        fields.extend(self.handlers.map(|h| ("handlers", Value::text(uvicorn::name_of(h)))));
        fields.push(("version", Value::text(&self.version)));
        fields.push(("python", Value::text(&self.python)));
        fields.extend(slices::interval_field(self.switch_interval));
        fields.extend(socket::to_field(self.backlog));
        Value::table(fields)
    }

    fn topology(&self, on: &dyn Fn() -> Cpus) -> Topology {
        let workers = self.workers.at_least_one(on);
        let (threads, serving) = self.serving();
        let socket = Socket::new(self.backlog, BACKLOG);
        let (handlers, slots) = match serving {
            Serving::Pool { .. } => (String::new(), Some(slots(workers.count, threads))),
            Serving::EventLoop { handlers, offload_threads } => (
                format!(" {}", uvicorn::name_of(handlers)),
                uvicorn::loop_slots(workers.count, handlers, offload_threads),
            ),
        };
        let version = version::suffix(" ", &self.version, VERSION);
        let python = version::suffix(" python ", &self.python, PYTHON)
            + &slices::interval_suffix(self.switch_interval)
            + &socket::suffix(self.backlog);
        let class = self.class().name();
        Topology {
            label: format!("gunicorn{version} {class}{handlers}{python}{}", workers.words),
            workers: workers.count,
            threads,
            slots,
            processes: workers.count.max(1),
            gvl: slices::python_gvl(&self.python, self.switch_interval),
            serving,
            dispatch: Dispatch::Accept(self.class().accept(socket.backlog)),
            socket,
        }
    }
}

impl From<Gunicorn> for Model {
    fn from(gunicorn: Gunicorn) -> Self {
        Self::of(gunicorn)
    }
}
