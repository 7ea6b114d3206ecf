//! How a task can fail, and how a submission can be refused.

use std::any::Any;
use std::fmt;

/// Why a task has no value.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum TaskError {
    /// It panicked; the message is the panic's.
    Panicked(String),
    /// It was cancelled: by its handle, because the executor stopped, or because the last thread left
    /// and the system gave no other.
    Cancelled,
    /// Its deadline passed first.
    TimedOut,
    /// Its handler says that it failed, and how (worker processes).
    Failed(String),
    /// Its result is longer than the limit (worker processes).
    TooLarge {
        /// The result's bytes.
        size: u64,
        /// The most that there may be.
        limit: u64,
    },
    /// The worker process that had it is gone.
    WorkerLost {
        /// The process.
        pid: u32,
        /// How it ended.
        exit: Exit,
    },
    /// No worker process is left, and none can be started: why.
    NoWorkers(String),
}

/// How a process ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Exit {
    /// It exited with this status.
    Status(i32),
    /// It was ended by this signal.
    Signal(i32),
    /// It ended, and nobody knows how.
    Unknown,
}

impl fmt::Display for Exit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Status(status) => write!(f, "exit status {status}"),
            Self::Signal(signal) => write!(f, "signal {signal}"),
            Self::Unknown => f.write_str("an unknown cause"),
        }
    }
}

impl TaskError {
    /// A short name for counting, such as `panicked`.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Panicked(_) => "panicked",
            Self::Cancelled => "cancelled",
            Self::TimedOut => "timed out",
            Self::Failed(_) => "failed",
            Self::TooLarge { .. } => "too large",
            Self::WorkerLost { .. } => "worker lost",
            Self::NoWorkers(_) => "no workers",
        }
    }

    /// The error of a task that unwound with `payload`.
    pub(crate) fn of_panic(payload: &(dyn Any + Send)) -> Self {
        let message = payload
            .downcast_ref::<&str>()
            .map(|s| (*s).to_owned())
            .or_else(|| payload.downcast_ref::<String>().cloned())
            .unwrap_or_else(|| "a value that is no text".to_owned());
        Self::Panicked(message)
    }
}

impl fmt::Display for TaskError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Panicked(message) => write!(f, "the task panicked: {message}"),
            Self::Cancelled => f.write_str("the task was cancelled"),
            Self::TimedOut => f.write_str("the task's deadline passed"),
            Self::Failed(why) => write!(f, "the task failed: {why}"),
            Self::TooLarge { size, limit } => {
                write!(f, "the task's result has {size} bytes, where {limit} are the limit")
            }
            Self::WorkerLost { pid, exit } => write!(f, "worker {pid} was lost by {exit}"),
            Self::NoWorkers(why) => write!(f, "there are no workers: {why}"),
        }
    }
}

impl std::error::Error for TaskError {}

/// A submission that was refused; the task comes back unused.
pub struct Rejected<F> {
    /// Why it was refused.
    pub why: RejectedWhy,
    /// What was submitted.
    pub task: F,
}

/// Why a submission was refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum RejectedWhy {
    /// The queue is full, and the executor was told to reject.
    Full,
    /// The executor was shut down.
    ShutDown,
    /// The queue is full, and the submitter is one of the threads that would have to empty it.
    WouldDeadlock,
    /// There is no thread to run it, and the system gives none.
    NoThread,
    /// Its payload is longer than the limit (worker processes).
    TooLarge {
        /// The payload's bytes.
        size: u64,
        /// The most that there may be.
        limit: u64,
    },
    /// The workers have no handler of that name.
    NoHandler,
    /// No worker process is left, and none can be started.
    NoWorkers,
}

impl fmt::Display for RejectedWhy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Full => "the executor's queue is full",
            Self::ShutDown => "the executor was shut down",
            Self::WouldDeadlock => "the executor's queue is full, and its own thread would wait",
            Self::NoThread => "the system gives the executor no thread",
            Self::TooLarge { size, limit } => {
                return write!(f, "a payload of {size} bytes, where {limit} are the limit");
            }
            Self::NoHandler => "the workers have no handler of that name",
            Self::NoWorkers => "there are no workers, and none can be started",
        })
    }
}

impl<F> fmt::Debug for Rejected<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Rejected").field("why", &self.why).finish_non_exhaustive()
    }
}

impl<F> fmt::Display for Rejected<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.why.fmt(f)
    }
}

impl<F> std::error::Error for Rejected<F> {}
