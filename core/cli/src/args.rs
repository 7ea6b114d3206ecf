//! The arguments, as clap reads them.

use clap::error::ErrorKind;
use clap::{ArgGroup, CommandFactory, Parser, Subcommand, ValueEnum};
use gvl_lab::Engine;
use std::path::PathBuf;

const STATUS: &str = "\
Exit status: 0; 1 when an experiment failed, had a row without a successful request or a figure that is
impossible; 2 for bad input.";

/// Finds out how many workers and threads a server needs, and what p99 it will have.
#[derive(Debug, Parser)]
#[command(name = "gvl-lab", version, arg_required_else_help = true, after_help = STATUS)]
pub struct Args {
    #[command(subcommand)]
    pub command: Command,
}

#[derive(Debug, Subcommand)]
pub enum Command {
    /// Run experiment files (TOML or JSON).
    Run {
        /// The experiment files.
        #[arg(required = true, value_name = "FILE")]
        files: Vec<PathBuf>,
        #[command(flatten)]
        options: Options,
    },
    /// Compare Puma's threads and workers with others and with event loops, on I/O and on CPU work.
    Compare {
        #[command(flatten)]
        options: Options,
    },
    /// Vary an experiment file over a grid of settings, in virtual time and on all cores.
    Sweep {
        /// The experiment file.
        #[arg(value_name = "FILE")]
        file: PathBuf,
        /// What to vary: model.threads=1..16, model.workers=1,2,4, load.open.rate=100..900:100, ...
        ///
        /// A path in the experiment and its values. Several make a grid, the last varying fastest.
        #[arg(long = "set", required = true, value_name = "PATH=VALUES")]
        axes: Vec<String>,
        #[command(flatten)]
        options: SweepOptions,
    },
    /// Simulate published measurements, calibrated by one request alone, and show both side by side.
    Reproduce {
        #[command(flatten)]
        options: ReproduceOptions,
    },
    /// Measure this machine for the simulator, and print a machine file; takes about a second.
    Calibrate,
    /// List the server models and the locks, with their keys and defaults.
    Models,
}

#[derive(Debug, clap::Args)]
#[command(group = ArgGroup::new("format").multiple(false))]
pub struct Options {
    /// What runs the experiment.
    #[arg(long, value_enum, default_value_t = EngineName::Real)]
    pub engine: EngineName,
    /// Simulate the machine of this file instead of the experiment's.
    #[arg(long, value_name = "FILE")]
    pub machine: Option<PathBuf>,
    /// Draw from this seed instead of the file's, 0 to 2^63 - 1.
    #[arg(
        long,
        allow_negative_numbers = true,
        value_parser = clap::value_parser!(u64).range(0..=i64::MAX as u64)
    )]
    pub seed: Option<u64>,
    /// Run each row so many times, 1 to 1000, instead of as often as the file says.
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub repeat: Option<u32>,
    /// Show the processes of each row before the load and under it: threads, CPU time, memory.
    ///
    /// In a table or in JSON.
    #[arg(long)]
    pub ps: bool,
    /// Write what each thread did to this file, for ui.perfetto.dev; or, where it ends in .csv, each time
    /// that a thread got the lock.
    ///
    /// Of the first run of each row. May be given several times.
    #[arg(long = "trace", value_name = "FILE")]
    pub traces: Vec<PathBuf>,
    /// Print JSON: one document, or a list of them where there are several experiments.
    #[arg(long, group = "format")]
    pub json: bool,
    /// Print CSV: a record for each row and endpoint.
    #[arg(long, group = "format")]
    pub csv: bool,
    /// Print a summary as another tool would.
    #[arg(long, group = "format", value_enum)]
    pub view: Option<View>,
}

#[derive(Debug, clap::Args)]
#[command(group = ArgGroup::new("sweep format").multiple(false))]
pub struct SweepOptions {
    /// What runs the experiments.
    #[arg(long, value_enum, default_value_t = EngineName::Sim)]
    pub engine: EngineName,
    /// Simulate the machine of this file instead of the experiment's.
    #[arg(long, value_name = "FILE")]
    pub machine: Option<PathBuf>,
    /// Print JSON: one document with all reports.
    #[arg(long, group = "sweep format")]
    pub json: bool,
    /// Print CSV: a record for each point and model.
    #[arg(long, group = "sweep format")]
    pub csv: bool,
    /// Write a Parquet file beside what is printed: a row for each point and model.
    #[arg(long, value_name = "FILE")]
    pub parquet: Option<PathBuf>,
}

#[derive(Debug, clap::Args)]
pub struct ReproduceOptions {
    /// Simulate each row so many times, 2 to 1000, each time from another seed.
    #[arg(long, default_value_t = 200, value_parser = clap::value_parser!(u32).range(2..=1000))]
    pub runs: u32,
    /// Draw from this seed on instead of 1, 0 to 2^63 - 1.
    #[arg(
        long,
        allow_negative_numbers = true,
        value_parser = clap::value_parser!(u64).range(0..=i64::MAX as u64)
    )]
    pub seed: Option<u64>,
    /// Print JSON: one document.
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
pub enum EngineName {
    /// Real threads and processes on this machine.
    Real,
    /// Virtual time on a simulated machine.
    Sim,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
pub enum View {
    /// A comparison table with the warnings below it.
    Table,
    /// A summary in the manner of Locust.
    Locust,
    /// A summary in the manner of siege.
    Siege,
    /// JSON.
    Json,
    /// CSV.
    Csv,
}

impl Args {
    /// The program's arguments; where they are wrong, tells so and ends with status 2.
    pub fn of_program() -> Self {
        let args = Self::parse();
        if let Err(message) = args.check() {
            Self::command().error(ErrorKind::ArgumentConflict, message).exit();
        }
        args
    }

    /// What clap's own rules cannot say.
    fn check(&self) -> Result<(), String> {
        match &self.command {
            Command::Run { options, .. } | Command::Compare { options }
                if options.ps && !["table", "json"].contains(&options.view()) =>
            {
                let view = options.view();
                Err(format!("'--ps' cannot be shown as {view}, expected a table or JSON"))
            }
            Command::Run { options, .. } | Command::Compare { options }
                if options.machine.is_some() && options.engine() != Engine::Sim =>
            {
                Err("'--machine' can only be used with '--engine sim'".to_owned())
            }
            Command::Run { options, .. } | Command::Compare { options }
                if options.ps && options.engine() == Engine::Sim =>
            {
                Err("'--ps' cannot be used with '--engine sim', whose processes are not real"
                    .to_owned())
            }
            Command::Sweep { options, .. }
                if options.parquet.is_some() && cfg!(not(feature = "parquet")) =>
            {
                Err("'--parquet' cannot be used: this gvl-lab was built without it, build it with \
                     '--features parquet'"
                    .to_owned())
            }
            _ => Ok(()),
        }
    }
}

impl Options {
    /// The name of the view to print.
    pub fn view(&self) -> &'static str {
        match self.view {
            _ if self.json => "json",
            _ if self.csv => "csv",
            Some(View::Locust) => "locust",
            Some(View::Siege) => "siege",
            Some(View::Json) => "json",
            Some(View::Csv) => "csv",
            Some(View::Table) | None => "table",
        }
    }

    pub fn engine(&self) -> Engine {
        self.engine.engine()
    }
}

impl EngineName {
    pub fn engine(self) -> Engine {
        match self {
            Self::Real => Engine::Real,
            Self::Sim => Engine::Sim,
        }
    }
}
