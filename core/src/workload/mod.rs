//! What a request does: endpoints of steps, the durations they take, the pools they share.
//!
//! `experiment` reads a [`Workload`] from a document or takes a built one; the engines run its
//! [`Program`]s and never see a step. A workload read from a document has been checked; a built
//! one is checked by [`Workload::check`], which finds the same mistakes in the same words.

pub mod dist;
pub mod duration;
pub mod endpoint;
pub mod interlock;
pub mod ops;
pub mod pool;
pub mod step;
pub(crate) mod weight;
#[expect(clippy::module_inception, reason = "the room is named for its one document")]
mod workload;

#[cfg(test)]
mod tests;

pub use dist::{Dist, empirical, exp, lognormal};
pub use duration::{ms, ns, secs, us};
pub use endpoint::Endpoint;
pub use interlock::{Inside, Interlock};
pub use ops::{Action, Cursor, Demand, Op, PoolIndex, Program};
pub use pool::Pool;
pub use step::{Step, Steps, checkout, choose, cpu, fail, hold, io, native, repeat};
pub(crate) use workload::ONLY;
pub use workload::Workload;
