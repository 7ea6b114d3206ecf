//! How httpd's processes work: its multi-processing modules, with their defaults.

use crate::cluster::accept::{Accept, AcceptWait, Backoff, Between};
use crate::value::Node;
use std::time::Duration;

/// `ThreadsPerChild` (`DEFAULT_THREADS_PER_CHILD`, worker.c and event.c).
const THREADS: u32 = 25;
/// `KeepAliveTimeout`.
const KEEP_ALIVE: Duration = Duration::from_secs(5);
const ALL: [Mpm; 3] = [Mpm::Prefork, Mpm::Worker, Mpm::Event];
const ALLOWED: &str = "\"prefork\", \"worker\" or \"event\"";

/// How httpd's processes work: its multi-processing module.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mpm {
    /// A process serves one connection at a time, and waits at it between its requests.
    Prefork,
    /// The same of each thread of a process.
    Worker,
    /// A thread serves a request; between requests a connection is watched.
    Event,
}

impl Mpm {
    pub(super) fn read(node: &Node<'_>) -> Option<Self> {
        let text = node.text(ALLOWED)?;
        let named = ALL.into_iter().find(|mpm| mpm.name() == text);
        named.or_else(|| node.refuse(ALLOWED))
    }

    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Prefork => "prefork",
            Self::Worker => "worker",
            Self::Event => "event",
        }
    }

    /// `StartServers` (`DEFAULT_START_DAEMON`).
    pub(super) fn workers(self) -> u32 {
        match self {
            Self::Prefork => 5,
            Self::Worker | Self::Event => 3,
        }
    }

    pub(super) fn threads(self) -> u32 {
        match self {
            Self::Prefork => 1,
            Self::Worker | Self::Event => THREADS,
        }
    }

    /// How a process accepts: prefork and worker block in `accept`, the latter once it has reserved
    /// a thread; event polls the listener beside its other connections, and takes it off where no
    /// thread is idle.
    pub(super) fn accept(self) -> Accept {
        let (wait, between) = match self {
            Self::Prefork | Self::Worker => {
                (AcceptWait::Blocking, Between::HeldByThread { most: KEEP_ALIVE })
            }
            Self::Event => (AcceptWait::Herd, Between::Watched),
        };
        Accept { wait, only_when_free: true, backoff: Backoff::None, burst: 1, between }
    }
}
