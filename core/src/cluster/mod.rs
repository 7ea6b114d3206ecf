//! Worker processes: launched, given tasks by name, watched and replaced.
//!
//! The master's side is [`Cluster`]; a worker's side is [`init`], the first line of `main`. `wire`
//! is what they say to each other, `launch` how a worker comes to be, `snapshot` what the system
//! knows of them. `README.md` in this folder tells the states of a worker and of a task.
//! Invariant: each accepted task is queued, at one worker, or ended, and it ends once.

pub mod accept;
mod app;
pub mod cpus;
mod launch;
pub mod setup;
pub mod snapshot;
pub mod wire;
mod worker;

pub use app::App;
pub use launch::Launcher;
pub use snapshot::Snapshot;
pub use worker::init;
