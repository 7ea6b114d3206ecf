//! The command `gvl-lab`: reads arguments and files, runs experiments, prints reports.
//!
//! Enters the library by its front door. Exit status: 0; 1 when an experiment failed, had a row
//! without a successful request or a figure that is impossible; 2 for bad input.

mod args;
mod compare;
mod output;
mod progress;
mod reproduce;
mod runs;
mod sweeps;
mod traces;

use args::{Args, Command};
use std::io::IsTerminal;
use std::process::ExitCode;
use tracing_subscriber::EnvFilter;

/// Where `GVL_LAB_LOG` asks for it (such as `gvl_lab=trace`), tells what the library does on
/// standard error.
fn trace() {
    if let Ok(filter) = EnvFilter::try_from_env("GVL_LAB_LOG") {
        tracing_subscriber::fmt()
            .with_env_filter(filter)
            .with_writer(std::io::stderr)
            .with_ansi(std::io::stderr().is_terminal())
            .init();
    }
}

fn main() -> ExitCode {
    gvl_lab::init(|_| Ok(()));
    let args = Args::of_program();
    trace();
    match args.command {
        Command::Run { files, options } => runs::files(&files, &options),
        Command::Compare { options } => runs::builtin(compare::EXPERIMENTS, &options),
        Command::Sweep { file, axes, options } => sweeps::file(&file, &axes, &options),
        Command::Reproduce { options } => reproduce::all(&options),
        Command::Calibrate => match gvl_lab::machine::Machine::calibrate() {
            Ok(machine) => output::print(&machine.to_toml()).into(),
            Err(error) => output::explain("calibrate", &error).into(),
        },
        Command::Models => output::print(&gvl_lab::model::listing().to_string()).into(),
    }
}
