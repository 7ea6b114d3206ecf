//! A model of any kind, as an experiment holds it.
//!
//! `experiment` reads and prints it; the kinds are in the files beside this one.

use super::{MODELS, Record, Topology};
use crate::cluster::cpus::Cpus;
use crate::error::Error;
use crate::value::{Node, Value};
use std::fmt;
use std::sync::Arc;

/// A server model.
///
/// Cheap to clone. Two models are equal if they print the same.
///
/// ```
/// use gvl_lab::model::{Model, puma};
/// let model = Model::from(puma().workers(4).threads(3));
/// model.check().unwrap();
/// assert_eq!(model.topology().slots, Some(12));
/// ```
#[derive(Clone)]
pub struct Model(Arc<dyn ModelKind>);

/// What a kind of model can do.
pub(super) trait ModelKind: Send + Sync {
    /// Its record.
    fn record(&self) -> &'static Record;

    /// Writes the table that the record's `read` reads back.
    fn to_value(&self) -> Value;

    /// Lowers a checked model; `on` tells of the machine's processors.
    fn topology(&self, on: &dyn Fn() -> Cpus) -> Topology;
}

impl Model {
    /// Reads the model among the fields of a table, where the keys `beside` may stand too.
    pub fn read(node: &Node<'_>, beside: &[&str]) -> Option<Self> {
        let fields = node.open_table("a model such as { puma = { threads = 5 } }")?;
        let mut named = MODELS.iter().filter_map(|record| Some((record, fields.get(record.key)?)));
        let (record, table) = match (named.next(), named.next()) {
            (Some(found), None) => found,
            (None, _) => return node.refuse(format!("a model: one of {}", keys())),
            (Some(_), Some(_)) => {
                return node.refuse(format!("one model: only one of {}", keys()));
            }
        };
        for (key, other) in fields.iter() {
            if key != record.key && !beside.contains(&key) {
                let known = [&[record.key], beside].concat().join(", ");
                other.refuse_as::<()>("this key", format!("one of {known}"));
            }
        }
        record.read(table)
    }

    /// Writes the table that [`Model::read`] reads back: the model under its key.
    pub fn to_value(&self) -> Value {
        Value::table([(self.key(), self.0.to_value())])
    }

    /// Gives the key of its kind, such as `puma`.
    pub fn key(&self) -> &'static str {
        self.0.record().key
    }

    /// Checks a built model.
    ///
    /// # Errors
    /// Every mistake in it, in the words that [`Model::read`] has for a document.
    pub fn check(&self) -> Result<(), Error> {
        Node::read_all(&self.to_value(), "model", |node| Self::read(node, &[])).map(|_| ())
    }

    /// Lowers the model to the shape that engines run, on this machine.
    ///
    /// # Panics
    /// If a version is unknown, which [`Model::check`] refuses.
    pub fn topology(&self) -> Topology {
        self.0.topology(&Cpus::here)
    }

    /// Lowers the model to the shape that it has on a machine of so many cores, which makes a
    /// difference to workers that are `auto`.
    ///
    /// # Panics
    /// As [`Model::topology`].
    pub fn topology_on(&self, cores: u32) -> Topology {
        self.topology_of(Cpus::of_machine(cores))
    }

    /// Lowers the model to the shape that it has where a process may use these processors.
    ///
    /// # Panics
    /// As [`Model::topology`].
    pub fn topology_of(&self, cpus: Cpus) -> Topology {
        self.0.topology(&|| cpus)
    }

    /// Lowers it as [`Model::topology`], where `on` tells of the machine's processors.
    pub(super) fn lowered(&self, on: &dyn Fn() -> Cpus) -> Topology {
        self.0.topology(on)
    }

    pub(super) fn of(kind: impl ModelKind + 'static) -> Self {
        Self(Arc::new(kind))
    }
}

impl PartialEq for Model {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0) || self.to_value() == other.to_value()
    }
}

impl fmt::Debug for Model {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.to_value().to_json())
    }
}

fn keys() -> String {
    MODELS.iter().map(|record| record.key).collect::<Vec<_>>().join(", ")
}
