//! What a model lowers to: processes, threads, a lock, and how requests are served.
//!
//! The engines and `report` read it; it is all they know of a model.

use super::Socket;
use crate::cluster::accept::Accept;
use crate::cluster::balance::Balance;
use crate::gvl::Gvl;
use std::time::Duration;

/// The shape of a server.
#[derive(Debug, Clone, PartialEq)]
pub struct Topology {
    /// Names the row in a report, such as `puma` or `uvicorn def`.
    pub label: String,
    /// Worker processes as configured, or as many as `auto` came to; 0 is a single process.
    pub workers: u32,
    /// The threads of each worker that serve requests.
    pub threads: u32,
    /// Requests served at once by all workers; `None` where nothing bounds them.
    pub slots: Option<u64>,
    /// Processes that serve requests, at least 1.
    pub processes: u32,
    /// The lock of each process.
    pub gvl: Gvl,
    /// How a process serves requests.
    pub serving: Serving,
    /// How a request comes to a process, and whether there is a master beside it.
    pub dispatch: Dispatch,
    /// What clients notice of its socket; only its last field matters where nothing is accepted.
    pub socket: Socket,
}

/// How a request comes to the process that serves it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Dispatch {
    /// There is one process and no master, and requests are there as they come: WEBrick, uvicorn with one
    /// worker.
    InProcess,
    /// The same, and the process accepts as the record says (Puma in single mode). The real engine gives
    /// requests to its threads directly.
    Alone(Accept),
    /// A master has one queue, and gives a worker its next request when a thread is free.
    SharedQueue,
    /// The workers of a master, one or more, accept from one socket, each as the record says.
    Accept(Accept),
    /// A proxy gives each request to one of the processes as it comes, as the record says; each has a
    /// queue of its own.
    Balanced(Balance),
}

impl Dispatch {
    /// Whether there is a master, or a proxy, whose processes are told apart.
    pub fn has_workers(&self) -> bool {
        !matches!(self, Self::InProcess | Self::Alone(_))
    }

    /// How a process accepts, where it does.
    pub fn accept(&self) -> Option<Accept> {
        match self {
            Self::Alone(accept) | Self::Accept(accept) => Some(*accept),
            Self::InProcess | Self::SharedQueue | Self::Balanced(_) => None,
        }
    }
}

/// How a process serves requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Serving {
    /// Each request has a thread to itself.
    Pool {
        /// Threads that are there from the start.
        min_threads: u32,
        /// Threads that there may be.
        max_threads: u32,
        /// How long a thread lives.
        threads_live: ThreadsLive,
    },
    /// All requests share the thread of an event loop.
    EventLoop {
        /// Where the steps of a request run.
        handlers: Handlers,
        /// Threads of the offload pool, used by [`Handlers::Offloaded`].
        offload_threads: u32,
    },
}

/// How long a pool's thread lives.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ThreadsLive {
    /// It serves one request after another.
    Forever,
    /// The same, but every so often one of them ends that has nothing to do, down to those that are
    /// there from the start. The real engine's threads stay.
    Trimmed {
        /// From one look to the next.
        every: Duration,
    },
    /// It is started for a request and ends with it.
    OneRequest,
}

/// Where the steps of a request run in an event loop.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Handlers {
    /// On the loop; a wait gives the loop to other requests (`async def` that awaits).
    Async,
    /// On a thread of the offload pool (`def`).
    Offloaded,
    /// On the loop, waits included: each request stops all others (`async def` that blocks).
    Blocking,
}

/// The slots of workers with so many threads each; no worker counts as one process.
pub(super) fn slots(workers: u32, threads: u32) -> u64 {
    u64::from(workers.max(1)) * u64::from(threads)
}
