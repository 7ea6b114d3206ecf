//! The simulator through its front door.

use gvl_lab::gvl::Gvl;
use gvl_lab::load::open;
use gvl_lab::machine::Machine;
use gvl_lab::model::pool;
use gvl_lab::workload::{exp, io, ms};
use gvl_lab::{Engine, Experiment};
use std::time::Instant;

/// Customers a second of M/M/3, of which `count` are served.
pub fn customers(count: u64) -> f64 {
    let mut experiment = Experiment::new(pool().threads(3).gvl(Gvl::none()))
        .workload([io(exp(ms(1)))])
        .load(open(2400.0).requests(count));
    experiment.machine = Some(Machine::ideal(1));
    let start = Instant::now();
    let report = experiment.run(Engine::Sim).expect("the experiment runs");
    assert_eq!(report.rows[0].ok, count);
    count as f64 / start.elapsed().as_secs_f64()
}
