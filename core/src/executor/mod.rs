//! Runs tasks under a global lock: a pool of threads ([`Executor`]), or one thread that polls
//! futures ([`EventLoop`]) with a pool beside it for calls that block.
//!
//! Used by embedders and by the `real` engine. A task ends in exactly one outcome, which its
//! [`JoinHandle`] gives.

mod context;
mod deadline;
mod error;
mod event_loop;
mod join;
mod lag;
mod options;
mod polled;
mod pool;
mod queue;
mod stats;
mod task;
#[cfg(test)]
mod tests;
mod worker;

pub use context::{Context, Stop};
pub use error::{Rejected, RejectedWhy, TaskError};
pub use event_loop::{EventLoop, EventLoopBuilder};
pub use join::JoinHandle;
pub use lag::{LongPoll, LoopStats};
pub use options::{TaskOptions, Threads, WhenFull};
pub use pool::{Executor, ExecutorBuilder, Shutdown};
pub use stats::Stats;
