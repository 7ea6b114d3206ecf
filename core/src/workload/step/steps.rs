//! A list of steps, as an endpoint and the steps that hold steps have it.
//!
//! Holds little more than the limits allow, whatever builders give it, so that to print, read and
//! lower it takes bounded time and memory.

use super::{Scope, Step};
use crate::value::{Node, Value};
use std::fmt;
use std::ops::Deref;
use std::sync::Arc;

/// The most steps written in one workload.
pub const STEPS_MAX: u64 = 10_000;

/// The most recorded durations in one workload, all its empirical distributions together.
pub const SAMPLES_MAX: u64 = 1_000_000;

/// The most levels of lists of steps, the outermost counted.
pub const DEPTH_MAX: u32 = 32;

/// Steps in order. Dereferences to a slice.
#[derive(Clone, PartialEq)]
pub struct Steps {
    steps: Arc<[Step]>,
    size: Size,
}

/// How large a list is, everything inside counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(in crate::workload) struct Size {
    pub depth: u32,
    pub steps: u64,
    pub samples: u64,
    /// The most steps that one request runs.
    pub executed: u64,
}

impl Steps {
    /// Makes a list. Once the steps pass the limits of a workload, the rest are not taken.
    pub fn new(steps: impl IntoIterator<Item = Step>) -> Self {
        let mut size = Size { depth: 1, ..Size::default() };
        let mut taken = Vec::new();
        for step in steps {
            size = size.with(&step);
            taken.push(step);
            if size.is_over() {
                break;
            }
        }
        Self { steps: taken.into(), size }
    }

    /// Writes the value that a list of steps is read from.
    pub fn to_value(&self) -> Value {
        Value::List(self.steps.iter().map(Step::to_value).collect())
    }

    pub(in crate::workload) fn size(&self) -> Size {
        self.size
    }

    /// Reads a list that may be empty.
    pub(super) fn read(node: &Node<'_>, scope: &mut Scope) -> Option<Self> {
        let items = node.list("a list of steps")?;
        scope.enter(node)?;
        let mut steps = Vec::with_capacity(items.len());
        for item in &items {
            steps.push(Step::read(item, scope));
            if scope.is_full() {
                break;
            }
        }
        scope.leave();
        Some(Self::new(steps.into_iter().collect::<Option<Vec<_>>>()?))
    }

    /// Reads a list of at least one step.
    pub(in crate::workload) fn read_some(node: &Node<'_>, scope: &mut Scope) -> Option<Self> {
        if node.value() == &Value::List(Vec::new()) {
            return node.refuse("at least one step");
        }
        Self::read(node, scope)
    }

    /// A step that is nested to the limit already, if there is one.
    pub(super) fn too_deep(&self) -> Option<&Step> {
        if self.size.depth <= DEPTH_MAX {
            return None;
        }
        self.steps.iter().max_by_key(|step| Size::default().with(step).depth)
    }
}

impl Size {
    fn with(mut self, step: &Step) -> Self {
        let lists = step.0.lists();
        self.samples = self.samples.saturating_add(step.0.samples());
        self.executed = self.executed.saturating_add(step.0.executed());
        self.steps = self.steps.saturating_add(1);
        for inner in lists.iter().map(|list| list.size) {
            self.depth = self.depth.max(inner.depth + 1);
            self.steps = self.steps.saturating_add(inner.steps);
            self.samples = self.samples.saturating_add(inner.samples);
        }
        self
    }

    pub(super) fn is_over(&self) -> bool {
        self.steps > STEPS_MAX || self.samples > SAMPLES_MAX
    }
}

impl Deref for Steps {
    type Target = [Step];

    fn deref(&self) -> &[Step] {
        &self.steps
    }
}

impl FromIterator<Step> for Steps {
    fn from_iter<I: IntoIterator<Item = Step>>(steps: I) -> Self {
        Self::new(steps)
    }
}

impl fmt::Debug for Steps {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.iter()).finish()
    }
}
