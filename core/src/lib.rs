//! placeholder
pub mod clock;
mod error;
mod random;
pub mod value;
pub mod workload;
pub use error::{Error, ErrorKind, Mistake};
/// Placeholder.
pub struct Experiment;
