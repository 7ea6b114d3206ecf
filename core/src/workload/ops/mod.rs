//! Programs: the flat code that steps lower to, and what engines make of it.
//!
//! `Workload::programs` makes them; the real engine and the simulator run them through a
//! [`Cursor`]. A repeat is a loop, never expanded. All jumps go forward but that of `Next`, and a
//! loop's body is entered and left only through its `Loop` and its `Next` (or by failing).

mod cursor;
mod demand;
mod lowering;

pub use cursor::{Action, Cursor};
pub use demand::Demand;
pub(super) use lowering::Lowering;

use super::dist::Dist;
use super::interlock::{Inside, Interlock};
use super::pool::Pool;
use super::step::Steps;

/// Which pool: its place in `Workload::pools`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct PoolIndex(pub usize);

/// One instruction. Targets are places in the program; its length stands for its end.
#[derive(Debug, Clone, PartialEq)]
pub enum Op {
    /// Uses CPU time holding the GVL, with safepoints.
    Cpu(Dist),
    /// Waits in a blocking region.
    Io(Dist),
    /// Uses CPU time without the GVL.
    Native(Dist),
    /// Keeps the GVL without a safepoint.
    Hold(Dist),
    /// Takes a connection of the pool.
    Checkout(PoolIndex),
    /// Gives it back.
    Checkin(PoolIndex),
    /// Enters the process's interlock, which is left at the end of the request.
    Enter(Inside),
    /// Leaves it.
    Leave,
    /// Begins a loop.
    Loop {
        /// How many times its body runs, at least once.
        times: u32,
    },
    /// Ends the body of the innermost loop.
    Next {
        /// The first op of the body.
        back: usize,
    },
    /// Goes to one of the targets: the first whose cumulative share is above a random number in
    /// `0.0..1.0`. The last share is 1.
    Choose(Box<[(f64, usize)]>),
    /// Goes to a later op.
    Jump(usize),
    /// Ends the program with a status. Held connections have been given back by then.
    Fail(u16),
}

/// The code of one endpoint.
#[derive(Debug, Clone, PartialEq)]
pub struct Program {
    ops: Box<[Op]>,
}

impl Program {
    pub(super) fn new(steps: &Steps, pools: &[Pool], interlock: Option<&Interlock>) -> Self {
        let mut lowering = Lowering::new(pools);
        interlock.into_iter().for_each(|interlock| lowering.inside(interlock));
        lowering.steps(steps);
        Self { ops: lowering.into_ops() }
    }

    /// Gives the instructions.
    pub fn ops(&self) -> &[Op] {
        &self.ops
    }
}
