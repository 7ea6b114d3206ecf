//! The steps of a request. Each kind is one file: it parses, prints and lowers itself.
//!
//! `endpoint` and the steps that hold steps read them through [`Steps`]; `ops` lowers them.
//! To add a kind, write its file and add its record to `KINDS`.

mod checkout;
mod choose;
mod cpu;
mod fail;
mod hold;
mod io;
mod native;
mod repeat;
mod scope;
mod steps;
mod timed;

pub use checkout::checkout;
pub use choose::choose;
pub use cpu::cpu;
pub use fail::fail;
pub use hold::hold;
pub use io::io;
pub use native::native;
pub use repeat::repeat;
pub(super) use scope::Scope;
pub use steps::{DEPTH_MAX, SAMPLES_MAX, STEPS_MAX, Steps};

use super::ops::Lowering;
use crate::value::{Node, Value};
use std::fmt;
use std::sync::Arc;

/// The kinds of steps; the key is the one that tells a step's kind in a document.
const KINDS: [Kind; 8] = [
    cpu::KIND,
    io::KIND,
    native::KIND,
    hold::KIND,
    checkout::KIND,
    repeat::KIND,
    choose::KIND,
    fail::KIND,
];

/// One thing that a request does.
///
/// Cheap to clone. Two steps are equal if they print the same.
#[derive(Clone)]
pub struct Step(Arc<dyn StepKind>);

/// What a kind of step can do.
trait StepKind: Send + Sync {
    /// Writes the value that the kind's `read` reads back.
    fn to_value(&self) -> Value;

    /// Appends the step's ops.
    fn lower(&self, lowering: &mut Lowering<'_>);

    /// The lists of steps inside it.
    fn lists(&self) -> Vec<&Steps> {
        Vec::new()
    }

    /// The most steps that it runs in one request, itself included.
    fn executed(&self) -> u64 {
        1
    }

    /// The recorded durations in it, those of the steps inside left out.
    fn samples(&self) -> u64 {
        0
    }
}

/// A record of [`KINDS`].
struct Kind {
    key: &'static str,
    read: fn(&Node<'_>, &mut Scope) -> Option<Step>,
}

impl Step {
    /// Nesting beyond the limit is not kept: the step inside that passes it stands for the whole,
    /// which is refused all the same, and nothing later can run out of stack.
    fn new(kind: impl StepKind + 'static) -> Self {
        if let Some(deep) = kind.lists().into_iter().find_map(Steps::too_deep) {
            return deep.clone();
        }
        Self(Arc::new(kind))
    }

    /// Writes the value that stands for this step in a document.
    pub fn to_value(&self) -> Value {
        self.0.to_value()
    }

    pub(super) fn lower(&self, lowering: &mut Lowering<'_>) {
        self.0.lower(lowering);
    }

    fn read(node: &Node<'_>, scope: &mut Scope) -> Option<Self> {
        scope.count(node)?;
        let fields = node.open_table("a step such as { cpu = \"2ms\" }")?;
        let mut kinds = KINDS.iter().filter(|kind| fields.get(kind.key).is_some());
        match (kinds.next(), kinds.next()) {
            (Some(kind), None) => (kind.read)(node, scope),
            (None, _) => node.refuse(format!("a step: one of {}", keys())),
            (Some(_), Some(_)) => node.refuse(format!("one step: only one of {}", keys())),
        }
    }
}

impl PartialEq for Step {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0) || self.to_value() == other.to_value()
    }
}

impl fmt::Debug for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.to_value().to_json())
    }
}

fn keys() -> String {
    KINDS.map(|kind| kind.key).join(", ")
}
