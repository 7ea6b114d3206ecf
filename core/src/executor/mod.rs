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
mod loop_builder;
mod options;
mod polled;
mod pool;
mod pool_builder;
mod queue;
mod stats;
mod task;
#[cfg(test)]
#[cfg(not(model_check))]
mod tests;
mod under;
mod worker;

pub(crate) use context::released;
pub use context::{Context, Stop};
pub use error::{Exit, Rejected, RejectedWhy, TaskError};
pub use event_loop::EventLoop;
pub use join::JoinHandle;
pub use lag::{LongPoll, LoopStats};
pub use loop_builder::EventLoopBuilder;
pub use options::{TaskOptions, Threads, WhenFull};
pub use pool::{Executor, Shutdown};
pub use pool_builder::ExecutorBuilder;
pub use stats::Stats;
pub(crate) use task::Outcome;
