//! `{ repeat = 5, steps = [...] }`: runs steps several times.

use super::{Kind, Scope, Step, StepKind, Steps};
use crate::value::{Node, Value};
use crate::workload::ops::{Lowering, Op};

const KEY: &str = "repeat";

pub(super) const KIND: Kind = Kind { key: KEY, read };

const TIMES_MAX: u32 = 1_000_000;

struct Repeat {
    times: u32,
    steps: Steps,
}

/// Runs steps several times, 1 to 1,000,000, drawing their durations anew each time.
pub fn repeat(times: u32, steps: impl IntoIterator<Item = Step>) -> Step {
    Step::new(Repeat { times, steps: Steps::new(steps) })
}

fn read(node: &Node<'_>, scope: &mut Scope) -> Option<Step> {
    let fields = node.table(&[KEY, "steps"])?;
    let times = fields.need(KEY, "how many times").and_then(|n| n.int(1..=TIMES_MAX.into()));
    let steps = fields.need("steps", "a list of steps").and_then(|n| Steps::read_some(n, scope));
    Some(repeat(times? as u32, steps?.iter().cloned()))
}

impl StepKind for Repeat {
    fn to_value(&self) -> Value {
        Value::table([(KEY, Value::Int(self.times.into())), ("steps", self.steps.to_value())])
    }

    fn lower(&self, lowering: &mut Lowering<'_>) {
        lowering.push(Op::Loop { times: self.times });
        let back = lowering.here();
        lowering.steps(&self.steps);
        lowering.push(Op::Next { back });
    }

    fn lists(&self) -> Vec<&Steps> {
        vec![&self.steps]
    }

    fn executed(&self) -> u64 {
        self.steps.size().executed.saturating_mul(self.times.into()).saturating_add(1)
    }
}
