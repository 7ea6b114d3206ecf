//! The experiment: models, a workload and a load, from a file or from builders.
//!
//! The front door: the command and the bindings make one here and give it to an engine. One read
//! from a document has been checked; a built one is checked by [`Experiment::check`], which finds
//! the same mistakes in the same words.

mod agree;
mod builder;
mod file;
mod read;
mod spec;

#[cfg(test)]
mod tests;

pub use spec::{Entry, Experiment};
