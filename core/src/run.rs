//! From an experiment to its report: the one way through the rooms.
//!
//! `Experiment -> topology x programs x load -> engine -> recordings -> Report`. The front door
//! for the command, the bindings and embedders.

use crate::error::{Error, Mistake};
use crate::experiment::{Entry, Experiment};
use crate::load::{Connections, Load};
use crate::measure::Shape;
use crate::model::{Dispatch, Handlers, Serving, Topology};
use crate::real;
use crate::report::{Machine, Report, Row};

/// What runs an experiment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Engine {
    /// Real threads under a real lock, in this process, in real time.
    Real,
}

impl Engine {
    /// The engine's name, as the report tells it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Real => "real",
        }
    }
}

/// How far an experiment is.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Progress<'a> {
    /// The row that runs.
    pub model: &'a str,
    /// How much of the whole experiment is done, from 0 to 1; rows count alike.
    pub done: f64,
}

impl Experiment {
    /// Runs each model as often as `repeat` says and reports on them.
    ///
    /// Replication `n` (from nought) draws from the seed plus `n`.
    ///
    /// # Errors
    /// Mistakes in an experiment that was built rather than read, a model that the engine cannot
    /// run, or a run that failed.
    ///
    /// ```
    /// use gvl_lab::{Engine, Experiment, load::closed, model::puma, workload::{io, ms}};
    ///
    /// let report = Experiment::new(puma().threads(3))
    ///     .workload([io(ms(2))])
    ///     .load(closed(3).requests(60))
    ///     .run(Engine::Real)?;
    /// assert_eq!(report.rows[0].ok, 60);
    /// assert!(report.rows[0].throughput_rps.is_some_and(|rps| rps < 1500.0));
    /// # Ok::<(), gvl_lab::Error>(())
    /// ```
    pub fn run(&self, engine: Engine) -> Result<Report, Error> {
        self.run_observed(engine, &mut |_| {})
    }

    /// Checks that the engine can run this experiment, as [`Experiment::run`] does first.
    ///
    /// # Errors
    /// Mistakes in an experiment that was built rather than read, or a model that the engine
    /// cannot run.
    pub fn check_for(&self, engine: Engine) -> Result<(), Error> {
        self.check()?;
        match engine {
            Engine::Real => single_process(&self.models),
        }
    }

    /// Runs as [`Experiment::run`]; `observe` hears about ten times a second how far it is.
    ///
    /// # Errors
    /// As [`Experiment::run`].
    pub fn run_observed(
        &self,
        engine: Engine,
        observe: &mut dyn FnMut(&Progress<'_>),
    ) -> Result<Report, Error> {
        self.check_for(engine)?;
        let topologies: Vec<Topology> =
            self.models.iter().map(|entry| entry.model.topology()).collect();
        let machine = Machine::here();
        let runs = topologies.len() as f64 * f64::from(self.repeat);
        let mut rows = Vec::with_capacity(topologies.len());
        for (topology, entry) in topologies.iter().zip(&self.models) {
            let label = topology.label.as_str();
            let _span = tracing::info_span!("row", model = label).entered();
            let mut recordings = Vec::new();
            for n in 0..self.repeat {
                let before = rows.len() as f64 * f64::from(self.repeat) + f64::from(n);
                let mut news = |done: f64| {
                    observe(&Progress { model: label, done: (before + done) / runs });
                };
                let seed = self.seed.wrapping_add(u64::from(n));
                let recording = match engine {
                    Engine::Real => {
                        real::run(topology, &self.workload, &self.load, seed, &mut news)
                    }
                };
                recordings.push(recording?);
            }
            let shape = shape(topology, &self.load, machine.cores);
            rows.push(Row::of(label, &shape, &recordings, &entry.published));
        }
        Ok(Report {
            experiment: self.to_value(),
            engine: engine.name().to_owned(),
            seed: self.seed,
            machine,
            rows,
        })
    }
}

/// Refuses what needs worker processes: this engine's server is the process it runs in.
fn single_process(models: &[Entry]) -> Result<(), Error> {
    let mut mistakes = Vec::new();
    for (n, entry) in models.iter().enumerate() {
        let topology = entry.model.topology();
        if topology.dispatch == Dispatch::InProcess {
            continue;
        }
        let most = match topology.serving {
            Serving::Pool { .. } => 0,
            Serving::EventLoop { .. } => 1,
        };
        let allowed = if topology.workers > most { most.to_string() } else { "no master".into() };
        let field = format!("model[{n}].{}.workers", entry.model.key());
        let expected = format!("{allowed}, since the real engine runs a single process");
        mistakes.push(Mistake::new(field, topology.workers, expected));
    }
    if mistakes.is_empty() { Ok(()) } else { Err(Error::of_mistakes(mistakes)) }
}

fn shape(topology: &Topology, load: &Load, cores: u32) -> Shape {
    Shape {
        workers: topology.workers,
        threads: topology.threads,
        slots: topology.slots,
        processes: topology.processes,
        users: load.users().map(u64::from),
        think: load.think_mean(),
        keep_alive: load.connections == Connections::KeepAlive,
        handout: None,
        cores,
        gvl_name: topology.gvl.name().to_owned(),
        quantum: topology.gvl.quantum(),
        one_thread: matches!(
            topology.serving,
            Serving::EventLoop { handlers: Handlers::Async, .. }
        ),
        exclusive: topology.gvl.is_exclusive(),
    }
}
