//! A topology come to life: in this process, or in worker processes.

use super::local::Local;
use super::site::Wanted;
use super::workers::Workers;
use crate::clock::Nanos;
use crate::cluster::snapshot::{Role, Snapshot};
use crate::error::Error;
use crate::executor::RejectedWhy;
use crate::load::{Connections, Load, stream_of};
use crate::measure::Served;
use crate::measure::{GvlUse, LoopUse};
use crate::model::{Dispatch, Topology};
use crate::timeline::Log;
use crate::workload::{Cursor, Workload};
use std::time::Duration;

/// Serves requests as the topology says.
pub(super) enum Server {
    /// And the seed that requests draw from.
    Local(Local, u64),
    Workers(Workers),
}

/// What a client asks of the server.
pub(super) struct Call {
    /// The request's number, and how many attempts at it there were before.
    pub(super) number: u64,
    pub(super) attempt: u32,
    pub(super) endpoint: usize,
    /// The connection of its user, where it has one.
    pub(super) connection: Option<u64>,
    /// When its client leaves, if the server looks whether it has before it begins.
    pub(super) leaves: Option<Nanos>,
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
                let local = Local::start(topology, workload, timeline)?;
                Ok(Self::Local(local, seed))
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
        call: &Call,
        watch: Box<impl Watch>,
        refused: impl FnOnce(RejectedWhy) + Clone + Send + 'static,
    ) {
        match self {
            Self::Local(local, seed) => {
                let &Call { number, attempt, endpoint, leaves, .. } = call;
                let cursor = Cursor::new(stream_of(*seed, number, attempt));
                local.submit(Wanted { number, endpoint, cursor, leaves }, watch, refused);
            }
            Self::Workers(workers) => workers.submit(call, watch, refused),
        }
    }

    /// A connection is not used for another request: it is closed once its present one is answered.
    pub(super) fn part(&self, connection: u64) {
        if let Self::Workers(workers) = self {
            workers.part(connection);
        }
    }

    /// Whether workers tell when they took a request only after they served it.
    pub(super) fn tells_late(&self) -> bool {
        matches!(self, Self::Workers(_))
    }

    /// What the processes used so far.
    pub(super) fn used(&self) -> Vec<ProcessUse> {
        match self {
            Self::Local(local, _) => vec![local.used()],
            Self::Workers(workers) => workers.used(),
        }
    }

    /// What the system knows of the processes.
    pub(super) fn snapshot(&self) -> Snapshot {
        match self {
            Self::Local(..) => Snapshot::of(&[(std::process::id(), Role::Master)]),
            Self::Workers(workers) => workers.snapshot(),
        }
    }

    /// Workers that ended without being told to: number and process.
    pub(super) fn lost(&self) -> Vec<(u32, u32)> {
        match self {
            Self::Local(..) => Vec::new(),
            Self::Workers(workers) => workers.lost(),
        }
    }

    /// Ends what runs, drops what waits, and waits for the threads or processes.
    pub(super) fn end(&self) {
        match self {
            Self::Local(local, _) => local.end(),
            Self::Workers(workers) => workers.end(),
        }
    }
}
