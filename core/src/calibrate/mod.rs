//! Measures this machine for the simulator: what waking and switching threads cost here.
//!
//! Each figure has a file; none is trusted alone, all are medians of many. Called by the command
//! `calibrate`; about two seconds.

mod slice;
mod switch;
mod wake;
mod worker;

use crate::cluster::cpus::Cpus;
use crate::error::Error;
use crate::machine::Machine;
use crate::workload::lognormal;
use rustix::thread::CpuSet;
use std::thread::{self, JoinHandle};
use std::time::Duration;

impl Machine {
    /// Measures this machine: its processors, how long a sleeping thread takes to run once it is woken
    /// (a log-normal of the median and the spread that were seen), what switching threads costs, how
    /// long a thread keeps a core that another one wants, and, in a program whose main function begins
    /// with [`init`](crate::init), what a worker of the real engine needs to take a request in and to
    /// answer it. Takes about two seconds.
    ///
    /// Other programs that compute meanwhile are measured with it: the figures are those of a machine
    /// that busy.
    ///
    /// # Errors
    /// The system gives no threads, or does not let them choose their core.
    ///
    /// ```no_run
    /// let machine = gvl_lab::machine::Machine::calibrate()?;
    /// println!("{}", machine.to_toml());
    /// # Ok::<(), gvl_lab::Error>(())
    /// ```
    pub fn calibrate() -> Result<Self, Error> {
        let failed = |error: std::io::Error| {
            Error::failed("calibrate", error, "a system that gives threads and cores")
        };
        let (median, sigma) = wake::latency().map_err(failed)?;
        let switch = switch::cost().map_err(failed)?;
        let slice = slice::length().map_err(failed)?;
        // A program that is no worker (`init`) has none to measure.
        let costs = worker::costs().ok();
        Ok(Self {
            cores: Some(Cpus::here().available),
            wake: Some(lognormal(median, sigma)),
            switch: Some(switch),
            slice,
            receive: costs.map(|(receive, _)| receive),
            answer: costs.map(|(_, answer)| answer),
            ..Self::default()
        })
    }
}

/// Begins a thread to measure with.
fn begin<T: Send + 'static>(
    measure: impl FnOnce() -> T + Send + 'static,
) -> std::io::Result<JoinHandle<T>> {
    thread::Builder::new().name("calibrate".to_owned()).spawn(measure)
}

/// Waits for a thread's end, and for what it measured.
fn end<T>(thread: JoinHandle<T>) -> std::io::Result<T> {
    thread.join().map_err(|_| std::io::Error::other("a thread panicked"))
}

/// Lets the calling thread run on one core alone: one of those that it may run on.
fn stay_on_one_core() -> std::io::Result<()> {
    let allowed = rustix::thread::sched_getaffinity(None)?;
    let first = (0..CpuSet::MAX_CPU).find(|cpu| allowed.is_set(*cpu)).unwrap_or(0);
    let mut one = CpuSet::new();
    one.set(first);
    Ok(rustix::thread::sched_setaffinity(None, &one)?)
}

/// The value in the middle.
fn median(values: &mut [Duration]) -> Duration {
    values.sort_unstable();
    values.get(values.len() / 2).copied().unwrap_or_default()
}
