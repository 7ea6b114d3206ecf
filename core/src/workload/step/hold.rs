//! `{ hold = "30ms" }`: keeps the GVL without a safepoint.

use super::{Kind, Step, timed};
use crate::workload::dist::Dist;
use crate::workload::ops::Op;

const KEY: &str = "hold";

pub(super) const KIND: Kind =
    Kind { key: KEY, read: |node, scope| timed::read(KEY, Op::Hold, node, scope) };

/// Keeps the GVL without a safepoint: an extension that never checks, or waits with it.
pub fn hold(time: impl Into<Dist>) -> Step {
    timed::step(KEY, Op::Hold, time.into())
}
