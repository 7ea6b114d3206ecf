//! Runs a sweep: the whole grid is checked before the first point runs.

mod parquet;

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
        Err((file, error)) => output::explain(&file.display().to_string(), &error),
    };
    status.into()
}

/// Runs the sweep; where something is wrong, tells of which file.
fn run<'f>(
    file: &'f Path,
    axes: &[String],
    options: &'f SweepOptions,
) -> Result<SweepReport, (&'f Path, Error)> {
    let sweep = read(file, axes, options).map_err(|error| (file, error))?;
    // A file that cannot be written is told before the sweep, not after it.
    let parquet = parquet::Sink::open(options.parquet.as_deref())?;
    let bar = Bar::new(sweep.name());
    let report = sweep.run(options.engine.engine(), &|done| bar.advance(done));
    drop(bar);
    parquet.write(&report)?;
    Ok(report)
}

fn read(file: &Path, axes: &[String], options: &SweepOptions) -> Result<Sweep, Error> {
    let mut experiment = Experiment::from_path(file)?;
    if let Some(file) = &options.machine {
        experiment.machine = Some(Machine::from_path(file)?);
    }
    let axes = axes.iter().map(|axis| Axis::parse(axis)).collect::<Result<Vec<_>, _>>()?;
    Sweep::new(&experiment, axes)
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
