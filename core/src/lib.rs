//! Describe a concurrency experiment once, run it, and get a report that cannot fool you.
//!
//! An experiment is a server model, a workload and a load. This crate holds the executor that runs
//! it (a pool of threads, or an event loop, under a modelled global lock such as CRuby's GVL or
//! CPython's GIL), and the checks that say what a figure is worth.
//!
//! ```
//! use gvl_lab::{Engine, Experiment, load::closed, model::puma, workload::{cpu, io, ms}};
//!
//! let report = Experiment::new(puma().threads(3))
//!     .workload([cpu(ms(1)), io(ms(4))])
//!     .load(closed(6).requests(60))
//!     .run(Engine::Real)?;
//! let row = &report.rows[0];
//! println!("{:?} requests/s, p99 {:?} ms", row.throughput_rps, row.latency_ms.p99);
//! assert_eq!((row.ok, row.slots), (60, Some(3)));
//! # Ok::<(), gvl_lab::Error>(())
//! ```
//!
//! The rooms, each using only those above it:
//!
//! | room | what it is |
//! |---|---|
//! | [`workload`] | steps, distributions, durations with units; steps lower to ops |
//! | [`gvl`] | the lock: data a version, a pure scheduler, the real lock |
//! | [`executor`] | the pool of threads and the event loop, for embedders too |
//! | [`cluster`] | worker processes: launched, given tasks, watched, replaced |
//! | [`model`] | servers as records that lower to a topology |
//! | [`load`] | closed and open loops as a state machine without a clock |
//! | [`measure`] | histograms, accounts, ceilings and checks |
//! | `real` | the engine: ops x topology x load on real threads and processes |
//! | [`experiment`] | the file and its builder |
//! | [`report`] | the document and its views |
//! | `run` | the way from an experiment to its report |
//!
//! Beside them: [`Error`], [`clock`], [`value`], named streams of chance, and the primitives that
//! the lock is built of.

pub mod clock;
pub mod cluster;
mod contain;
mod error;
pub mod executor;
pub mod experiment;
pub mod gvl;
pub mod load;
pub mod measure;
pub mod model;
mod random;
mod real;
pub mod report;
mod run;
mod sync;
pub mod value;
pub mod workload;

pub use error::{Error, ErrorKind, Mistake};
pub use experiment::Experiment;
pub use random::Stream;
pub use report::Report;
pub use run::{Engine, Progress, RunOptions, init};
