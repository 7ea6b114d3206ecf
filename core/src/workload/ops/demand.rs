//! What a request of a program is expected to take: the means behind ceilings and warnings.
//!
//! Used by `measure::checks` (no run can beat slots / service time) and by `report`.

use super::{Op, PoolIndex, Program};
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// The expected times of one request, without any waiting for the GVL, a core or a pool.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Demand {
    /// All of it, end to end.
    pub service: Duration,
    /// CPU time, with and without the GVL (`cpu` and `native`).
    pub cpu: Duration,
    /// Time holding the GVL (`cpu` and `hold`).
    pub locked: Duration,
    /// The part of it without a safepoint (`hold`).
    pub held: Duration,
}

impl Demand {
    /// Adds what another request asked for.
    pub fn add(&mut self, other: Self) {
        self.service += other.service;
        self.cpu += other.cpu;
        self.locked += other.locked;
        self.held += other.held;
    }
}

/// Expected nanoseconds from an op to the end of its region (the loop's body around it, or the
/// program), and the probability that the end is reached, not a failure.
#[derive(Clone, Copy)]
struct Rest {
    service: f64,
    cpu: f64,
    locked: f64,
    held: f64,
    reach: f64,
}

impl Program {
    /// Computes the expected times of a request.
    ///
    /// Choices count by weight, loops by their turns, and what stands after a failure as far as
    /// the failure is avoided.
    pub fn demand(&self) -> Demand {
        let first = self.expected(&[]);
        let duration = |ns: f64| Duration::from_nanos_u128(ns.round() as u128);
        Demand {
            service: duration(first.service),
            cpu: duration(first.cpu),
            locked: duration(first.locked),
            held: duration(first.held),
        }
    }

    /// Computes how long a request is expected to hold a connection of the pool.
    pub fn held_of(&self, pool: PoolIndex) -> Duration {
        // Backwards, where the steps that hold a connection nest, and a failure's returns, which
        // stand in front of it, are as many as the steps around it.
        let mut around = Vec::new();
        let mut returns = 0;
        let mut outside = vec![true; self.ops().len()];
        for (op, outside) in self.ops().iter().zip(&mut outside).rev() {
            match op {
                Op::Fail(_) => returns = around.len(),
                Op::Checkin(_) if returns > 0 => returns -= 1,
                Op::Checkin(of) => around.push(*of),
                Op::Checkout(_) => drop(around.pop()),
                _ => {}
            }
            *outside = !around.contains(&pool);
        }
        Duration::from_nanos_u128(self.expected(&outside).service.round() as u128)
    }

    /// What is expected from the first op on; the times of ops that are `left_out` count as nought.
    fn expected(&self, left_out: &[bool]) -> Rest {
        let ops = self.ops();
        // Backwards, so that what follows an op is known: only `Next` jumps back, and it closes a
        // region of its own.
        let mut rest = vec![Rest::END; ops.len() + 1];
        let mut outer = Vec::new();
        for (pc, op) in ops.iter().enumerate().rev() {
            let after = rest[pc + 1];
            rest[pc] = match op {
                Op::Cpu(_) | Op::Io(_) | Op::Native(_) | Op::Hold(_)
                    if left_out.get(pc) == Some(&true) =>
                {
                    after
                }
                Op::Cpu(time) => after.plus(time.mean_ns(), 1.0, 1.0, 0.0),
                Op::Io(time) => after.plus(time.mean_ns(), 0.0, 0.0, 0.0),
                Op::Native(time) => after.plus(time.mean_ns(), 1.0, 0.0, 0.0),
                Op::Hold(time) => after.plus(time.mean_ns(), 0.0, 1.0, 1.0),
                Op::Checkout(_) | Op::Checkin(_) | Op::Enter(_) | Op::Leave => after,
                Op::Next { .. } => {
                    outer.push(after);
                    Rest::END
                }
                Op::Loop { times } => {
                    let follows = outer.pop().expect("each Loop has its Next");
                    after.repeated(*times).then(follows)
                }
                Op::Choose(choices) => Rest::mixed(choices, &rest),
                Op::Jump(target) => rest[*target],
                Op::Fail(_) => Rest { reach: 0.0, ..Rest::END },
            };
        }
        rest[0]
    }
}

impl Rest {
    const END: Self = Self { service: 0.0, cpu: 0.0, locked: 0.0, held: 0.0, reach: 1.0 };

    fn plus(self, ns: f64, cpu: f64, locked: f64, held: f64) -> Self {
        Self {
            service: self.service + ns,
            cpu: self.cpu + ns * cpu,
            locked: self.locked + ns * locked,
            held: self.held + ns * held,
            reach: self.reach,
        }
    }

    fn scaled(self, by: f64) -> Self {
        Self {
            service: self.service * by,
            cpu: self.cpu * by,
            locked: self.locked * by,
            held: self.held * by,
            reach: self.reach * by,
        }
    }

    fn then(self, follows: Self) -> Self {
        Self {
            service: self.service + self.reach * follows.service,
            cpu: self.cpu + self.reach * follows.cpu,
            locked: self.locked + self.reach * follows.locked,
            held: self.held + self.reach * follows.held,
            reach: self.reach * follows.reach,
        }
    }

    /// The turns that begin number 1 + r + ... + r^(n-1), with r the chance to end one.
    fn repeated(self, times: u32) -> Self {
        let lost = 1.0 - self.reach;
        if lost == 0.0 {
            return Self { reach: 1.0, ..self.scaled(times.into()) };
        }
        // (1 - r^n) / (1 - r), in logarithms: r is close to 1 where failures are rare.
        let all = f64::from(times) * libm::log1p(-lost);
        Self { reach: libm::exp(all), ..self.scaled(-libm::expm1(all) / lost) }
    }

    fn mixed(choices: &[(f64, usize)], rest: &[Self]) -> Self {
        let mut before = 0.0;
        let mut mix = Self { reach: 0.0, ..Self::END };
        for (share, target) in choices {
            let part = rest[*target].scaled(share - before);
            mix.service += part.service;
            mix.cpu += part.cpu;
            mix.locked += part.locked;
            mix.held += part.held;
            mix.reach += part.reach;
            before = *share;
        }
        mix
    }
}
