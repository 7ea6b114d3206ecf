//! `{ checkout = "db", steps = [...] }`: runs steps holding a connection of a pool.

use super::{Kind, Scope, Step, StepKind, Steps};
use crate::value::{Node, Value};
use crate::workload::ops::Lowering;

const KEY: &str = "checkout";

pub(super) const KIND: Kind = Kind { key: KEY, read };

const NAME_MAX: usize = 100;

struct Checkout {
    pool: String,
    steps: Steps,
}

/// Runs steps holding a connection of the pool, which a workload names with its size.
///
/// The request waits while all are taken, for the pool's timeout at most. The connection goes back
/// at the end of the steps, or when a [`fail`](super::fail()) inside ends the request.
pub fn checkout(pool: impl Into<String>, steps: impl IntoIterator<Item = Step>) -> Step {
    Step::new(Checkout { pool: pool.into(), steps: Steps::new(steps) })
}

fn read(node: &Node<'_>, scope: &mut Scope) -> Option<Step> {
    let fields = node.table(&[KEY, "steps"])?;
    let at = fields.need(KEY, "the name of a pool")?;
    let name = at.name(NAME_MAX);
    // The steps inside are read even if the pool is wrong, to tell their mistakes too.
    let held = name.and_then(|name| scope.hold(at, name));
    let steps = fields.need("steps", "a list of steps").and_then(|n| Steps::read_some(n, scope));
    if held.is_some() {
        scope.give_back();
    }
    held?;
    Some(checkout(name?, steps?.iter().cloned()))
}

impl StepKind for Checkout {
    fn to_value(&self) -> Value {
        Value::table([(KEY, Value::text(&self.pool)), ("steps", self.steps.to_value())])
    }

    fn lower(&self, lowering: &mut Lowering<'_>) {
        lowering.holding(&self.pool, &self.steps);
    }

    fn lists(&self) -> Vec<&Steps> {
        vec![&self.steps]
    }

    fn executed(&self) -> u64 {
        self.steps.size().executed.saturating_add(1)
    }
}
