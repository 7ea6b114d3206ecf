//! Server models: records that lower to a topology. Each model is one file.
//!
//! `experiment` reads and prints them; the engines see a [`Topology`] and never a model's name.
//! To add a model, write its file and add its record to `MODELS`.

mod listing;
#[expect(clippy::module_inception, reason = "the room is named for its one value")]
mod model;
mod pool;
mod puma;
mod topology;
mod uvicorn;
mod version;
mod webrick;

#[cfg(test)]
pub(crate) mod tests;

pub use listing::{Field, Listing, Record, listing};
pub use model::Model;
pub use pool::{Pool, pool};
pub use puma::{Puma, puma};
pub use topology::{Handlers, Serving, ThreadsLive, Topology};
pub use uvicorn::{Uvicorn, uvicorn};
pub use webrick::{Webrick, webrick};

use model::ModelKind;

/// The models; the key is the one that tells a model in a document.
const MODELS: &[Record] = &[puma::RECORD, uvicorn::RECORD, webrick::RECORD, pool::RECORD];

/// The most worker processes of a model.
const WORKERS_MAX: u32 = 1024;

/// The most threads of a worker.
const THREADS_MAX: u32 = 1024;
