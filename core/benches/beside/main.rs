//! The real engine beside the simulator: the same experiments on this machine and in virtual time, and how
//! far apart they are.
//!
//! `cargo bench -p gvl-lab --bench beside`; the README of `benches/` tells what each row means. An argument
//! that is part of a row's name runs those rows alone.

mod beside;
mod cases;
mod table;

use beside::Look;
use gvl_lab::machine::Machine;
use gvl_lab::{Engine, Error, Experiment};
use table::{Figures, Table};

/// How often both engines run each case, one after the other.
const ROUNDS: u64 = 5;

fn main() -> Result<(), Error> {
    gvl_lab::init(|_| Ok(()));
    let wanted = std::env::args().skip(1).find(|argument| !argument.starts_with('-'));
    let wanted = wanted.unwrap_or_default();
    let cases: Vec<_> =
        cases::all().into_iter().filter(|case| case.name.contains(&wanted)).collect();
    let mut table = Table::default();
    for round in 1..=ROUNDS {
        // The machine as it is now: on one that others share it is another one a minute later.
        let machine = Machine::calibrate()?;
        for case in &cases {
            let mut experiment = case.clone().seed(round);
            experiment.machine = Some(machine.clone());
            let (real, sim) =
                (figures(&experiment, Engine::Real)?, figures(&experiment, Engine::Sim)?);
            eprintln!("round {round}: {}: real {real}, sim {sim}", case.name);
            table.note(&case.name, real, sim);
        }
    }
    println!("{table}");
    Ok(())
}

/// What one run of the experiment's only model gives.
fn figures(experiment: &Experiment, engine: Engine) -> Result<Figures, Error> {
    let look = Look::now();
    let report = experiment.run(engine)?;
    let used = look.and_then(|look| look.used_since());
    let row = &report.rows[0];
    let beside = used.zip(row.cpu_share).map(|(used, ours)| (used - ours).max(0.0));
    let latency = &row.latency_ms;
    let figures = [row.throughput_rps, latency.p50, latency.p99];
    let figures = figures.map(|figure| figure.unwrap_or(f64::NAN));
    Ok(Figures { figures, beside: beside.unwrap_or(f64::NAN) })
}
