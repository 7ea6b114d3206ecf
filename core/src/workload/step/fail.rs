//! `{ fail = 500 }`: ends the request with an error status.

use super::{Kind, Scope, Step, StepKind};
use crate::value::{Node, Value};
use crate::workload::ops::Lowering;

const KEY: &str = "fail";

pub(super) const KIND: Kind = Kind { key: KEY, read };

struct Fail {
    status: u16,
}

/// Ends the request with a status of 400 to 599; connections it holds go back first.
pub fn fail(status: u16) -> Step {
    Step::new(Fail { status })
}

fn read(node: &Node<'_>, _: &mut Scope) -> Option<Step> {
    let fields = node.table(&[KEY])?;
    let status = fields.need(KEY, "a status")?.int(400..=599)?;
    Some(fail(status as u16))
}

impl StepKind for Fail {
    fn to_value(&self) -> Value {
        Value::table([(KEY, Value::Int(self.status.into()))])
    }

    fn lower(&self, lowering: &mut Lowering<'_>) {
        lowering.fail(self.status);
    }
}
