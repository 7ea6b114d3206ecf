//! What a master and a worker say to each other: frames on a Unix stream socket.
//!
//! [`Frame`] is what is said, `encode` and `decode` are how it looks; `PROTOCOL.md` in this folder
//! tells it for other languages. Pure: no socket here. Invariant: no input makes `decode` panic,
//! or allocate more than what was received and the names of [`HANDLERS_MAX`] handlers.

mod decode;
mod encode;
#[cfg(test)]
#[cfg(not(model_check))]
mod tests;

pub use decode::decode;
pub(super) use encode::LAST;
pub use encode::put;

use crate::clock::Nanos;
use bytes::Bytes;
use std::fmt;
use std::time::Duration;

/// The version of the protocol; both sides have to speak the same.
pub const VERSION: u16 = 1;

/// The longest frame by default, the length itself left out: 16 MiB.
pub const FRAME_MAX: u32 = 16 << 20;

/// The least that a frame's limit is, however short payloads are: [`Frame::Hello`] and a
/// [`Frame::Report`] have to fit, too.
pub const FRAME_MIN: u32 = 2 << 20;

/// What is added to a payload at most, so that a payload's limit can be told from a frame's.
pub const OVERHEAD_MAX: u32 = 1024;

/// The longest name of a handler, in bytes.
pub const NAME_MAX: usize = 255;

/// The most handlers of a worker.
pub const HANDLERS_MAX: usize = 4096;

/// One message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Frame {
    /// Master, first: the version and the worker's [`Setup`](super::setup::Setup), as JSON.
    Setup {
        /// The master's version.
        version: u16,
        /// The setup.
        json: Bytes,
    },
    /// Worker, first: it has loaded its application and serves.
    Hello(Hello),
    /// Worker, instead of [`Frame::Hello`]: it cannot serve, and ends.
    Refused {
        /// Why, for people.
        why: String,
    },
    /// Master: do this.
    Task(Task),
    /// Worker: that task ended.
    Done(Done),
    /// Worker, on a connection that it accepted: it has read the task, and begins it. One that was
    /// not read when the connection ends may be sent to another worker.
    Accepted {
        /// Its process.
        pid: u32,
    },
    /// Master: that task's outcome stands; stop it if it is under way.
    Cancel {
        /// The task.
        task: u64,
    },
    /// Master: give back what has not begun.
    Recall,
    /// Worker, after [`Frame::Recall`]: these tasks have not begun, and never will here.
    Returned {
        /// The tasks.
        tasks: Vec<u64>,
    },
    /// Master: report.
    Ask,
    /// Worker, after [`Frame::Ask`]: its [`WorkerReport`](super::setup::WorkerReport), as JSON.
    Report {
        /// The report.
        json: Bytes,
    },
    /// Master, on a connection, right after a [`Frame::Task`]: no other task comes over it, so close it once
    /// that one is answered.
    Last,
    /// Master: finish what you have, then exit. Worker: it was told to end (SIGTERM), wants no
    /// more and exits when what it has is done.
    Drain,
}

/// A worker introduces itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hello {
    /// The worker's version.
    pub version: u16,
    /// Its process.
    pub pid: u32,
    /// The handlers that it has, by name: of 1 to [`NAME_MAX`] bytes, [`HANDLERS_MAX`] at most.
    pub handlers: Vec<String>,
}

/// A task for a worker.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Task {
    /// Its number, which no other task of the master has.
    pub task: u64,
    /// When it has to have ended, on `CLOCK_MONOTONIC` in nanoseconds; 0: never.
    pub deadline: Nanos,
    /// The handler's name.
    pub handler: String,
    /// What the handler gets.
    pub payload: Bytes,
}

/// A task that ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Done {
    /// Its number.
    pub task: u64,
    /// How it went.
    pub timings: Timings,
    /// How it ended.
    pub ended: Ended,
}

/// When a task was where, in its worker. Times are of `CLOCK_MONOTONIC`, which all processes of a
/// machine share, in nanoseconds.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Timings {
    /// When the worker had read it.
    pub received: Nanos,
    /// When its handler began; 0 where it never did.
    pub started: Nanos,
    /// When it ended.
    pub finished: Nanos,
    /// The CPU time that its thread used for it.
    pub cpu: Duration,
    /// How long it waited for the worker's global lock.
    pub gvl_wait: Duration,
}

/// How a task ended in its worker.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Ended {
    /// With these bytes.
    Ok(Bytes),
    /// Its handler says that it failed, and how.
    Failed(String),
    /// Its handler panicked, or raised what nobody caught.
    Panicked(String),
    /// It was cancelled.
    Cancelled,
    /// Its deadline passed.
    TimedOut,
    /// Its result is longer than a frame may be.
    TooLarge {
        /// The result's bytes.
        size: u64,
    },
    /// The worker has no handler of that name.
    NoHandler,
}

/// Bytes that are no message. The connection is of no use any more.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum WireError {
    /// A frame is longer than both sides agreed on.
    TooLarge {
        /// What its length says.
        size: u32,
        /// The limit.
        limit: u32,
    },
    /// A frame of a kind that this version does not have.
    Unknown {
        /// The kind.
        kind: u8,
    },
    /// A frame that the other side does not send, or not then.
    Unexpected {
        /// What it is.
        frame: &'static str,
    },
    /// A frame whose parts do not fit into it, or leave some of it over.
    Malformed {
        /// The kind.
        kind: u8,
    },
}

impl fmt::Display for WireError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TooLarge { size, limit } => {
                write!(f, "a frame of {size} bytes, where {limit} are the limit")
            }
            Self::Unexpected { frame } => write!(f, "a frame {frame} out of place"),
            Self::Unknown { kind } => write!(f, "a frame of the unknown kind {kind}"),
            Self::Malformed { kind } => write!(f, "a malformed frame of kind {kind}"),
        }
    }
}

impl std::error::Error for WireError {}
