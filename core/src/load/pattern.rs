//! The two patterns of arrivals, as a document has them.
//!
//! `load` reads and prints them here; `closed` and `open` time them.

use super::until::Until;
use crate::value::{Node, Value};
use crate::workload::Dist;
use std::time::Duration;

/// The most users of a closed loop.
const USERS_MAX: u32 = 1_000_000;

/// The highest rate, per second: one in a microsecond.
const RATE_MAX: f64 = 1e6;

const ARRIVALS_ALLOWED: &str = "\"poisson\" or \"constant\"";

/// When requests arrive.
#[derive(Debug, Clone, PartialEq)]
pub enum Pattern {
    /// Each user waits for its answer, thinks, and asks again.
    Closed {
        /// How many users there are, 1 to 1,000,000.
        users: u32,
        /// Users that start per second, above 0 and at most 1,000,000; by default all at once.
        spawn_rate: Option<f64>,
        /// The pause between an answer and the user's next request.
        think: Dist,
        /// When it ends; `None` only in a built load, which `check` refuses.
        until: Option<Until>,
    },
    /// Requests arrive whether or not earlier ones have been answered.
    Open {
        /// Requests per second, above 0 and at most 1,000,000.
        rate: f64,
        /// The gaps between them.
        arrivals: Arrivals,
        /// When it ends; `None` only in a built load, which `check` refuses.
        until: Option<Until>,
    },
}

/// The gaps between the requests of an open stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Arrivals {
    /// All equal; the first request arrives at the start.
    Constant,
    /// Exponential: independent of each other, as of many users who do not know of each other.
    #[default]
    Poisson,
}

impl Pattern {
    pub(super) fn read_closed(node: &Node<'_>) -> Option<Self> {
        let fields = node.table(&["users", "spawn_rate", "think", "requests", "duration"])?;
        let users = fields
            .need("users", "a number of users")
            .and_then(|users| users.int(1..=USERS_MAX.into()));
        let spawn_rate = fields.get("spawn_rate").map_or(Some(None), |n| read_rate(n).map(Some));
        let think = fields.get("think").map_or(Some(Dist::Constant(Duration::ZERO)), Dist::read);
        let until = Until::read(&fields);
        Some(Self::Closed {
            users: users? as u32,
            spawn_rate: spawn_rate?,
            think: think?,
            until: Some(until?),
        })
    }

    pub(super) fn read_open(node: &Node<'_>) -> Option<Self> {
        let fields = node.table(&["rate", "arrivals", "requests", "duration"])?;
        let rate = fields.need("rate", "requests per second").and_then(read_rate);
        let arrivals = fields.get("arrivals").map_or(Some(Arrivals::default()), Arrivals::read);
        let until = Until::read(&fields);
        Some(Self::Open { rate: rate?, arrivals: arrivals?, until: Some(until?) })
    }

    /// The pattern's key and the fields of its table.
    pub(super) fn to_fields(&self) -> (&'static str, Vec<(&'static str, Value)>) {
        let (key, mut fields, until) = match self {
            Self::Closed { users, spawn_rate, think, until } => {
                let mut fields = vec![("users", Value::Int((*users).into()))];
                fields.extend(spawn_rate.map(|rate| ("spawn_rate", Value::Float(rate))));
                fields.push(("think", think.to_value()));
                ("closed", fields, until)
            }
            Self::Open { rate, arrivals, until } => {
                let fields = vec![("rate", Value::Float(*rate)), ("arrivals", arrivals.to_value())];
                ("open", fields, until)
            }
        };
        fields.extend(until.map(Until::to_field));
        (key, fields)
    }
}

impl Arrivals {
    fn read(node: &Node<'_>) -> Option<Self> {
        match node.text(ARRIVALS_ALLOWED)? {
            "poisson" => Some(Self::Poisson),
            "constant" => Some(Self::Constant),
            _ => node.refuse(ARRIVALS_ALLOWED),
        }
    }

    fn to_value(self) -> Value {
        Value::text(match self {
            Self::Constant => "constant",
            Self::Poisson => "poisson",
        })
    }
}

fn read_rate(node: &Node<'_>) -> Option<f64> {
    let rate = match node.value() {
        Value::Int(n) => *n as f64,
        Value::Float(x) => *x,
        _ => f64::NAN,
    };
    if rate > 0.0 && rate <= RATE_MAX {
        return Some(rate);
    }
    node.refuse(format!("a number above 0, at most {RATE_MAX}"))
}
