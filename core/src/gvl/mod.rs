//! The global lock: which one ([`Gvl`], data), how it decides ([`policy`], pure), how it locks
//! ([`lock`], real threads).
//!
//! The executor and the simulator call in here. The README of this folder tells the protocol of
//! the real lock and why a wake-up cannot be lost.

pub mod account;
mod change;
mod event;
pub mod lock;
mod policies;
pub mod policy;
mod record;
pub(crate) mod table;

pub use account::{Phase, ThreadUsage, Usage};
pub use event::{Event, EventKind, Hook};
pub use policies::{NAMES, Record};
pub use record::{Charge, Fairness, ForcedSwitch, Gvl, Order, Release, Timer};
