//! What an experiment is, and how it is printed.
//!
//! `read` makes it from a document, `builder` from code; engines take it.

use crate::load::{Load, WarmUp};
use crate::machine::Machine;
use crate::model::Model;
use crate::value::Value;
use crate::workload::Workload;

/// An experiment: what is run, without the engine that runs it.
///
/// ```
/// use gvl_lab::Experiment;
/// let text = r#"
/// [workload]
/// steps = [{ cpu = "2ms" }, { io = "exp(100ms)" }]
/// [load]
/// closed = { users = 12, requests = 120 }
/// [[model]]
/// puma = { workers = 4, threads = 3 }
/// "#;
/// let experiment = Experiment::from_toml(text).unwrap();
/// assert_eq!(experiment.models[0].model.topology().slots, Some(12));
/// assert_eq!(Experiment::from_toml(&experiment.to_toml()).unwrap(), experiment);
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Experiment {
    /// Names it in reports, 1 to 200 characters; by default `experiment`.
    pub name: String,
    /// What all chance comes from, at most 2^63 - 1; by default 1.
    pub seed: u64,
    /// How many times each model runs, each with a seed of its own, 1 to 1,000; by default 1.
    pub repeat: u32,
    /// The machine of the simulator.
    pub machine: Option<Machine>,
    /// What a request does.
    pub workload: Workload,
    /// How requests arrive.
    pub load: Load,
    /// What is left out of the beginning of each run; by default nothing.
    pub warmup: Option<WarmUp>,
    /// What serves them: 1 to 1,000 models, a row of the report each.
    pub models: Vec<Entry>,
}

/// A model, and what others measured of it.
#[derive(Debug, Clone, PartialEq)]
pub struct Entry {
    /// The model.
    pub model: Model,
    /// Published figures by key, such as `throughput_rps`, at most 32; finite and not negative.
    pub published: Vec<(String, f64)>,
}

impl Experiment {
    /// Writes the document that [`Experiment::from_value`] reads back. Of a workload beyond its
    /// limits only as much is written as shows it.
    pub fn to_value(&self) -> Value {
        // A seed that is too large for a document stays too large, so that `check` refuses it.
        let seed = i64::try_from(self.seed).map_or(Value::Float(self.seed as f64), Value::Int);
        let mut fields = vec![
            ("name", Value::text(&self.name)),
            ("seed", seed),
            ("repeat", Value::Int(self.repeat.into())),
        ];
        fields.extend(self.warmup.map(|warmup| ("warmup", warmup.to_value())));
        if let Some(machine) = &self.machine {
            fields.push(("machine", machine.to_value()));
        }
        fields.push(("workload", self.workload.within_limits().to_value()));
        fields.push(("load", self.load.to_value()));
        fields.push(("model", Value::List(self.models.iter().map(Entry::to_value).collect())));
        Value::table(fields)
    }

    /// Writes the experiment as TOML; [`Experiment::from_toml`] reads the same back, given that it
    /// passes [`Experiment::check`].
    pub fn to_toml(&self) -> String {
        self.to_value().to_toml()
    }

    /// Writes the experiment as JSON on one line; [`Experiment::from_json`] reads the same back,
    /// given that it passes [`Experiment::check`].
    pub fn to_json(&self) -> String {
        self.to_value().to_json()
    }
}

impl Entry {
    fn to_value(&self) -> Value {
        let mut value = self.model.to_value();
        if let (Value::Table(fields), false) = (&mut value, self.published.is_empty()) {
            let figures = self.published.iter().map(|(key, x)| (key.clone(), Value::Float(*x)));
            fields.push(("published".to_owned(), Value::table(figures)));
        }
        value
    }
}
