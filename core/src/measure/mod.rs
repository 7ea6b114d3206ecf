//! What a run left behind, and what can be said of it: figures, ceilings, doubts.
//!
//! Engines fill a [`Recording`] for each replication; `report` turns them into rows. Nothing here
//! runs, waits or reads a clock.

mod ceiling;
pub mod checks;
mod client_use;
pub(crate) mod facts;
pub(crate) mod figure;
mod gvl_use;
mod histogram;
mod imbalance;
mod interval;
mod left_out;
mod loop_use;
mod offered;
mod recording;
#[cfg(test)]
pub(crate) mod samples;
mod served;
mod settling;
mod tables;
mod tally;
mod throttled;
mod worker;

pub use ceiling::{Ceiling, CeilingKind};
pub use checks::{Check, Warning};
pub use client_use::{BacklogUse, ClientUse};
pub(crate) use facts::share;
pub use facts::{Facts, Figures, Handout, Shape};
pub use gvl_use::{GvlUse, ThreadUse};
pub use histogram::Histogram;
pub use imbalance::{Imbalance, Took};
pub use interval::Interval;
pub(crate) use interval::nearest_rank;
pub(crate) use left_out::Begin;
pub use left_out::LeftOut;
pub use loop_use::LoopUse;
pub use offered::Offered;
pub use recording::{
    DatabaseUse, EndpointRecording, PoolRecording, QueueUse, Recording, Snapshots,
};
pub(crate) use served::{Ended, Served, Waits};
pub(crate) use settling::{Settled, Settling};
pub(crate) use tally::{Answered, Finished, Tally};
pub use throttled::Throttled;
pub use worker::WorkerRecording;
