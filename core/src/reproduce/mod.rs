//! Published figures beside simulated ones: what a single run of a real server gave, and what one run
//! may give in virtual time.
//!
//! The command `reproduce` calls it with the experiment files of `examples/reproduce`. Each is run
//! many times, each time from another seed; a figure is computed as the tool computed it that was
//! used (Locust, siege), run by run, so that its spread is that of single runs.

mod cause;
mod figure;
mod view;

pub use figure::{Figure, Verdict};

use crate::error::Error;
use crate::report::Row;
use crate::{Engine, Experiment};
use rayon::prelude::*;
use serde::Serialize;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Holds the published figures of an experiment beside the simulated ones.
#[derive(Debug, Clone, Serialize)]
pub struct Reproduction {
    /// The experiment's name.
    pub experiment: String,
    /// How many runs stand behind each figure.
    pub runs: u32,
    /// One for each model.
    pub rows: Vec<ReproducedRow>,
}

/// Holds the figures of one published row.
#[derive(Debug, Clone, Serialize)]
pub struct ReproducedRow {
    /// The model's label.
    pub model: String,
    /// Worker processes, and threads of each.
    pub workers: u32,
    /// Threads of each.
    pub threads: u32,
    /// The published figures by key, each with what was simulated.
    pub figures: Vec<Figure>,
    /// The mean over the runs of the most requests that a worker took / the mean of all workers, where
    /// there are several: 1 is even.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub imbalance: Option<f64>,
    /// The kinds of warnings that the first run gave.
    pub warnings: Vec<&'static str>,
    /// Why the figures are what they are, where that is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cause: Option<String>,
}

impl Reproduction {
    /// Simulates the experiment `runs` times, 1 to 1000, on all cores, from its seed on; `observe`
    /// hears how much is done, from 0 to 1, from any thread.
    ///
    /// # Errors
    /// Mistakes in an experiment that was built rather than read, or a run that failed.
    ///
    /// ```
    /// use gvl_lab::{Experiment, load::closed, model::puma, reproduce::Reproduction, workload::{io, ms}};
    ///
    /// let experiment = Experiment::new(puma().threads(3)).published("throughput_rps", 28.2);
    /// let experiment = experiment.workload([io(ms(106))]).load(closed(12).requests(24));
    /// let reproduced = Reproduction::run(&experiment, 20, &|_| {})?;
    /// let figure = &reproduced.rows[0].figures[0];
    /// assert!(figure.error_pct.is_some_and(|error| error.abs() < 1.0));
    /// print!("{}", Reproduction::table(&[reproduced]));
    /// # Ok::<(), gvl_lab::Error>(())
    /// ```
    pub fn run(
        experiment: &Experiment,
        runs: u32,
        observe: &(dyn Fn(f64) + Sync),
    ) -> Result<Self, Error> {
        experiment.check_for(Engine::Sim)?;
        let runs = runs.max(1);
        let done = AtomicUsize::new(0);
        let once = |n: u32| {
            let seed = experiment.seed.wrapping_add(n.into());
            let mut experiment = experiment.clone().seed(seed);
            experiment.repeat = 1;
            let report = experiment.run(Engine::Sim)?;
            // ORDERING: a count of its own.
            let n = done.fetch_add(1, Ordering::Relaxed) + 1;
            observe(n as f64 / f64::from(runs));
            Ok(report.rows)
        };
        let runs_of: Vec<Vec<Row>> =
            (0..runs).into_par_iter().map(once).collect::<Result<_, Error>>()?;
        let rows = (0..experiment.models.len()).map(|n| {
            let rows: Vec<&Row> = runs_of.iter().map(|rows| &rows[n]).collect();
            ReproducedRow::of(experiment, &rows)
        });
        Ok(Self { experiment: experiment.name.clone(), runs, rows: rows.collect() })
    }
}

impl ReproducedRow {
    /// `runs` has the row of each run.
    fn of(experiment: &Experiment, runs: &[&Row]) -> Self {
        let first = runs[0];
        let imbalances: Vec<f64> = runs.iter().filter_map(|row| row.imbalance).collect();
        let mean = |values: &[f64]| values.iter().sum::<f64>() / values.len() as f64;
        let mut row = Self {
            model: first.model.clone(),
            workers: first.workers,
            threads: first.threads,
            figures: Figure::all(runs),
            imbalance: (!imbalances.is_empty()).then(|| mean(&imbalances)),
            warnings: first.warnings.iter().map(|warning| warning.kind).collect(),
            cause: None,
        };
        row.cause = cause::of(&row, experiment, runs);
        row
    }

    /// Names the row: its label, workers and threads, such as `puma 4x3`.
    pub fn title(&self) -> String {
        format!("{} {}x{}", self.model, self.workers, self.threads)
    }

    /// Gives the figure of a key, such as `throughput_rps`.
    pub fn figure(&self, key: &str) -> Option<&Figure> {
        self.figures.iter().find(|figure| figure.key == key)
    }
}

#[cfg(test)]
mod tests;
