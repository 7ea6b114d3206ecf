//! What the four timed steps share: a key, a distribution, one op.
//!
//! `cpu`, `io`, `native` and `hold` differ in nothing else.

use super::{Scope, Step, StepKind};
use crate::value::{Node, Value};
use crate::workload::dist::Dist;
use crate::workload::ops::{Lowering, Op};

struct Timed {
    key: &'static str,
    op: fn(Dist) -> Op,
    time: Dist,
}

/// Builds a timed step.
pub(super) fn step(key: &'static str, op: fn(Dist) -> Op, time: Dist) -> Step {
    Step::new(Timed { key, op, time })
}

/// Reads a timed step.
pub(super) fn read(
    key: &'static str,
    op: fn(Dist) -> Op,
    node: &Node<'_>,
    scope: &mut Scope,
) -> Option<Step> {
    let fields = node.table(&[key])?;
    let node = fields.need(key, "a duration")?;
    let time = Dist::read(node)?;
    scope.count_samples(node, time.samples())?;
    Some(step(key, op, time))
}

impl StepKind for Timed {
    fn to_value(&self) -> Value {
        Value::table([(self.key, self.time.to_value())])
    }

    fn lower(&self, lowering: &mut Lowering<'_>) {
        lowering.push((self.op)(self.time.clone()));
    }

    fn samples(&self) -> u64 {
        self.time.samples()
    }
}
