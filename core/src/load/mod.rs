//! How requests arrive: closed loops of users, open streams, and the driver that times them.
//!
//! `experiment` reads a [`Load`] from a document or takes a built one; the engines run it through
//! a [`Driver`], the real one with a real clock, the simulator with a virtual one. A load read
//! from a document has been checked; a built one is checked by [`Load::check`], which finds the
//! same mistakes in the same words.

mod closed;
mod driver;
#[expect(clippy::module_inception, reason = "the room is named for its one document")]
mod load;
mod open;
mod patience;
mod pattern;
mod pick;
mod until;
mod warm_up;

#[cfg(test)]
pub(crate) mod tests;

pub use driver::{Arrival, Driver};
pub use load::{Connections, Load, closed, open};
pub use patience::Patience;
pub(crate) use patience::stream_of;
pub use pattern::{Arrivals, Pattern};
pub use until::Until;
pub use warm_up::WarmUp;
