//! `{ io = "100ms" }`: waits in a blocking region, the GVL released.

use super::{Kind, Step, timed};
use crate::workload::dist::Dist;
use crate::workload::ops::Op;

const KEY: &str = "io";

pub(super) const KIND: Kind =
    Kind { key: KEY, read: |node, scope| timed::read(KEY, Op::Io, node, scope) };

/// Waits in a blocking region, the GVL released: a socket, a disk, a sleep.
pub fn io(time: impl Into<Dist>) -> Step {
    timed::step(KEY, Op::Io, time.into())
}
