//! Server models: records that lower to a topology. Each model is one file.
//!
//! `experiment` reads and prints them; the engines see a [`Topology`] and never a model's name.
//! To add a model, write its file and add its record to `MODELS`.

mod apache;
mod custom;
mod gunicorn;
mod listing;
#[expect(clippy::module_inception, reason = "the room is named for its one value")]
mod model;
mod nginx;
mod pitchfork;
mod pool;
mod puma;
mod slices;
mod socket;
mod topology;
mod unicorn;
mod uvicorn;
mod version;
mod webrick;
mod workers;

#[cfg(test)]
pub(crate) mod tests;

pub use apache::{Apache, Mpm, apache};
pub use custom::{Custom, custom};
pub use gunicorn::{Gunicorn, WorkerClass, gunicorn};
pub use listing::{Field, Listing, Record, listing};
pub use model::Model;
pub use nginx::{Nginx, nginx};
pub use pitchfork::{Pitchfork, pitchfork};
pub use pool::{Pool, pool};
pub use puma::{Puma, puma};
pub use socket::Socket;
pub use topology::{Dispatch, Handlers, Serving, ThreadsLive, Topology};
pub use unicorn::{Unicorn, unicorn};
pub use uvicorn::{Uvicorn, uvicorn};
pub use webrick::{Webrick, webrick};
pub use workers::Workers;

use model::ModelKind;

/// The models; the key is the one that tells a model in a document.
const MODELS: &[Record] = &[
    puma::RECORD,
    unicorn::RECORD,
    pitchfork::RECORD,
    webrick::RECORD,
    uvicorn::RECORD,
    gunicorn::RECORD,
    apache::RECORD,
    nginx::RECORD,
    pool::RECORD,
    custom::RECORD,
];

/// The most worker processes of a model.
const WORKERS_MAX: u32 = 1024;

/// The most threads of a worker.
const THREADS_MAX: u32 = 1024;
