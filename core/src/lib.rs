//! placeholder
pub mod clock;
mod error;
pub mod measure;
mod random;
pub mod report;
pub mod value;
pub use error::{Error, ErrorKind, Mistake};
/// Placeholder.
pub struct Experiment;
