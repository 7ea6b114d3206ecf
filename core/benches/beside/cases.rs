//! What is run: waiting, computing and both, under each kind of lock, in one process and in two.

use gvl_lab::Experiment;
use gvl_lab::gvl::Gvl;
use gvl_lab::load::{Load, closed, open};
use gvl_lab::model::{Model, pool, puma};
use gvl_lab::workload::{Endpoint, Step, Workload, cpu, exp, io, ms};

/// How long a run is: long enough for some hundred requests.
const LENGTH_MS: u64 = 3000;

/// Every case: its name, one model, a load.
pub fn all() -> Vec<Experiment> {
    let closed = |users| closed(users).duration(ms(LENGTH_MS));
    let open = |rate| open(rate).duration(ms(LENGTH_MS));
    let of_lock =
        |name: &str| pool().threads(4).gvl(Gvl::named(name).expect("the lock has a record"));
    vec![
        case("io, puma 1x3, closed", puma().workers(1).threads(3), waiting(), closed(8)),
        case("io, puma 2x3, closed", puma().workers(2).threads(3), waiting(), closed(12)),
        case("io, puma 2x3, open", puma().workers(2).threads(3), waiting(), open(150.0)),
        case("cpu, puma 1x3, closed", puma().workers(1).threads(3), computing(), closed(6)),
        case("cpu, puma 2x3, closed", puma().workers(2).threads(3), computing(), closed(8)),
        case("cpu, puma 1x3, open", puma().workers(1).threads(3), computing(), open(100.0)),
        mixed("mixed, cruby-3.1", of_lock("cruby-3.1")),
        mixed("mixed, cruby-3.3", of_lock("cruby-3.3")),
        mixed("mixed, cruby-4.0", of_lock("cruby-4.0")),
        mixed("mixed, cpython-3.13", of_lock("cpython-3.13")),
        mixed("mixed, none", of_lock("none")),
        mixed("mixed, puma 2x3", puma().workers(2).threads(3)),
    ]
}

fn case(name: &str, model: impl Into<Model>, steps: Vec<Step>, load: Load) -> Experiment {
    Experiment::new(model).name(name).workload(steps).load(load)
}

/// 1 ms of the lock and about 20 ms of waiting.
fn waiting() -> Vec<Step> {
    vec![cpu(ms(1)), io(exp(ms(20)))]
}

fn computing() -> Vec<Step> {
    vec![cpu(ms(5))]
}

/// One user who computes 30 ms at a time, beside three who wait.
fn mixed(name: &str, model: impl Into<Model>) -> Experiment {
    let workload = Workload::new()
        .endpoint(Endpoint::new("io", waiting()).users(3))
        .endpoint(Endpoint::new("cpu", [cpu(ms(30))]).users(1));
    let load = closed(4).duration(ms(LENGTH_MS));
    Experiment::new(model).name(name).workload(workload).load(load)
}
