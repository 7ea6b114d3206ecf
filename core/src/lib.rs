//! placeholder
pub mod clock;
mod error;
mod random;
pub mod value;
pub use error::{Error, ErrorKind, Mistake};
/// Placeholder.
pub struct Experiment;
