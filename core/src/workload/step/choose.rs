//! `{ choose = [{ weight = 3, steps = [...] }, ...] }`: runs one of several lists of steps.

use super::steps::{SAMPLES_MAX, STEPS_MAX};
use super::{Kind, Scope, Step, StepKind, Steps};
use crate::value::{Node, Value};
use crate::workload::ops::{Lowering, Op};
use crate::workload::weight;

const KEY: &str = "choose";

pub(super) const KIND: Kind = Kind { key: KEY, read };

const CHOICES_MAX: usize = 1000;

struct Choose {
    choices: Vec<(f64, Steps)>,
}

/// Runs one of up to 1,000 lists of steps, picked by weight; a list may be empty.
///
/// Weights are relative to their sum, finite and above 0.
pub fn choose<S: IntoIterator<Item = Step>>(choices: impl IntoIterator<Item = (f64, S)>) -> Step {
    let (mut steps, mut samples) = (0, 0);
    let mut taken = Vec::new();
    // One choice beyond the limit is enough to have it refused, and so with steps.
    for (weight, list) in choices.into_iter().take(CHOICES_MAX + 1) {
        let list = Steps::new(list);
        steps += list.size().steps;
        samples += list.size().samples;
        taken.push((weight, list));
        if steps > STEPS_MAX || samples > SAMPLES_MAX {
            break;
        }
    }
    Step::new(Choose { choices: taken })
}

fn read(node: &Node<'_>, scope: &mut Scope) -> Option<Step> {
    let fields = node.table(&[KEY])?;
    let node = fields.need(KEY, "a list of choices")?;
    let items = node.list("a list of choices")?;
    if items.is_empty() || items.len() > CHOICES_MAX {
        return node.refuse(format!("1 to {CHOICES_MAX} choices"));
    }
    let choices: Vec<_> = items.iter().map(|item| read_choice(item, scope)).collect();
    let choices = choices.into_iter().collect::<Option<Vec<_>>>()?;
    Some(Step::new(Choose { choices }))
}

fn read_choice(node: &Node<'_>, scope: &mut Scope) -> Option<(f64, Steps)> {
    if scope.is_full() {
        return None;
    }
    let fields = node.table(&["weight", "steps"])?;
    let weight = fields.need("weight", "a number above 0").and_then(weight::read);
    let steps = fields.need("steps", "a list of steps").and_then(|n| Steps::read(n, scope));
    Some((weight?, steps?))
}

impl StepKind for Choose {
    fn to_value(&self) -> Value {
        let choices = self.choices.iter().map(|(weight, steps)| {
            Value::table([("weight", weight::to_value(*weight)), ("steps", steps.to_value())])
        });
        Value::table([(KEY, Value::List(choices.collect()))])
    }

    fn lower(&self, lowering: &mut Lowering<'_>) {
        let shares = weight::cumulative(self.choices.iter().map(|(weight, _)| *weight));
        let choose = lowering.push(Op::Jump(0));
        let mut targets = Vec::with_capacity(shares.len());
        let mut jumps = Vec::with_capacity(shares.len());
        for (share, (_, steps)) in shares.into_iter().zip(&self.choices) {
            targets.push((share, lowering.here()));
            lowering.steps(steps);
            jumps.push(lowering.push(Op::Jump(0)));
        }
        let end = lowering.here();
        for jump in jumps {
            lowering.set(jump, Op::Jump(end));
        }
        lowering.set(choose, Op::Choose(targets.into()));
    }

    fn lists(&self) -> Vec<&Steps> {
        self.choices.iter().map(|(_, steps)| steps).collect()
    }

    fn executed(&self) -> u64 {
        let longest = self.choices.iter().map(|(_, steps)| steps.size().executed).max();
        longest.unwrap_or(0).saturating_add(1)
    }
}
