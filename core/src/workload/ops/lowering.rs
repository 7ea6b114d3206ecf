//! Collects the ops of one program while its steps lower themselves.
//!
//! Used by `step`. Knows which pools are held at each place, so that every way out of a program
//! gives them back.

use super::{Op, PoolIndex};
use crate::workload::interlock::{Inside, Interlock};
use crate::workload::pool::Pool;
use crate::workload::step::Steps;

/// The program being made.
pub(in crate::workload) struct Lowering<'p> {
    pools: &'p [Pool],
    held: Vec<PoolIndex>,
    ops: Vec<Op>,
}

impl<'p> Lowering<'p> {
    pub fn new(pools: &'p [Pool]) -> Self {
        Self { pools, held: Vec::new(), ops: Vec::new() }
    }

    /// The place of the next op.
    pub fn here(&self) -> usize {
        self.ops.len()
    }

    /// Appends an op and tells its place.
    pub fn push(&mut self, op: Op) -> usize {
        self.ops.push(op);
        self.ops.len() - 1
    }

    /// Replaces the op at a place, once its target is known.
    pub fn set(&mut self, at: usize, op: Op) {
        self.ops[at] = op;
    }

    /// Appends a list of steps.
    pub fn steps(&mut self, steps: &Steps) {
        for step in steps.iter() {
            step.lower(self);
        }
    }

    /// Appends steps that hold a connection.
    pub fn holding(&mut self, name: &str, steps: &Steps) {
        let pool = self.pools.iter().position(|pool| pool.name == name);
        let pool = PoolIndex(pool.expect("a checked workload names all of its pools"));
        self.push(Op::Checkout(pool));
        self.held.push(pool);
        self.steps(steps);
        self.held.pop();
        self.push(Op::Checkin(pool));
    }

    /// Appends the way into the interlock: by chance a reload alone, then with others.
    pub fn inside(&mut self, interlock: &Interlock) {
        let choice = self.push(Op::Jump(0));
        let reload = self.push(Op::Enter(Inside::Alone));
        self.push(Op::Cpu(interlock.reload.clone()));
        self.push(Op::Leave);
        let shared = self.push(Op::Enter(Inside::Shared));
        self.set(choice, Op::Choose([(interlock.chance, reload), (1.0, shared)].into()));
    }

    /// Appends a failure, after the return of what is held here.
    pub fn fail(&mut self, status: u16) {
        self.ops.extend(self.held.iter().rev().map(|pool| Op::Checkin(*pool)));
        self.push(Op::Fail(status));
    }

    pub fn into_ops(self) -> Box<[Op]> {
        self.ops.into()
    }
}
