//! A topology come to life: in this process, or in worker processes.

use super::local::Local;
use super::site::Wanted;
use super::workers::Workers;
use crate::clock::Nanos;
use crate::cluster::snapshot::{Role, Snapshot};
use crate::error::Error;
use crate::executor::RejectedWhy;
use crate::load::{Arrival, Connections, Load};
use crate::measure::Served;
use crate::measure::{GvlUse, LoopUse};
use crate::model::{Dispatch, Topology};
use crate::timeline::Log;
use crate::workload::{Cursor, Workload};
use std::time::Duration;

/// Serves requests as the topology says.
pub(super) enum Server {
    Local(Local),
    Workers(Workers),
}

/// Called as a request goes through the server.
pub(super) trait Watch: Send + Sync + 'static {
    /// It left the queue, now.
    fn started(&self);
    /// It left the queue then; told afterwards.
    fn started_at(&self, at: Nanos);
    /// It was served, by that worker process where there are any.
    fn served(self: Box<Self>, by: Option<u32>, served: Served);
}

/// How a process of the server used its lock and its loop.
pub(super) struct ProcessUse {
    /// Its worker's number and its process; `None` for this one.
    pub(super) worker: Option<(u32, u32)>,
    pub(super) cpu: Duration,
    pub(super) gvl: GvlUse,
    pub(super) event_loop: Option<LoopUse>,
    /// What its threads did, where it was recorded.
    pub(super) log: Option<Log>,
}

impl Server {
    /// Starts the server's threads or processes; with `timeline`, they record so many events together.
    ///
    /// # Errors
    /// The system gives none, or the program cannot be a worker.
    pub(super) fn start(
        topology: &Topology,
        workload: &Workload,
        load: &Load,
        seed: u64,
        timeline: Option<usize>,
    ) -> Result<Self, Error> {
        match topology.dispatch {
            Dispatch::InProcess | Dispatch::Alone(_) => {
                Local::start(topology, workload, timeline).map(Self::Local)
            }
            Dispatch::SharedQueue | Dispatch::Accept(_) | Dispatch::Balanced(_) => {
                let kept = load.connections == Connections::KeepAlive;
                Workers::start(topology, workload, kept, seed, timeline).map(Self::Workers)
            }
        }
    }

    /// Takes a request in; `watch` hears of it. A server that has ended, or that the system gives no
    /// thread, calls `refused` and then drops both.
    pub(super) fn submit(
        &self,
        arrival: Arrival,
        watch: Box<impl Watch>,
        refused: impl FnOnce(RejectedWhy) + Clone + Send + 'static,
    ) {
        match self {
            Self::Local(local) => {
                let Arrival { number, endpoint, stream, .. } = arrival;
                local.submit(
                    Wanted { number, endpoint, cursor: Cursor::new(stream) },
                    watch,
                    refused,
                );
            }
            Self::Workers(workers) => workers.submit(&arrival, watch, refused),
        }
    }

    /// Whether workers tell when they took a request only after they served it.
    pub(super) fn tells_late(&self) -> bool {
        matches!(self, Self::Workers(_))
    }

    /// What the processes used so far.
    pub(super) fn used(&self) -> Vec<ProcessUse> {
        match self {
            Self::Local(local) => vec![local.used()],
            Self::Workers(workers) => workers.used(),
        }
    }

    /// What the system knows of the processes.
    pub(super) fn snapshot(&self) -> Snapshot {
        match self {
            Self::Local(_) => Snapshot::of(&[(std::process::id(), Role::Master)]),
            Self::Workers(workers) => workers.snapshot(),
        }
    }

    /// Workers that ended without being told to: number and process.
    pub(super) fn lost(&self) -> Vec<(u32, u32)> {
        match self {
            Self::Local(_) => Vec::new(),
            Self::Workers(workers) => workers.lost(),
        }
    }

    /// Ends what runs, drops what waits, and waits for the threads or processes.
    pub(super) fn end(&self) {
        match self {
            Self::Local(local) => local.end(),
            Self::Workers(workers) => workers.end(),
        }
    }
}
