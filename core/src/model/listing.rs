//! The models and locks as a listing, for `gvl-lab models`.
//!
//! Each model's record stands in its own file; a document's reader takes the known keys from it.

use super::{MODELS, Model};
use crate::gvl;
use crate::value::{Fields, Node};
use std::fmt;

/// A model, as a listing shows it and a document names it.
#[derive(Debug, Clone, Copy)]
pub struct Record {
    /// The key in a document, such as `puma`.
    pub key: &'static str,
    /// What it is, in a line.
    pub summary: &'static str,
    /// The keys of its table.
    pub fields: &'static [Field],
    pub(super) read: fn(&Fields<'_>) -> Option<Model>,
}

/// A key of a model's table.
#[derive(Debug, Clone, Copy)]
pub struct Field {
    /// The key.
    pub key: &'static str,
    /// What it has where it is left out.
    pub default: &'static str,
    /// What it means, and what is allowed.
    pub summary: &'static str,
}

/// All models and all locks. Displays as text.
#[derive(Debug, Clone, Copy)]
pub struct Listing {
    /// The models.
    pub models: &'static [Record],
    /// The locks.
    pub locks: &'static [gvl::Record],
}

/// Lists the models with their keys, and the locks.
///
/// ```
/// let text = gvl_lab::model::listing().to_string();
/// assert!(text.contains("puma") && text.contains("cruby-3.3"));
/// ```
pub fn listing() -> Listing {
    Listing { models: MODELS, locks: gvl::Record::ALL }
}

impl Record {
    /// Reads the model's table.
    pub(super) fn read(&self, node: &Node<'_>) -> Option<Model> {
        let known: Vec<_> = self.fields.iter().map(|field| field.key).collect();
        (self.read)(&node.table(&known)?)
    }
}

impl fmt::Display for Listing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "models")?;
        for model in self.models {
            writeln!(f, "  {}: {}", model.key, model.summary)?;
            for Field { key, default, summary } in model.fields {
                writeln!(f, "    {key:<15} {summary} (default {default})")?;
            }
        }
        writeln!(f, "locks")?;
        for lock in self.locks {
            writeln!(f, "  {}: {}", lock.names, lock.summary)?;
        }
        Ok(())
    }
}
