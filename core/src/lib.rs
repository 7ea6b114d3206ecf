//! placeholder
pub mod clock;
mod error;
pub mod executor;
pub mod gvl;
pub mod measure;
mod random;
pub mod report;
mod sync;
pub mod value;
pub mod workload;
pub use error::{Error, ErrorKind, Mistake};
/// Placeholder.
pub struct Experiment;
