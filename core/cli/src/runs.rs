//! Runs experiments one after the other: all are read and checked before the first runs.

use crate::args::Options;
use crate::output::{self, Status};
use crate::progress::Bar;
use crate::traces::Traces;
use gvl_lab::machine::Machine;
use gvl_lab::{Error, Experiment, Report, RunOptions};
use std::path::PathBuf;
use std::process::ExitCode;

/// Runs the experiments of the files.
pub fn files(files: &[PathBuf], options: &Options) -> ExitCode {
    let read = files.iter().map(|file| (file.display().to_string(), Experiment::from_path(file)));
    all(read.collect(), options).into()
}

/// Runs experiments that come with the command.
pub fn builtin(experiments: &[(&str, &str)], options: &Options) -> ExitCode {
    let read =
        experiments.iter().map(|(name, text)| ((*name).to_owned(), Experiment::from_toml(text)));
    all(read.collect(), options).into()
}

fn all(read: Vec<(String, Result<Experiment, Error>)>, options: &Options) -> Status {
    let machine = match options.machine.as_ref().map(Machine::from_path).transpose() {
        Ok(machine) => machine,
        Err(error) => return output::explain("--machine", &error),
    };
    let mut experiments = Vec::new();
    let mut status = Status::Fine;
    for (source, read) in read {
        let fit = |e: &Experiment| e.check_for(options.engine());
        match read.map(|e| told(e, options, machine.as_ref())).and_then(|e| fit(&e).map(|()| e)) {
            Ok(experiment) => experiments.push((source, experiment)),
            Err(error) => status = output::explain(&source, &error),
        }
    }
    if status != Status::Fine {
        return status;
    }
    let traces = match Traces::create(&options.traces) {
        Ok(traces) => traces,
        Err(error) => return output::explain("--trace", &error),
    };
    let mut reports = Vec::new();
    for (source, experiment) in &experiments {
        match run(experiment, options) {
            Ok(report) => reports.push(report),
            Err(error) => {
                status = output::explain(source, &error);
                break;
            }
        }
    }
    let written = traces.write(&reports);
    let printed = output::print_reports(&reports, options.view());
    let printed = written.map_or_else(|error| output::explain("--trace", &error), |()| printed);
    let doubtful = |report: &Report| {
        report.is_impossible() || report.rows.iter().any(|row| !row.has_success())
    };
    match status {
        Status::Fine if reports.iter().any(doubtful) => Status::Failed,
        Status::Fine => printed,
        failed => failed,
    }
}

/// The experiment with what the command line says instead.
fn told(mut experiment: Experiment, options: &Options, machine: Option<&Machine>) -> Experiment {
    if let Some(machine) = machine {
        experiment.machine = Some(machine.clone());
    }
    let experiment = match options.seed {
        Some(seed) => experiment.seed(seed),
        None => experiment,
    };
    match options.repeat {
        Some(repeat) => experiment.repeat(repeat),
        None => experiment,
    }
}

fn run(experiment: &Experiment, options: &Options) -> Result<Report, Error> {
    let bar = Bar::new(&experiment.name);
    let told = RunOptions::new().snapshots(options.ps).timeline(!options.traces.is_empty());
    experiment.run_with(options.engine(), told.observe(&mut |progress| bar.show(progress)))
}
