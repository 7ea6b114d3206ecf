//! From an experiment to its report: the one way through the rooms.
//!
//! `Experiment -> topology x programs x load -> engine -> recordings -> Report`. The front door
//! for the command, the bindings and embedders.

use crate::cluster::{self, App};
use crate::error::Error;
use crate::experiment::{Entry, Experiment};
use crate::load::{Connections, Load, WarmUp};
use crate::machine as simulated;
use crate::measure::{Begin, Handout, Offered, Shape};
use crate::model::{Dispatch, Handlers, Model, Serving, Topology};
use crate::real;
use crate::report::{Machine, Report, Row};
use crate::sim;
use crate::timeline;
use crate::workload::Workload;

/// What runs an experiment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Engine {
    /// Real threads under a real lock, in real time: in this process, and in worker processes where
    /// the model has them, which needs [`init`].
    Real,
    /// Virtual time on a simulated machine, whatever this one is: the same spec and seed give the same
    /// report everywhere, to the byte.
    Sim,
}

impl Engine {
    /// The engine's name, as the report tells it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Real => "real",
            Self::Sim => "sim",
        }
    }

    /// The machine that an experiment runs on: this one, or that which it describes.
    pub(crate) fn machine(self, experiment: &Experiment) -> Machine {
        match self {
            Self::Real => Machine::here(),
            Self::Sim => Machine::simulated(experiment.machine.clone().unwrap_or_default().cores()),
        }
    }
}

/// Makes this program one that can be a worker process: the first line of `main`.
///
/// In the program that is started by a user this returns at once. In a process that a
/// [`Cluster`](cluster::Cluster) or the real engine started as a worker it calls `load`, which
/// registers the handlers, serves, and never returns. The engine's own workers do not load the
/// application: `gvl_lab::init(|_| Ok(()))` will do for a program that only runs experiments.
///
/// ```
/// gvl_lab::init(|app| {
///     app.handler("echo", |_, bytes| Ok(bytes));
///     Ok(())
/// });
/// // The program.
/// ```
pub fn init(load: impl FnOnce(&mut App) -> Result<(), Box<dyn std::error::Error>>) {
    cluster::init(|app| {
        if real::register(app)? {
            return Ok(());
        }
        load(app)
    });
}

/// What a run is told beside the engine.
///
/// ```
/// use gvl_lab::{Engine, Experiment, RunOptions, load::closed, model::puma, workload::{io, ms}};
///
/// let experiment = Experiment::new(puma().threads(2)).workload([io(ms(2))]);
/// let experiment = experiment.load(closed(2).requests(40));
/// let report = experiment.run_with(Engine::Real, RunOptions::new().snapshots(true))?;
/// let looked = report.rows[0].snapshots.as_ref().expect("it was told to look");
/// println!("{}", looked.under_load);
/// # Ok::<(), gvl_lab::Error>(())
/// ```
#[derive(Default)]
pub struct RunOptions<'a> {
    snapshots: bool,
    timeline: bool,
    observe: Option<&'a mut dyn FnMut(&Progress<'_>)>,
}

impl<'a> RunOptions<'a> {
    /// No snapshots, no timeline, nobody who observes.
    pub fn new() -> Self {
        Self::default()
    }

    /// Looks at the server's processes before the load and when half of the run is done, once a
    /// model (off): [`Row::snapshots`]. The second look takes about a millisecond for five
    /// processes; timed arrivals that fall into it start late by it.
    #[must_use]
    pub fn snapshots(mut self, on: bool) -> Self {
        self.snapshots = on;
        self
    }

    /// Records what each thread does, moment by moment, in the first replication of each model (off):
    /// [`Row::timeline`], on either engine, up to [`timeline::EVENTS_MAX`] events. On the real engine the
    /// clock is read once more each time that a thread takes the lock, and what happened is written down
    /// by one thread at a time. A worker process that is lost takes its record along.
    #[must_use]
    pub fn timeline(mut self, on: bool) -> Self {
        self.timeline = on;
        self
    }

