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
//! Models with workers (`puma().workers(2)`) run in worker processes, and so do an embedder's own
//! tasks: a worker is this program again, which [`init`], the first line of its main function, turns
//! into one.
//!
//! ```no_run
//! use gvl_lab::cluster::Cluster;
//!
//! fn main() -> Result<(), Box<dyn std::error::Error>> {
//!     gvl_lab::init(|app| {
//!         app.typed("add", |_, (a, b): (i64, i64)| Ok(a + b));
//!         Ok(())
//!     });
//!     let cluster = Cluster::builder().workers(2).threads(1, 3).build()?;
//!     let sum: i64 = cluster.call("add", &(40, 2))?.wait()?;
//!     assert_eq!(sum, 42);
//!     Ok(())
//! }
//! ```
//!
//! The rooms, each using only those above it:
//!
//! | room | what it is |
//! |---|---|
//! | [`workload`] | steps, distributions, durations with units; steps lower to ops |
//! | [`gvl`] | the lock: data a version, a pure scheduler, the real lock |
//! | [`timeline`] | what each thread did, moment by moment; the order of grants |
//! | [`executor`] | the pool of threads and the event loop, for embedders too |
//! | [`cluster`] | worker processes: launched, given tasks, watched, replaced |
//! | [`model`] | servers as records that lower to a topology |
//! | [`load`] | closed and open loops as a state machine without a clock |
//! | [`measure`] | histograms, accounts, ceilings and checks |
//! | [`machine`] | the machine that is simulated; `calibrate` measures this one |
//! | `real` | the engine: ops x topology x load on real threads and processes |
//! | `sim` | the engine: the same in virtual time |
//! | [`experiment`] | the file and its builder |
//! | [`report`] | the document and its views |
//! | `run` | the way from an experiment to its report |
//! | [`sweep`] | a grid of experiments |
//! | [`reproduce`] | published figures beside simulated ones |
//!
//! Beside them: [`Error`], [`clock`], [`value`], named streams of chance, and the primitives that
//! the lock is built of.

mod calibrate;
pub mod clock;
pub mod cluster;
mod contain;
mod error;
pub mod executor;
pub mod experiment;
mod file;
pub mod gvl;
pub mod load;
pub mod machine;
pub mod measure;
pub mod model;
mod random;
mod real;
pub mod report;
pub mod reproduce;
mod run;
mod sim;
pub mod sweep;
mod sync;
pub mod timeline;
pub mod value;
pub mod workload;

pub use error::{Error, ErrorKind, Mistake};
pub use experiment::Experiment;
pub use random::Stream;
pub use report::Report;
pub use run::{Engine, Progress, RunOptions, init};

/// Has the README's programs compiled and run with the tests of the documentation.
#[cfg(doctest)]
#[doc = include_str!("../../README.md")]
struct Readme;
