//! Worker processes: launched, given tasks by name, watched and replaced.
//!
//! The master's side is [`Cluster`]; a worker's side is [`init`], the first line of `main`. `wire`
//! is what they say to each other, `launch` how a worker comes to be, `snapshot` what the system
//! knows of them. `README.md` in this folder tells the states of a worker and of a task.
//! Invariant: each accepted task is queued, at one worker, or ended, and it ends once.

pub mod accept;
mod app;
mod backoff;
pub mod balance;
mod builder;
mod client;
#[expect(clippy::module_inception, reason = "the room is named for its one value")]
mod cluster;
pub mod cpus;
mod desk;
mod dispatch;
mod keeper;
mod launch;
mod life;
mod link;
mod options;
mod place;
pub mod setup;
mod shared;
mod slot;
pub mod snapshot;
mod stats;
pub mod wire;
mod worker;

pub use app::{Answer, App};
pub use builder::ClusterBuilder;
pub use cluster::{CallHandle, Cluster, Shutdown};
pub use dispatch::Dispatch;
pub use launch::Launcher;
pub use options::CallOptions;
pub use slot::Reply;
pub use snapshot::Snapshot;
pub use stats::{ClusterStats, Counts, WorkerStats};
pub use worker::init;