    /// Calls `observe` about ten times a second with how far the run is (nobody).
    #[must_use]
    pub fn observe(mut self, observe: &'a mut dyn FnMut(&Progress<'_>)) -> Self {
        self.observe = Some(observe);
        self
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
    /// run, or a run that failed: a model with workers does in a program whose main function does
    /// not begin with [`init`].
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
        self.run_with(engine, RunOptions::new())
    }

    /// Checks that the engine can run this experiment, as [`Experiment::run`] does first.
    ///
    /// # Errors
    /// Mistakes in an experiment that was built rather than read, or a model, a warm-up or a bound of the
    /// machine that the engine cannot run.
    pub fn check_for(&self, engine: Engine) -> Result<(), Error> {
        self.check()?;
        if engine == Engine::Real {
            self.machine.as_ref().map_or(Ok(()), simulated::Machine::check_for_real)?;
            self.models.iter().try_for_each(|entry| self.check_connections(&entry.model))?;
            self.check_backlogs()?;
        }
        match (engine, self.warmup) {
            (Engine::Real, Some(WarmUp::Auto)) => Err(Error::invalid(
                "warmup",
                "\"auto\"",
                "a duration or a number of requests: a run in real time is not the same twice",
            )),
            (Engine::Real, _) => {
                let refused = |(n, entry): (usize, &Entry)| {
                    real::refused(n, &entry.model.topology(), &self.load)
                };
                self.models.iter().enumerate().find_map(refused).map_or(Ok(()), Err)
            }
            (Engine::Sim, _) => Ok(()),
        }
    }

    /// Refuses a bound on the connections of all processes where it could be met: real processes do not
    /// know of each other's.
    fn check_connections(&self, model: &Model) -> Result<(), Error> {
        let processes = u64::from(model.topology().processes);
        for pool in &self.workload.pools {
            let could = u64::from(pool.size) * processes;
            if let Some(most) = pool.max_connections.filter(|most| u64::from(*most) < could) {
                let whose = match processes {
                    1 => "whose process does not count its connections".to_owned(),
                    n => format!("whose {n} processes do not count their connections together"),
                };
                return Err(Error::invalid(
                    format!("workload.pools.{}.max_connections", pool.name),
                    most,
                    format!("{could} or more on the real engine, {whose}, or the simulator"),
                ));
            }
        }
        Ok(())
    }

    /// Refuses backlogs where connections are not the kernel's TCP connections. A backlog of a Unix
    /// socket that is full makes `connect` fail at once, and nobody tries again after a second.
    fn check_backlogs(&self) -> Result<(), Error> {
        for (n, entry) in self.models.iter().enumerate() {
            let socket = entry.model.topology().socket;
            if socket.is_set {
                return Err(Error::invalid(
                    format!("model[{n}].{}.backlog", entry.model.key()),
                    socket.backlog,
                    "no backlog on the real engine, whose workers accept from a Unix socket: \
                     nothing is dropped there; the simulator has it",
                ));
            }
        }
        Ok(())
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
        self.run_with(engine, RunOptions::new().observe(observe))
    }

    /// Runs as [`Experiment::run`], with options.
    ///
    /// # Errors
    /// As [`Experiment::run`].
    pub fn run_with(&self, engine: Engine, options: RunOptions<'_>) -> Result<Report, Error> {
        let mut nobody = |_: &Progress<'_>| {};
        let observe = options.observe.unwrap_or(&mut nobody);
        self.check_for(engine)?;
        if engine == Engine::Sim && options.snapshots {
            let why = "processes to look at: those of the simulator are not real";
            return Err(Error::invalid(
                "snapshots",
                "true",
                format!("false, or an engine with {why}"),
            ));
        }
        let begin = self.warmup.and_then(Begin::after);
        let simulated = self.machine.clone().unwrap_or_default();
        let lower = |model: &Model| match engine {
            Engine::Real => model.topology(),
            Engine::Sim => model.topology_of(simulated.cpus()),
        };
        let topologies: Vec<Topology> =
            self.models.iter().map(|entry| lower(&entry.model)).collect();
        let machine = engine.machine(self);
        let runs = topologies.len() as f64 * f64::from(self.repeat);
        let mut rows = Vec::with_capacity(topologies.len());
        for (topology, entry) in topologies.iter().zip(&self.models) {
            let label = topology.label.as_str();
            let _span = tracing::info_span!("row", model = label).entered();
            let quota = simulated.binding_quota().filter(|_| engine == Engine::Sim);
            let on = (machine.cores, quota);
            let shape = shape(topology, &self.workload, &self.load, on);
            let mut recordings = Vec::new();
            for n in 0..self.repeat {
                let before = rows.len() as f64 * f64::from(self.repeat) + f64::from(n);
                let mut news = |done: f64| {
                    observe(&Progress { model: label, done: (before + done) / runs });
                };
                let seed = self.seed.wrapping_add(u64::from(n));
                let events = (options.timeline && n == 0).then_some(timeline::EVENTS_MAX);
                let recording = match engine {
                    Engine::Real => {
                        let snapshots = options.snapshots && n == 0;
                        let options = real::Options { snapshots, timeline: events, begin };
                        real::run(topology, &self.workload, &self.load, seed, options, &mut news)
                    }
                    Engine::Sim => {
                        let offered = shape.offered.as_ref();
                        let machine = &simulated;
                        let conditions = sim::Conditions {
                            machine,
                            offered,
                            warm_up: self.warmup,
                            timeline: events,
                        };
                        sim::run(topology, &self.workload, &self.load, conditions, seed, &mut news)
                    }
                };
                recordings.push(recording?);
            }
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

/// The shape of a server on so many cores, of whose time it may use a quota.
fn shape(
    topology: &Topology,
    workload: &Workload,
    load: &Load,
    (cores, quota): (u32, Option<f64>),
) -> Shape {
    let shape = Shape {
        workers: topology.workers,
        threads: topology.threads,
        slots: topology.slots,
        processes: topology.processes,
        users: load.users().map(u64::from),
        think: load.think_mean(),
        keep_alive: load.connections == Connections::KeepAlive,
        handout: match topology.dispatch {
            Dispatch::InProcess | Dispatch::Alone(_) => None,
            Dispatch::SharedQueue => Some(Handout::Queued),
            Dispatch::Accept(_) => Some(Handout::Accepted),
            Dispatch::Balanced(_) => Some(Handout::Assigned),
        },
        cores,
        quota,
        gvl_name: topology.gvl.name().to_owned(),
        quantum: topology.gvl.quantum(),
        one_thread: matches!(
            topology.serving,
            Serving::EventLoop { handlers: Handlers::Async, .. }
        ),
        exclusive: topology.gvl.is_exclusive(),
        offered: None,
    };
    Shape { offered: Offered::of(&shape, workload, load), ..shape }
}
