//! Runs a program one action at a time, in real or virtual time.
//!
//! One for each request, in the real engine and the simulator alike; the same stream gives the
//! same actions in both.

use super::{Op, PoolIndex, Program};
use crate::random::Stream;
use crate::workload::interlock::Inside;
use smallvec::SmallVec;
use std::time::Duration;

/// What a request does next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Action {
    /// Use so much CPU time holding the GVL, with safepoints.
    Cpu(Duration),
    /// Wait so long in a blocking region.
    Io(Duration),
    /// Use so much CPU time without the GVL.
    Native(Duration),
    /// Keep the GVL so long without a safepoint.
    Hold(Duration),
    /// Take a connection, waiting for the pool's timeout at most.
    Checkout(PoolIndex),
    /// Give it back.
    Checkin(PoolIndex),
    /// Enter the process's interlock; it is left at the end of the request.
    Enter(Inside),
    /// Leave it.
    Leave,
    /// Fail with the status; nothing follows, and connections have been given back.
    Fail(u16),
}

/// A place in a program, and the chance that is left to draw.
#[derive(Debug, Clone)]
pub struct Cursor {
    pc: usize,
    /// How often the body of each loop around this place has still to run, this time included.
    loops: SmallVec<[u32; 4]>,
    stream: Stream,
}

impl Cursor {
    /// Starts at the beginning of a program.
    pub fn new(stream: Stream) -> Self {
        Self { pc: 0, loops: SmallVec::new(), stream }
    }

    /// Gives the next action of the program, or `None` at its end and ever after.
    ///
    /// Every call must name the same program.
    pub fn next(&mut self, program: &Program) -> Option<Action> {
        loop {
            let op = program.ops.get(self.pc)?;
            self.pc += 1;
            return Some(match op {
                Op::Cpu(time) => Action::Cpu(time.draw(&mut self.stream)),
                Op::Io(time) => Action::Io(time.draw(&mut self.stream)),
                Op::Native(time) => Action::Native(time.draw(&mut self.stream)),
                Op::Hold(time) => Action::Hold(time.draw(&mut self.stream)),
                Op::Checkout(pool) => Action::Checkout(*pool),
                Op::Checkin(pool) => Action::Checkin(*pool),
                Op::Enter(how) => Action::Enter(*how),
                Op::Leave => Action::Leave,
                Op::Fail(status) => {
                    self.pc = program.ops.len();
                    Action::Fail(*status)
                }
                Op::Loop { times } => {
                    self.loops.push(*times);
                    continue;
                }
                Op::Next { back } => {
                    self.next_turn(*back);
                    continue;
                }
                Op::Choose(choices) => {
                    let at = self.stream.unit();
                    let chosen = choices.iter().find(|(share, _)| at < *share);
                    self.pc = chosen.map_or(program.ops.len(), |(_, target)| *target);
                    continue;
                }
                Op::Jump(target) => {
                    self.pc = *target;
                    continue;
                }
            });
        }
    }

    fn next_turn(&mut self, back: usize) {
        let left = self.loops.last_mut().expect("a loop's body is entered through its Loop");
        *left = left.saturating_sub(1);
        if *left > 0 {
            self.pc = back;
        } else {
            self.loops.pop();
        }
    }
}
