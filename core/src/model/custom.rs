//! `custom`: a server of one's own, from the parts that the others are made of.
//!
//! Threads or an event loop in each process, its lock, and how a worker takes its connections. Without
//! `accept` it is what `pool` is: a master gives each request to a worker that has a free thread. With
//! it, workers accept from one socket, as the record says ([`Accept`]), and the models that have no
//! preset can be put together. Falcon, where each process has an event loop that accepts:
//!
//! ```toml
//! custom = { name = "falcon", workers = "auto", handlers = "async", accept = {} }
//! ```
//!
//! and Iodine, whose threads take what its reactor has read:
//!
//! ```toml
//! custom = { name = "iodine", workers = 2, threads = 4, accept = { burst = 64 } }
//! ```

mod accept;

use super::listing::{Field, Record};
use super::pool::read_min_threads;
use super::socket;
use super::topology::slots;
use super::uvicorn::{self, OFFLOAD_THREADS};
use super::{
    Dispatch, Handlers, Model, ModelKind, Serving, Socket, THREADS_MAX, ThreadsLive, Topology,
    Workers,
};
use crate::cluster::accept::Accept;
use crate::cluster::cpus::Cpus;
use crate::gvl::Gvl;
use crate::value::{Fields, Node, Value};

pub(super) const RECORD: Record = Record {
    key: "custom",
    summary: "a server of one's own, from the parts that the others are made of",
    fields: &[
        Field { key: "name", default: "\"custom\"", summary: "names the row, 1 to 40 characters" },
        Field {
            key: "workers",
            default: "0, with accept 1",
            summary: "processes, 0 to 1024, or \"auto\"; with accept 1 at least",
        },
        Field { key: "threads", default: "1", summary: "threads of a worker, 1 to 1024" },
        Field {
            key: "min_threads",
            default: "threads",
            summary: "threads there from the start, 0 to threads",
        },
        Field {
            key: "handlers",
            default: "none: threads serve",
            summary: "an event loop serves: \"async\", \"def\" or \"blocking\"",
        },
        Field {
            key: "offload_threads",
            default: "40",
            summary: "threads for \"def\" handlers, 1 to 1024",
        },
        Field {
            key: "gvl",
            default: "\"cruby-4.0\"",
            summary: "the lock of each worker, by name or as a table",
        },
        Field {
            key: "accept",
            default: "none: a master hands requests out",
            summary: "how workers accept: { wait = \"herd\", \"exclusive\" or \"blocking\", \
                      only_when_free, backoff, burst, between }",
        },
        socket::field("1024, beside accept"),
    ],
    read,
};

const NAME: &str = "custom";
const NAME_MAX: usize = 40;
/// As Puma and Unicorn have it.
const BACKLOG: u32 = 1024;

/// Builds the model `custom`.
#[derive(Debug, Clone)]
pub struct Custom {
    name: String,
    workers: Option<Workers>,
    threads: Option<u32>,
    min_threads: Option<u32>,
    handlers: Option<Handlers>,
    offload_threads: Option<u32>,
    gvl: Gvl,
    accept: Option<Accept>,
    backlog: Option<u32>,
}

/// Models a server of one's own: one process of one thread under the lock of CRuby 4.0, until told
/// otherwise.
///
/// ```
/// use gvl_lab::cluster::accept::{Accept, AcceptWait, Backoff, Between};
/// use gvl_lab::model::{Model, custom};
/// let accept = Accept {
///     wait: AcceptWait::Exclusive,
///     only_when_free: true,
///     backoff: Backoff::None,
///     burst: 1,
///     between: Between::Closed,
/// };
/// let model = Model::from(custom().name("mine").workers(2).threads(3).accept(accept));
/// model.check()?;
/// assert_eq!(model.topology().slots, Some(6));
/// # Ok::<(), gvl_lab::Error>(())
/// ```
pub fn custom() -> Custom {
    Custom {
        name: NAME.to_owned(),
        workers: None,
        threads: None,
        min_threads: None,
        handlers: None,
        offload_threads: None,
        gvl: Gvl::cruby(),
        accept: None,
        backlog: None,
    }
}

impl Custom {
    /// Changes the name of the row, 1 to 40 characters.
    pub fn name(mut self, name: impl Into<String>) -> Self {
        self.name = name.into();
        self
    }

    /// Changes the number of worker processes, at most 1024; 0 is one process without a master, which
    /// does not accept.
    pub fn workers(mut self, workers: impl Into<Workers>) -> Self {
        self.workers = Some(workers.into());
        self
    }

    /// Changes the number of threads of each worker, 1 to 1024.
    pub fn threads(mut self, threads: u32) -> Self {
        self.threads = Some(threads);
        self
    }

    /// Changes how many threads there are from the start; by default all.
    pub fn min_threads(mut self, threads: u32) -> Self {
        self.min_threads = Some(threads);
        self
    }

    /// Serves on an event loop instead of threads, with such handlers.
    pub fn handlers(mut self, handlers: Handlers) -> Self {
        self.handlers = Some(handlers);
        self
    }

    /// Changes the number of threads that serve handlers that are offloaded, 1 to 1024.
    pub fn offload_threads(mut self, threads: u32) -> Self {
        self.offload_threads = Some(threads);
        self
    }

    /// Changes the lock of each worker.
    pub fn gvl(mut self, gvl: Gvl) -> Self {
        self.gvl = gvl;
        self
    }

    /// Has the workers accept from one socket.
    pub fn accept(mut self, accept: Accept) -> Self {
        self.accept = Some(accept);
        self
    }

