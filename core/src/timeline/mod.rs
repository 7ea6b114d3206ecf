//! What each thread of a server did, moment by moment: who held the lock, who waited, who was blocked.
//!
//! Engines write a log, which has a bound; a [`Timeline`] is made of it when the run is over, the same for
//! both engines, so that [`compare`] can tell where they part. Views draw it. Always holds: the spans
//! of a track follow each other without a gap, at most one thread of a process holds an exclusive lock, and
//! at most one thread is on a core.

mod compare;
mod log;
mod role;
#[cfg(test)]
pub(crate) mod tests;
mod tracks;

pub use compare::{Orders, compare};
pub(crate) use log::{Log, TrackId};
pub use role::Role;
pub use tracks::{Grant, Ran, Request, Span, Timeline, Track};

/// The most events that the timeline of one row has: a change of phase, of core, or of the request that is
/// served is one. Worker processes share them, and each has 300,000 at most. Those that come later are counted in [`Timeline::dropped`], and the timeline ends there.
/// A million are 32 MB in memory and 80 MB as a trace.
pub const EVENTS_MAX: usize = 1_000_000;
