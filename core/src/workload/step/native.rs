//! `{ native = "5ms" }`: uses CPU time without the GVL.

use super::{Kind, Step, timed};
use crate::workload::dist::Dist;
use crate::workload::ops::Op;

const KEY: &str = "native";

pub(super) const KIND: Kind =
    Kind { key: KEY, read: |node, scope| timed::read(KEY, Op::Native, node, scope) };

/// Uses CPU time without the GVL: compression, hashing.
pub fn native(time: impl Into<Dist>) -> Step {
    timed::step(KEY, Op::Native, time.into())
}