    /// Changes how many connections may wait to be accepted, 1 to 65,535, where workers accept. Only the
    /// simulator has this queue: what it does not take is tried again after 1 s, 3 s, 7 s and so on.
    pub fn backlog(mut self, connections: u32) -> Self {
        self.backlog = Some(connections);
        self
    }

    fn least_workers(&self) -> u32 {
        u32::from(self.accept.is_some())
    }
}

fn read(fields: &Fields<'_>) -> Option<Model> {
    let of = |key| fields.get(key);
    let name = of("name").map_or(Some(NAME), |node| node.name(NAME_MAX));
    let accept = match of("accept") {
        Some(node) => accept::read(node).map(Some),
        None => Some(None),
    };
    let least = u32::from(of("accept").is_some());
    let workers = match of("workers") {
        Some(_) => Workers::read(fields, least, least).map(Some),
        None => Some(None),
    };
    let threads = given(of("threads"), |node| node.int(1..=THREADS_MAX.into()));
    let min_threads = read_min_threads(fields, threads.map(|threads| threads.unwrap_or(1)));
    let handlers = given(of("handlers"), uvicorn::read_handlers);
    let offload_threads = given(of("offload_threads"), |node| node.int(1..=THREADS_MAX.into()));
    if let Some(Some(_)) = handlers {
        for key in ["threads", "min_threads"] {
            if let Some(node) = of(key) {
                node.refuse_as::<()>("this key", "either threads or handlers");
            }
        }
        match (of("accept"), accept) {
            (Some(node), Some(Some(accept))) => check_on_loop(node, accept)?,
            (None, _) if workers.flatten().is_some_and(|w| w != Workers::Count(0)) => {
                let expected = "accept beside workers that have an event loop each";
                return of("handlers").and_then(|node| node.refuse_as("this key", expected));
            }
            _ => {}
        }
    }
    if let (Some(node), Some(None | Some(Handlers::Async | Handlers::Blocking))) =
        (of("offload_threads"), handlers)
    {
        return node.refuse_as("this key", "the handlers \"def\" beside it");
    }
    let backlog = socket::read(fields, of("accept").is_none().then_some("accept beside it"));
    let gvl = of("gvl").map_or_else(|| Some(Gvl::cruby()), Gvl::read);
    Some(
        Custom {
            name: name?.to_owned(),
            workers: workers?,
            threads: threads?.map(|n| n as u32),
            min_threads: min_threads?,
            handlers: handlers?,
            offload_threads: offload_threads?.map(|n| n as u32),
            gvl: gvl?,
            accept: accept?,
            backlog: backlog?,
        }
        .into(),
    )
}

/// Refuses what a loop that accepts by itself does not do.
fn check_on_loop(node: &Node<'_>, accept: Accept) -> Option<()> {
    if accept == (Accept { burst: accept.burst, ..accept::DEFAULT }) {
        return Some(());
    }
    node.refuse_as("a rule for threads", "of an event loop burst alone")
}

fn given<T>(
    node: Option<&Node<'_>>,
    read: impl FnOnce(&Node<'_>) -> Option<T>,
) -> Option<Option<T>> {
    node.map_or(Some(None), |node| read(node).map(Some))
}

impl ModelKind for Custom {
    fn record(&self) -> &'static Record {
        &RECORD
    }

    fn to_value(&self) -> Value {
        let count = |n: u32| Value::Int(n.into());
        let mut fields = vec![("name", Value::text(&self.name))];
        fields.extend(self.workers.map(|workers| ("workers", workers.to_value())));
        fields.extend(self.threads.map(|n| ("threads", count(n))));
        fields.extend(self.min_threads.map(|n| ("min_threads", count(n))));
        fields.extend(self.handlers.map(|h| ("handlers", Value::text(uvicorn::name_of(h)))));
        fields.extend(self.offload_threads.map(|n| ("offload_threads", count(n))));
        fields.push(("gvl", self.gvl.to_value()));
        fields.extend(self.accept.map(|accept| ("accept", accept::to_value(&accept))));
        fields.extend(socket::to_field(self.backlog));
        Value::table(fields)
    }

    fn topology(&self, on: &dyn Fn() -> Cpus) -> Topology {
        let workers = self.workers.unwrap_or(Workers::Count(self.least_workers()));
        let workers = workers.at_least_one(on);
        let threads = self.threads.unwrap_or(1);
        let pool = Serving::Pool {
            min_threads: self.min_threads.unwrap_or(threads),
            max_threads: threads,
            threads_live: ThreadsLive::Forever,
        };
        let offload_threads = self.offload_threads.unwrap_or(OFFLOAD_THREADS);
        let (threads, slots, serving) = match self.handlers {
            None => (threads, Some(slots(workers.count, threads)), pool),
            Some(handlers) => (
                uvicorn::threads(handlers, offload_threads),
                uvicorn::loop_slots(workers.count, handlers, offload_threads),
                Serving::EventLoop { handlers, offload_threads },
            ),
        };
        Topology {
            label: format!("{}{}{}", self.name, socket::suffix(self.backlog), workers.words),
            workers: workers.count,
            threads,
            slots,
            processes: workers.count.max(1),
            gvl: self.gvl.clone(),
            serving,
            dispatch: match (self.accept, workers.count) {
                (Some(accept), _) => Dispatch::Accept(accept),
                (None, 0) => Dispatch::InProcess,
                (None, _) => Dispatch::SharedQueue,
            },
            socket: Socket::new(self.backlog, BACKLOG),
        }
    }
}

impl From<Custom> for Model {
    fn from(custom: Custom) -> Self {
        Self::of(custom)
    }
}
