//! placeholder
pub mod clock;
mod error;
pub mod experiment;
pub mod gvl;
pub mod load;
pub mod measure;
pub mod model;
mod random;
pub mod report;
mod sync;
pub mod value;
pub mod workload;
pub use error::{Error, ErrorKind, Mistake};
pub use experiment::Experiment;
