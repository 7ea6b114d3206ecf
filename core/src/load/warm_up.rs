//! How much of a run's beginning is left out of its figures.
//!
//! `experiment` reads and prints it; the engines hand it to `measure`, which leaves it out.

use super::until::Until;
use crate::value::{Node, Value};
use crate::workload::duration;
use std::time::Duration;

const AUTO: &str = "auto";
const ALLOWED: &str =
    "\"auto\", a duration from 1ns to 24h such as \"5s\", or a number of requests from 1";

/// How much of the beginning of a run is left out: caches, queues and threads are not yet as they
/// will be. By default nothing is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WarmUp {
    /// As much as makes the rest steady, found by MSER-5 in the latencies: the simulator only, which
    /// runs once to find it and once more without it.
    Auto,
    /// What is answered in this time from the start.
    Time(Duration),
    /// So many answers.
    Requests(u64),
}

impl WarmUp {
    /// Reads it at a place of a document.
    pub(crate) fn read(node: &Node<'_>) -> Option<Self> {
        match node.value() {
            Value::Text(text) if text == AUTO => Some(Self::Auto),
            Value::Text(text) => match duration::parse(text) {
                Ok(time) if !time.is_zero() => Some(Self::Time(time)),
                _ => node.refuse(ALLOWED),
            },
            Value::Int(n) if *n >= 1 => Some(Self::Requests(*n as u64)),
            _ => node.refuse(ALLOWED),
        }
    }

    /// Writes what [`WarmUp::read`] reads back.
    pub(crate) fn to_value(self) -> Value {
        match self {
            Self::Auto => Value::text(AUTO),
            Self::Time(time) => Value::text(duration::print(time)),
            Self::Requests(n) => Value::Int(i64::try_from(n).unwrap_or(i64::MAX)),
        }
    }

    /// What may be left out of a run that ends so, where this is too much.
    pub(crate) fn beyond(self, until: Until) -> Option<String> {
        match (self, until) {
            (Self::Time(warm_up), Until::Duration(run)) if warm_up >= run => {
                Some(format!("less than the run of {}", duration::print(run)))
            }
            (Self::Requests(warm_up), Until::Requests(run)) if warm_up >= run => {
                Some(format!("less than the {run} requests of the run"))
            }
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(value: &Value) -> Result<WarmUp, String> {
        Node::read_all(value, "warmup", WarmUp::read).map_err(|error| error.to_string())
    }

    #[test]
    fn it_reads_back() {
        for warm_up in
            [WarmUp::Auto, WarmUp::Time(Duration::from_millis(1500)), WarmUp::Requests(200)]
        {
            assert_eq!(read(&warm_up.to_value()), Ok(warm_up));
        }
    }

    #[test]
    fn anything_else_is_told() {
        for value in [Value::text("5"), Value::text("0s"), Value::Int(0), Value::Bool(true)] {
            let expected = format!("warmup: {value} is not allowed, expected {ALLOWED}");
            assert_eq!(read(&value), Err(expected));
        }
    }
}
