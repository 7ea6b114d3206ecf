//! What a thread of a server is there for.

use serde::{Deserialize, Serialize};
use std::fmt;

/// What a thread is there for; it names a track.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Role {
    /// It serves requests.
    Thread,
    /// It runs an event loop.
    Loop,
    /// It runs calls that an event loop hands over.
    Offload,
    /// It takes connections.
    Acceptor,
    /// It watches connections that have no request yet.
    Reactor,
}

impl Role {
    /// The role in a word, such as `acceptor`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Thread => "thread",
            Self::Loop => "loop",
            Self::Offload => "offload",
            Self::Acceptor => "acceptor",
            Self::Reactor => "reactor",
        }
    }

    /// Whether a process has many of them, which are numbered.
    pub(super) fn is_many(self) -> bool {
        matches!(self, Self::Thread | Self::Offload)
    }
}

impl fmt::Display for Role {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
