//! The simulator against what can be worked out by hand: queueing theory and the lock's closed forms.

mod alone;
mod backlog;
mod connections;
mod costs;
mod front;
mod interlock;
mod keep;
mod locks;
mod parts;
mod patience;
mod quota;
mod refused;
mod theory;
mod timelines;
mod trim;
mod warm_up;
mod ways;

use super::Conditions;
use crate::gvl::Gvl;
use crate::load::Load;
use crate::machine::Machine;
use crate::measure::Recording;
use crate::model::{Model, pool};
use crate::workload::Workload;
use std::time::Duration;

/// One run.
fn run(
    model: impl Into<Model>,
    workload: &Workload,
    load: &Load,
    machine: &Machine,
    seed: u64,
) -> Recording {
    let topology = model.into().topology();
    super::run(&topology, workload, load, on(machine), seed, &mut |_| {}).unwrap()
}

/// A machine alone: no warm-up, and nothing known of the load.
fn on(machine: &Machine) -> Conditions<'_> {
    Conditions { machine, offered: None, warm_up: None, timeline: None }
}

/// A pool of threads without a lock.
fn servers(threads: u32) -> Model {
    pool().threads(threads).gvl(Gvl::none()).into()
}

/// The mean latency of all requests, in milliseconds.
fn mean_ms(recording: &Recording) -> f64 {
    millis(recording.overall("all").latency.mean().unwrap())
}

fn millis(duration: Duration) -> f64 {
    duration.as_secs_f64() * 1e3
}
