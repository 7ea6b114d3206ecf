//! The same experiment many times: a grid of settings, run in parallel where time is virtual.
//!
//! An [`Axis`] says what is varied; [`Sweep`] makes the grid and checks all of it before anything
//! runs; a [`SweepReport`] has a row for each point and model, in the grid's order.

mod axis;
mod columns;
#[cfg(feature = "parquet")]
mod parquet;
mod report;

pub use axis::Axis;
pub use report::{PointReport, SweepReport};

use crate::error::{Error, Mistake};
use crate::value::Value;
use crate::{Engine, Experiment};
use rayon::prelude::*;
use std::sync::atomic::{AtomicUsize, Ordering};

/// The most points of a grid.
const POINTS_MAX: usize = 100_000;

/// A grid of experiments.
///
/// ```
/// use gvl_lab::sweep::{Axis, Sweep};
/// use gvl_lab::{Engine, Experiment, load::closed, model::puma, workload::{cpu, io, ms}};
///
/// let experiment = Experiment::new(puma()).workload([cpu(ms(2)), io(ms(20))]);
/// let experiment = experiment.load(closed(24).requests(500));
/// let axes = [Axis::parse("model.threads=1..3")?, Axis::parse("model.workers=1,2")?];
/// let report = Sweep::new(&experiment, axes)?.run(Engine::Sim, &|_| {});
/// assert_eq!(report.points.len(), 6);
/// print!("{}", report.table());
/// # Ok::<(), gvl_lab::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct Sweep {
    base: Experiment,
    axes: Vec<Axis>,
    points: Vec<Point>,
}

/// One point of the grid.
#[derive(Debug, Clone)]
struct Point {
    settings: Vec<Value>,
    experiment: Experiment,
}

impl Sweep {
    /// Makes the grid of all combinations, the last axis varying fastest.
    ///
    /// # Errors
    /// No axis, more than 100,000 points, or every mistake in the first point that has any.
    pub fn new(
        experiment: &Experiment,
        axes: impl IntoIterator<Item = Axis>,
    ) -> Result<Self, Error> {
        experiment.check()?;
        let axes: Vec<Axis> = axes.into_iter().collect();
        let size = axes.iter().try_fold(1_usize, |n, axis| n.checked_mul(axis.values().len()));
        let size = size.filter(|n| *n <= POINTS_MAX && !axes.is_empty());
        let Some(size) = size else {
            let given = format!("{} axes", axes.len());
            let expected = format!("at least one axis, and at most {POINTS_MAX} points");
            return Err(Error::invalid("set", given, expected));
        };
        let base = experiment.to_value();
        let points = (0..size).map(|n| Point::new(&base, &axes, n)).collect::<Result<_, _>>()?;
        Ok(Self { base: experiment.clone(), axes, points })
    }

    /// Gives the name of the experiment that is varied.
    pub fn name(&self) -> &str {
        &self.base.name
    }

    /// Gives the number of points.
    pub fn len(&self) -> usize {
        self.points.len()
    }

    /// Tells whether there is no point, which there never is.
    pub fn is_empty(&self) -> bool {
        self.points.is_empty()
    }

    /// Runs every point; `observe` hears how much is done, from 0 to 1, from any thread. Points of the
    /// simulator run side by side on all cores, those of the real engine one after the other. A point
    /// whose run fails has its error in the report, and the others go on.
    pub fn run(&self, engine: Engine, observe: &(dyn Fn(f64) + Sync)) -> SweepReport {
        let done = AtomicUsize::new(0);
        let run = |point: &Point| {
            let result = point.experiment.run(engine);
            // ORDERING: a count of its own.
            let n = done.fetch_add(1, Ordering::Relaxed) + 1;
            observe(n as f64 / self.points.len() as f64);
            PointReport::of(&self.axes, &point.settings, result)
        };
        let points = match engine {
            Engine::Sim => self.points.par_iter().map(run).collect(),
            Engine::Real => self.points.iter().map(run).collect(),
        };
        SweepReport {
            experiment: self.base.to_value(),
            engine: engine.name().to_owned(),
            seed: self.base.seed,
            machine: engine.machine(&self.base),
            axes: self.axes.iter().map(|axis| axis.path().to_owned()).collect(),
            points,
        }
    }
}

impl Point {
    /// The `n`th of the grid.
    fn new(base: &Value, axes: &[Axis], mut n: usize) -> Result<Self, Error> {
        let mut settings = Vec::with_capacity(axes.len());
        for axis in axes.iter().rev() {
            settings.push(axis.values()[n % axis.values().len()].clone());
            n /= axis.values().len();
        }
        settings.reverse();
        let mut document = base.clone();
        for (axis, value) in axes.iter().zip(&settings) {
            axis.set(&mut document, value)?;
        }
        let experiment = Experiment::from_value(&document).map_err(|error| {
            let set: Vec<_> =
                axes.iter().zip(&settings).map(|(a, v)| format!("{}={v}", a.path())).collect();
            let told = |m: &Mistake| {
                Mistake::new(format!("set {}: {}", set.join(", "), m.field), &m.given, &m.expected)
            };
            Error::of_mistakes(error.mistakes().iter().map(told).collect())
        })?;
        Ok(Self { settings, experiment })
    }
}
