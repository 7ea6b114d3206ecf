//! `apache`: the processes of Apache's httpd 2.4, of one of three MPMs.
//!
//! What serves a request runs in httpd's own threads, as mod_php does: without a lock. With
//! `python` it is mod_wsgi's embedded mode: each process has an interpreter, and its lock.
//!
//! Read at 2.4.58 (server/mpm/worker/worker.c, event/event.c). Differs from httpd: there is one
//! listener and a fixed number of processes, which stands for what `StartServers` and the spare
//! servers come to; and the event MPM keeps any number of idle connections
//! (`AsyncRequestWorkerFactor`).

mod mpm;

pub use mpm::Mpm;

use super::listing::{Field, Record};
use super::socket;
use super::topology::slots;
use super::{
    Dispatch, Model, ModelKind, Serving, Socket, THREADS_MAX, ThreadsLive, Topology, Workers,
    version,
};
use crate::cluster::cpus::Cpus;
use crate::gvl::Gvl;
use crate::value::{Fields, Node, Value};

pub(super) const RECORD: Record = Record {
    key: "apache",
    summary: "Apache's httpd: processes that accept only for a free thread; no lock, or Python's",
    fields: &[
        Field {
            key: "mpm",
            default: "\"event\"",
            summary: "\"prefork\" has one thread a process, \"worker\" keeps a thread at an idle \
                      connection, \"event\" does not",
        },
        Field {
            key: "workers",
            default: "3, with prefork 5",
            summary: "processes, 1 to 1024, or \"auto\"",
        },
        Field {
            key: "threads",
            default: "25, with prefork 1",
            summary: "threads of a process, 1 to 1024",
        },
        Field {
            key: "python",
            default: "none: no lock",
            summary: "CPython's version in each process (mod_wsgi), 3.8 to 3.14t",
        },
        socket::field("511"),
    ],
    read,
};

/// `DEFAULT_LISTENBACKLOG` (include/ap_listen.h).
const BACKLOG: u32 = 511;

/// Builds the model `apache`.
#[derive(Debug, Clone)]
pub struct Apache {
    mpm: Mpm,
    workers: Option<Workers>,
    threads: Option<u32>,
    python: Option<String>,
    backlog: Option<u32>,
}

/// Models httpd 2.4 with the event MPM: three processes of 25 threads, without a lock.
pub fn apache() -> Apache {
    Apache { mpm: Mpm::Event, workers: None, threads: None, python: None, backlog: None }
}

impl Apache {
    /// Changes the MPM.
    pub fn mpm(mut self, mpm: Mpm) -> Self {
        self.mpm = mpm;
        self
    }

    /// Changes how many connections may wait to be accepted, 1 to 65,535. Only the simulator
    /// has this queue: what it does not take is tried again after 1 s, 3 s, 7 s and so on.
    pub fn backlog(mut self, connections: u32) -> Self {
        self.backlog = Some(connections);
        self
    }

    /// Changes the number of processes, 1 to 1024.
    pub fn workers(mut self, workers: impl Into<Workers>) -> Self {
        self.workers = Some(workers.into());
        self
    }

    /// Changes the number of threads of each process, 1 to 1024; prefork has one.
    pub fn threads(mut self, threads: u32) -> Self {
        self.threads = Some(threads);
        self
    }

    /// Serves with CPython in each process, 3.8 to 3.14; a trailing `t` means free-threaded.
    pub fn python(mut self, version: impl Into<String>) -> Self {
        self.python = Some(version.into());
        self
    }
}

fn read(fields: &Fields<'_>) -> Option<Model> {
    let mpm = fields.get("mpm").map_or(Some(Mpm::Event), Mpm::read);
    let workers = match fields.get("workers") {
        Some(_) => Workers::read(fields, 1, 1).map(Some),
        None => Some(None),
    };
    let threads = match fields.get("threads") {
        Some(node) => read_threads(node, mpm).map(Some),
        None => Some(None),
    };
    let python = match fields.get("python") {
        Some(node) => version::python(node).map(Some),
        None => Some(None),
    };
    let backlog = socket::read(fields, None);
    let apache = Apache {
        mpm: mpm?,
        workers: workers?,
        threads: threads?,
        python: python?,
        backlog: backlog?,
    };
    Some(apache.into())
}

fn read_threads(node: &Node<'_>, mpm: Option<Mpm>) -> Option<u32> {
    let threads = node.int(1..=THREADS_MAX.into())? as u32;
    match mpm {
        Some(Mpm::Prefork) if threads > 1 => {
            node.refuse("1 with the mpm \"prefork\"; \"worker\" and \"event\" have threads")
        }
        _ => Some(threads),
    }
}

impl ModelKind for Apache {
    fn record(&self) -> &'static Record {
        &RECORD
    }

    fn to_value(&self) -> Value {
        let mut fields = vec![("mpm", Value::text(self.mpm.name()))];
        fields.extend(self.workers.map(|workers| ("workers", workers.to_value())));
        fields.extend(self.threads.map(|n| ("threads", Value::Int(n.into()))));
        fields.extend(self.python.as_ref().map(|version| ("python", Value::text(version))));
        fields.extend(socket::to_field(self.backlog));
        Value::table(fields)
    }

    fn topology(&self, on: &dyn Fn() -> Cpus) -> Topology {
        let default = Workers::Count(self.mpm.workers());
        let workers = self.workers.unwrap_or(default).at_least_one(on);
        let threads = self.threads.unwrap_or(self.mpm.threads());
        let python = self.python.as_deref().map(|version| {
            let gvl = Gvl::of_python(version).expect("a checked model has a known CPython version");
            (format!(" python {version}"), gvl)
        });
        let (words, gvl) = python.unwrap_or_else(|| (String::new(), Gvl::none()));
        Topology {
            label: format!(
                "apache {}{words}{}{}",
                self.mpm.name(),
                socket::suffix(self.backlog),
                workers.words
            ),
            workers: workers.count,
            threads,
            slots: Some(slots(workers.count, threads)),
            processes: workers.count.max(1),
            gvl,
            serving: Serving::Pool {
                min_threads: threads,
                max_threads: threads,
                threads_live: ThreadsLive::Forever,
            },
            dispatch: Dispatch::Accept(self.mpm.accept()),
            socket: Socket::new(self.backlog, BACKLOG),
        }
    }
}

impl From<Apache> for Model {
    fn from(apache: Apache) -> Self {
        Self::of(apache)
    }
}
