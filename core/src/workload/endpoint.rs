//! An endpoint: one kind of request, its share of the load, and its steps.
//!
//! `Workload` holds them; `load` picks among them by weight, or binds closed-loop users to one.

use super::step::{Scope, Step, Steps};
use super::weight;
use crate::value::{Node, Value};

/// The most steps that one request may run, all repeats counted.
pub const EXECUTED_MAX: u64 = 1_000_000;

const NAME_MAX: usize = 100;
const USERS_MAX: u32 = 1_000_000;

/// One kind of request.
#[derive(Debug, Clone, PartialEq)]
pub struct Endpoint {
    /// Names it in reports, 1 to 100 characters.
    pub name: String,
    /// Its share of the requests, relative to the other endpoints; above 0, default 1.
    pub weight: f64,
    /// The closed-loop users that only ask for it, 1 to 1,000,000; by default users ask for any.
    pub users: Option<u32>,
    /// What a request does, in order; at least one step.
    pub steps: Steps,
}

impl Endpoint {
    /// Makes an endpoint of weight 1.
    pub fn new(name: impl Into<String>, steps: impl IntoIterator<Item = Step>) -> Self {
        Self { name: name.into(), weight: 1.0, users: None, steps: Steps::new(steps) }
    }

    /// Changes its share of the requests.
    pub fn weight(mut self, weight: f64) -> Self {
        self.weight = weight;
        self
    }

    /// Binds closed-loop users to it.
    pub fn users(mut self, users: u32) -> Self {
        self.users = Some(users);
        self
    }

    pub(super) fn to_value(&self) -> Value {
        let mut fields = vec![("name", Value::text(&self.name))];
        if self.weight != 1.0 {
            fields.push(("weight", weight::to_value(self.weight)));
        }
        if let Some(users) = self.users {
            fields.push(("users", Value::Int(users.into())));
        }
        fields.push(("steps", self.steps.to_value()));
        Value::table(fields)
    }

    pub(super) fn read(node: &Node<'_>, scope: &mut Scope) -> Option<Self> {
        let fields = node.table(&["name", "weight", "users", "steps"])?;
        let name = fields.need("name", "the endpoint's name").and_then(|n| n.name(NAME_MAX));
        let weight = fields.get("weight").map_or(Some(1.0), weight::read);
        let users = match fields.get("users") {
            Some(node) => node.int(1..=USERS_MAX.into()).map(|n| Some(n as u32)),
            None => Some(None),
        };
        let steps = fields.need("steps", "a list of steps").and_then(|n| read_steps(n, scope));
        Some(Self { name: name?.to_owned(), weight: weight?, users: users?, steps: steps? })
    }
}

/// Reads all steps of one request.
pub(super) fn read_steps(node: &Node<'_>, scope: &mut Scope) -> Option<Steps> {
    let steps = Steps::read_some(node, scope)?;
    let executed = steps.size().executed;
    if executed > EXECUTED_MAX {
        return node.refuse_as(
            format!("{executed} steps run by one request"),
            format!("at most {EXECUTED_MAX} after all repeats"),
        );
    }
    Some(steps)
}
