//! What a worker of gunicorn is, and how it accepts.

use crate::cluster::accept::{Accept, AcceptWait, Backoff, Between};
use crate::model::uvicorn;
use crate::value::Node;

const ALL: [WorkerClass; 3] = [WorkerClass::Sync, WorkerClass::Gthread, WorkerClass::Uvicorn];
const ALLOWED: &str = "\"sync\", \"gthread\" or \"uvicorn\"";

/// What a worker of gunicorn is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WorkerClass {
    /// One thread that accepts, answers and closes.
    Sync,
    /// A thread that accepts and watches connections, and a pool that answers.
    Gthread,
    /// The event loop of the package uvicorn-worker.
    Uvicorn,
}

impl WorkerClass {
    pub(super) fn read(node: &Node<'_>) -> Option<Self> {
        let text = node.text(ALLOWED)?;
        let named = ALL.into_iter().find(|class| class.name() == text);
        named.or_else(|| node.refuse(ALLOWED))
    }

    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Sync => "sync",
            Self::Gthread => "gthread",
            Self::Uvicorn => "uvicorn",
        }
    }

    /// How a worker accepts: the listener does not block, and each worker watches it.
    pub(super) fn accept(self, backlog: u32) -> Accept {
        match self {
            // `run_for_one`: `select` only where `accept` had nothing.
            Self::Sync => Accept {
                wait: AcceptWait::Herd,
                only_when_free: true,
                backoff: Backoff::None,
                burst: 1,
                between: Between::Closed,
            },
            // One `accept` an event, however many requests wait for a thread.
            Self::Gthread => Accept {
                wait: AcceptWait::Herd,
                only_when_free: false,
                backoff: Backoff::None,
                burst: 1,
                between: Between::Watched,
            },
            // gunicorn hands its backlog down.
            Self::Uvicorn => Accept { burst: backlog, ..uvicorn::ACCEPT },
        }
    }
}
