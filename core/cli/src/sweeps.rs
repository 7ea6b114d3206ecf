//! Runs a sweep: the whole grid is checked before the first point runs.

use crate::args::SweepOptions;
use crate::output::{self, Status};
use crate::progress::Bar;
use gvl_lab::machine::Machine;
use gvl_lab::sweep::{Axis, Sweep, SweepReport};
use gvl_lab::{Error, Experiment};
use std::path::Path;
use std::process::ExitCode;

/// Varies the experiment of a file.
pub fn file(file: &Path, axes: &[String], options: &SweepOptions) -> ExitCode {
    let status = match run(file, axes, options) {
        Ok(report) => print(&report, options),
        Err(error) => output::explain(&file.display().to_string(), &error),
    };
    status.into()
}

fn run(file: &Path, axes: &[String], options: &SweepOptions) -> Result<SweepReport, Error> {
    let mut experiment = Experiment::from_path(file)?;
    if let Some(file) = &options.machine {
        experiment.machine = Some(Machine::from_path(file)?);
    }
    let axes = axes.iter().map(|axis| Axis::parse(axis)).collect::<Result<Vec<_>, _>>()?;
    let sweep = Sweep::new(&experiment, axes)?;
    let bar = Bar::new(&experiment.name);
    Ok(sweep.run(options.engine.engine(), &|done| bar.advance(done)))
}

fn print(report: &SweepReport, options: &SweepOptions) -> Status {
    let text = match (options.json, options.csv) {
        (true, _) => report.json(),
        (_, true) => report.csv(),
        _ => report.table(),
    };
    match output::print(&text) {
        Status::Fine if report.is_impossible() || !report.has_success() => Status::Failed,
        printed => printed,
    }
}
