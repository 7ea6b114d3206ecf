//! `{ cpu = "2ms" }`: uses CPU time holding the GVL, with safepoints.

use super::{Kind, Step, timed};
use crate::workload::dist::Dist;
use crate::workload::ops::Op;

const KEY: &str = "cpu";

pub(super) const KIND: Kind =
    Kind { key: KEY, read: |node, scope| timed::read(KEY, Op::Cpu, node, scope) };

/// Uses CPU time holding the GVL, with safepoints: interpreted code.
pub fn cpu(time: impl Into<Dist>) -> Step {
    timed::step(KEY, Op::Cpu, time.into())
}
