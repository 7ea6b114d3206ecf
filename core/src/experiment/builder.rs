//! Builds an experiment in code. Nothing here fails; `check` tells what a document would.

use super::read::{NAME, SEED};
use super::spec::{Entry, Experiment};
use crate::error::Error;
use crate::load::{Load, WarmUp, closed};
use crate::model::Model;
use crate::workload::Workload;

impl Experiment {
    /// Begins an experiment with a model; it needs a workload and a load.
    ///
    /// ```
    /// use gvl_lab::Experiment;
    /// use gvl_lab::load::closed;
    /// use gvl_lab::model::puma;
    /// use gvl_lab::workload::{cpu, exp, io, ms};
    /// let experiment = Experiment::new(puma().workers(4).threads(3))
    ///     .workload([cpu(ms(2)), io(exp(ms(100)))])
    ///     .load(closed(12).requests(120));
    /// experiment.check().unwrap();
    /// ```
    pub fn new(model: impl Into<Model>) -> Self {
        Self {
            name: NAME.to_owned(),
            seed: SEED,
            repeat: 1,
            machine: None,
            workload: Workload::new(),
            load: closed(1),
            warmup: None,
            models: vec![Entry::new(model)],
        }
    }

    /// Changes what a request does: steps, or a whole [`Workload`].
    pub fn workload(mut self, workload: impl Into<Workload>) -> Self {
        self.workload = workload.into();
        self
    }

    /// Changes how requests arrive.
    pub fn load(mut self, load: Load) -> Self {
        self.load = load;
        self
    }

    /// Leaves the beginning of each run out of its figures: a time, a number of requests, or
    /// ([`WarmUp::Auto`], the simulator only) as much as makes the rest steady.
    ///
    /// ```
    /// use gvl_lab::{Engine, Experiment, load::{WarmUp, open}, model::puma, workload::{exp, io, ms}};
    ///
    /// let experiment = Experiment::new(puma().threads(5)).workload([io(exp(ms(20)))]);
    /// let experiment = experiment.load(open(200.0).requests(5000)).warmup(WarmUp::Requests(500));
    /// let report = experiment.run(Engine::Sim)?;
    /// assert_eq!(report.rows[0].ok, 4500);
    /// assert_eq!(report.rows[0].warm_up.unwrap().requests, 500);
    /// # Ok::<(), gvl_lab::Error>(())
    /// ```
    pub fn warmup(mut self, warmup: WarmUp) -> Self {
        self.warmup = Some(warmup);
        self
    }

    /// Adds a model: a row more in the report.
    pub fn model(mut self, model: impl Into<Model>) -> Self {
        self.models.push(Entry::new(model));
        self
    }

    /// Adds a figure that others measured, such as `("throughput_rps", 28.2)`, to the model added
    /// last.
    pub fn published(mut self, key: impl Into<String>, figure: f64) -> Self {
        if let Some(entry) = self.models.last_mut() {
            entry.published.push((key.into(), figure));
        }
        self
    }

    /// Changes the name.
    pub fn name(mut self, name: impl Into<String>) -> Self {
        self.name = name.into();
        self
    }

    /// Changes the seed.
    pub fn seed(mut self, seed: u64) -> Self {
        self.seed = seed;
        self
    }

    /// Changes how many times each model runs.
    pub fn repeat(mut self, times: u32) -> Self {
        self.repeat = times;
        self
    }

    /// Changes how many processors the simulator has.
    pub fn cores(mut self, cores: u32) -> Self {
        self.machine.get_or_insert_default().cores = Some(cores);
        self
    }

    /// Checks a built experiment.
    ///
    /// # Errors
    /// Every mistake in it, in the words of a document's.
    pub fn check(&self) -> Result<(), Error> {
        Self::from_value(&self.to_value()).map(|_| ())
    }
}

impl Entry {
    /// Makes an entry without published figures.
    pub fn new(model: impl Into<Model>) -> Self {
        Self { model: model.into(), published: Vec::new() }
    }
}
