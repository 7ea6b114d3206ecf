//! When a load ends: after so many requests, or after a time.
//!
//! `pattern` reads and prints it; `driver` asks its [`Limit`] whether one more request may start.

use crate::clock::{self, Nanos};
use crate::value::{Fields, Node, Value};
use crate::workload::duration;
use std::time::Duration;

const REQUESTS_MAX: u64 = 100_000_000;
const DURATION_ALLOWED: &str = "a duration from 1ns to 24h with a unit, such as \"60s\"";

/// When a load ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Until {
    /// After so many requests, 1 to 100,000,000.
    Requests(u64),
    /// After a time, above 0 and at most 24 hours: no request starts at its end or later.
    Duration(Duration),
}

impl Until {
    /// Reads it from the fields of a pattern, of which it is one.
    pub(super) fn read(fields: &Fields<'_>) -> Option<Self> {
        match (fields.get("requests"), fields.get("duration")) {
            (Some(node), None) => {
                node.int(1..=REQUESTS_MAX as i64).map(|n| Self::Requests(n as u64))
            }
            (None, Some(node)) => read_duration(node).map(Self::Duration),
            (Some(_), Some(_)) => {
                fields.node().refuse_as("requests beside duration", "one of the two")
            }
            (None, None) => {
                fields.node().refuse_as("neither requests nor duration", "one of the two")
            }
        }
    }

    pub(super) fn to_field(self) -> (&'static str, Value) {
        match self {
            // A number beyond 63 bits is as much too large as the largest.
            Self::Requests(n) => ("requests", Value::Int(i64::try_from(n).unwrap_or(i64::MAX))),
            Self::Duration(d) => ("duration", Value::Text(duration::print(d))),
        }
    }
}

/// What is left of a load: how many requests may start, and until when.
#[derive(Debug, Clone, Copy)]
pub(super) struct Limit {
    /// The requests that have started; also the number of the next one.
    started: u64,
    requests: u64,
    end: Nanos,
}

impl Limit {
    /// A load without an end, which `check` refuses, has no requests.
    pub fn new(until: Option<Until>) -> Self {
        let (requests, end) = match until {
            None => (0, 0),
            Some(Until::Requests(n)) => (n, Nanos::MAX),
            Some(Until::Duration(d)) => (u64::MAX, clock::nanos(d)),
        };
        Self { started: 0, requests, end }
    }

    /// Whether a request due at `due` may start.
    pub fn allows(&self, due: Nanos) -> bool {
        self.started < self.requests && due < self.end
    }

    /// Counts one request that starts, and gives its number.
    pub fn start(&mut self) -> u64 {
        let number = self.started;
        self.started += 1;
        number
    }
}

fn read_duration(node: &Node<'_>) -> Option<Duration> {
    match duration::parse(node.text(DURATION_ALLOWED)?) {
        Ok(d) if !d.is_zero() => Some(d),
        _ => node.refuse(DURATION_ALLOWED),
    }
}
