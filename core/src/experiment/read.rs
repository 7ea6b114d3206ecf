//! Reads an experiment from a document: TOML, JSON, or a binding's value.
//!
//! One pass tells every mistake with its path. Unknown keys and missing sections are mistakes.

use super::agree;
use super::spec::{Entry, Experiment};
use crate::error::Error;
use crate::load::{Load, WarmUp};
use crate::machine::Machine;
use crate::model::Model;
use crate::value::{Node, Value};
use crate::workload::Workload;
use std::collections::HashSet;

pub(super) const NAME: &str = "experiment";
pub(super) const SEED: u64 = 1;

const NAME_MAX: usize = 200;
const REPEAT_MAX: i64 = 1000;
const MODELS_MAX: usize = 1000;
const PUBLISHED: &str = "published";
const PUBLISHED_MAX: usize = 32;
const FIGURE_NAME_MAX: usize = 100;

const SECTIONS: [&str; 8] =
    ["name", "seed", "repeat", "machine", "workload", "load", "warmup", "model"];

impl Experiment {
    /// Reads TOML.
    ///
    /// # Errors
    /// Where the text stops being TOML, or every mistake in the document.
    pub fn from_toml(text: &str) -> Result<Self, Error> {
        Self::from_value(&Value::from_toml(text)?)
    }

    /// Reads JSON.
    ///
    /// # Errors
    /// Where the text stops being JSON, or every mistake in the document.
    pub fn from_json(text: &str) -> Result<Self, Error> {
        Self::from_value(&Value::from_json(text)?)
    }

    /// Reads a document that has been parsed, or that a binding made.
    ///
    /// # Errors
    /// Every mistake in it.
    pub fn from_value(value: &Value) -> Result<Self, Error> {
        if !matches!(value, Value::Table(_)) {
            return Err(Error::invalid("experiment", value, "a table"));
        }
        Node::read_all(value, "", Self::read)
    }

    fn read(root: &Node<'_>) -> Option<Self> {
        let fields = root.table(&SECTIONS)?;
        let name = fields.get("name").map_or(Some(NAME), |n| n.name(NAME_MAX));
        let seed = fields.get("seed").map_or(Some(SEED as i64), |n| n.int(0..=i64::MAX));
        let repeat = fields.get("repeat").map_or(Some(1), |n| n.int(1..=REPEAT_MAX));
        let machine = fields.get("machine").map_or(Some(None), |n| Machine::read(n).map(Some));
        let workload = fields
            .need("workload", "a [workload] with steps or endpoints")
            .and_then(Workload::read);
        let load = fields.need("load", "a [load], closed or open").and_then(Load::read);
        let warmup = fields.get("warmup").map_or(Some(None), |n| WarmUp::read(n).map(Some));
        let models = fields.need("model", "at least one [[model]]").and_then(read_models);
        let (workload, load) = (workload?, load?);
        agree::read(&fields, &workload, &load)?;
        agree::read_warmup(&fields, warmup?, &load)?;
        Some(Self {
            name: name?.to_owned(),
            seed: seed? as u64,
            repeat: repeat? as u32,
            machine: machine?,
            workload,
            load,
            warmup: warmup?,
            models: models?,
        })
    }
}

fn read_models(node: &Node<'_>) -> Option<Vec<Entry>> {
    let items = node.list("a list of models, [[model]]")?;
    if items.is_empty() || items.len() > MODELS_MAX {
        return node.refuse(format!("1 to {MODELS_MAX} models"));
    }
    let entries: Vec<_> = items.iter().map(Entry::read).collect();
    entries.into_iter().collect()
}

impl Entry {
    fn read(node: &Node<'_>) -> Option<Self> {
        let model = Model::read(node, &[PUBLISHED]);
        // What is no table has been told already.
        let published = match node.value() {
            Value::Table(_) => node.open_table("a model")?.get(PUBLISHED).map(read_published),
            _ => None,
        };
        Some(Self { model: model?, published: published.unwrap_or(Some(Vec::new()))? })
    }
}

fn read_published(node: &Node<'_>) -> Option<Vec<(String, f64)>> {
    let fields = node.open_table("a table of figures such as { throughput_rps = 28.2 }")?;
    if fields.len() > PUBLISHED_MAX {
        return node
            .refuse_as(format!("{} figures", fields.len()), format!("at most {PUBLISHED_MAX}"));
    }
    let mut keys = HashSet::new();
    let mut figures = Vec::with_capacity(fields.len());
    for (key, node) in fields.iter() {
        figures.push(if !is_snake(key) {
            let allowed = "lower case letters, digits and _, a letter first, 1 to 100 of them";
            node.refuse_as("this name", allowed)
        } else if !keys.insert(key) {
            node.refuse_as("a second figure of this name", "each name once")
        } else {
            read_figure(node).map(|figure| (key.to_owned(), figure))
        });
    }
    figures.into_iter().collect()
}

fn read_figure(node: &Node<'_>) -> Option<f64> {
    let figure = match node.value() {
        Value::Int(n) => *n as f64,
        Value::Float(x) => *x,
        _ => f64::NAN,
    };
    if figure.is_finite() && figure >= 0.0 {
        return Some(figure);
    }
    node.refuse("a finite number, 0 or more")
}

fn is_snake(key: &str) -> bool {
    key.len() <= FIGURE_NAME_MAX
        && key.starts_with(|c: char| c.is_ascii_lowercase())
        && key.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'_')
}
