//! The command `gvl-lab`: reads arguments and files, runs experiments, prints reports.
//!
//! Enters the library by its front door. Exit status: 0; 1 when an experiment failed, had a row
//! without a successful request or a figure that is impossible; 2 for bad input.

mod args;
mod compare;
mod output;
mod progress;
mod runs;

use args::{Args, Command};
use clap::Parser;
use std::process::ExitCode;

fn main() -> ExitCode {
    let args = Args::parse();
    match args.command {
        Command::Run { files, options } => runs::files(&files, &options),
        Command::Compare { options } => runs::builtin(compare::EXPERIMENTS, &options),
        Command::Models => output::print(&gvl_lab::model::listing().to_string()).into(),
    }
}
