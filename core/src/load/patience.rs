//! How long a client waits for an answer, and how often it asks again.
//!
//! `load` reads and prints it; the engines ask it when a client gives up, and what then. Holds no
//! clock: what a retry draws is named by its request and its attempt.

use crate::clock::{Nanos, nanos};
use crate::random::Stream;
use crate::value::{Fields, Value};
use crate::workload::{Dist, duration};
use std::time::Duration;

pub(super) const TIMEOUT: &str = "timeout";
pub(super) const RETRIES: &str = "retries";
pub(super) const RETRY_AFTER: &str = "retry_after";

const TIMEOUT_ALLOWED: &str = "a duration from 1ns to 24h with a unit, such as \"30s\"";
/// The most retries of a request.
const RETRIES_MAX: u32 = 100;

/// How long clients wait for an answer, and how often they ask again: by default for ever, so never.
///
/// A client that has waited for `timeout` since it began an attempt closes its connection; an answer
/// that comes at that moment is late. The server goes on (see [`crate::model::Socket`]); the client
/// begins another attempt over a new connection, or its request has failed as `timeout`, or as `connect
/// timeout` where its system gave up connecting first. An answer that tells of an error, such as
/// `{ fail = 500 }`, is an answer: it is not asked for again.
///
/// ```
/// use gvl_lab::load::closed;
/// use gvl_lab::workload::{exp, ms, secs};
/// let load = closed(8).requests(80).timeout(ms(500)).retries(2).retry_after(exp(ms(100)));
/// load.check().unwrap();
/// assert!(closed(8).duration(secs(1)).retries(2).check().is_err());
/// ```
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Patience {
    /// How long a client waits from the beginning of an attempt, above 0 and at most 24 hours.
    pub timeout: Option<Duration>,
    /// Attempts after the first, 0 to 100; by default none.
    pub retries: Option<u32>,
    /// How long a client waits before it tries again; by default not at all.
    pub retry_after: Option<Dist>,
}

impl Patience {
    pub(super) fn read(fields: &Fields<'_>) -> Option<Self> {
        let timeout = match fields.get(TIMEOUT) {
            Some(node) => {
                let allowed = Duration::from_nanos(1)..=duration::MAX;
                duration::read_within(node, allowed, TIMEOUT_ALLOWED).map(Some)
            }
            None => Some(None),
        };
        let retries = match fields.get(RETRIES) {
            Some(node) if fields.get(TIMEOUT).is_none() => {
                node.refuse_as("this key", "a timeout beside it")
            }
            Some(node) => node.int(0..=RETRIES_MAX.into()).map(|n| Some(n as u32)),
            None => Some(None),
        };
        let retry_after = match fields.get(RETRY_AFTER) {
            Some(node) if fields.get(RETRIES).is_none() => {
                node.refuse_as("this key", "retries beside it")
            }
            Some(node) => Dist::read(node).map(Some),
            None => Some(None),
        };
        Some(Self { timeout: timeout?, retries: retries?, retry_after: retry_after? })
    }

    pub(super) fn to_fields(&self) -> Vec<(&'static str, Value)> {
        let mut fields = Vec::new();
        fields.extend(self.timeout.map(|d| (TIMEOUT, Value::text(duration::print(d)))));
        fields.extend(self.retries.map(|n| (RETRIES, Value::Int(n.into()))));
        fields.extend(self.retry_after.as_ref().map(|d| (RETRY_AFTER, d.to_value())));
        fields
    }

    /// When a client that begins an attempt at `now` gives it up, if ever.
    pub(crate) fn gives_up(&self, now: Nanos) -> Option<Nanos> {
        self.timeout.map(|timeout| now.saturating_add(nanos(timeout)))
    }

    /// How long the client of a request, numbered as in its load, waits after it gave up that attempt;
    /// `None` where it does not try again.
    pub(crate) fn next(&self, seed: u64, number: u64, attempt: u32) -> Option<Duration> {
        if attempt >= self.retries.unwrap_or(0) {
            return None;
        }
        let Some(pause) = &self.retry_after else { return Some(Duration::ZERO) };
        Some(pause.draw(&mut Stream::new(seed, "retry after", place(number, attempt))))
    }
}

/// What the steps of an attempt draw from: a retry takes its own time, as long as chance has it.
pub(crate) fn stream_of(seed: u64, number: u64, attempt: u32) -> Stream {
    match attempt {
        0 => Stream::new(seed, "request", number),
        _ => Stream::new(seed, "retry", place(number, attempt)),
    }
}

/// A number of an attempt's own.
fn place(number: u64, attempt: u32) -> u64 {
    number.wrapping_mul(u64::from(RETRIES_MAX) + 1).wrapping_add(attempt.into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::load::{Load, closed, open};
    use crate::value::Node;
    use crate::workload::{exp, ms, secs};

    fn read(text: &str) -> Result<Load, String> {
        let text = format!("closed = {{ users = 1, requests = 1 }}\n{text}");
        let value = Value::from_toml(&text).unwrap();
        Node::read_all(&value, "load", Load::read).map_err(|error| error.to_string())
    }

    #[test]
    fn it_reads_back() {
        for load in [
            closed(8).requests(80).timeout(ms(500)),
            closed(8).requests(80).timeout(ms(500)).retries(0),
            open(8.0).duration(secs(8)).timeout(ms(1)).retries(100).retry_after(exp(ms(3))),
        ] {
            assert_eq!(Node::read_all(&load.to_value(), "load", Load::read), Ok(load.clone()));
            assert_eq!(load.check(), Ok(()));
        }
        let patience =
            read("timeout = '30s'\nretries = 2\nretry_after = '100ms'").unwrap().patience;
        assert_eq!((patience.timeout, patience.retries), (Some(secs(30)), Some(2)));
        assert_eq!(patience.retry_after, Some(ms(100).into()));
    }

    #[test]
    fn anything_else_is_told() {
        for (text, expected) in [
            ("timeout = '0s'", "load.timeout: \"0s\" is not allowed, expected a duration from 1ns"),
            (
                "timeout = 30",
                "load.timeout: 30 is not allowed, expected a duration from 1ns to 24h",
            ),
            ("timeout = '25h'", "load.timeout: \"25h\" is not allowed, expected a duration"),
            ("retries = 1", "load.retries: this key is not allowed, expected a timeout beside it"),
            (
                "timeout = '1s'\nretries = -1",
                "load.retries: -1 is not allowed, expected a whole number in 0..=100",
            ),
            (
                "timeout = '1s'\nretries = 101",
                "load.retries: 101 is not allowed, expected a whole number in 0..=100",
            ),
            (
                "timeout = '1s'\nretry_after = '1s'",
                "load.retry_after: this key is not allowed, expected retries beside it",
            ),
            (
                "timeout = '1s'\nretries = 1\nretry_after = 'soon'",
                "load.retry_after: \"soon\" is not allowed",
            ),
        ] {
            let told = read(text).unwrap_err();
            assert!(told.starts_with(expected), "{text}: {told}");
        }
    }

    #[test]
    fn a_request_is_tried_as_often_as_it_says() {
        let patience = closed(1).timeout(ms(5)).retries(2).retry_after(exp(ms(7))).patience;
        assert_eq!(patience.gives_up(10), Some(5_000_010));
        let pauses = [0, 1, 2].map(|attempt| patience.next(1, 3, attempt));
        assert!(pauses[0].is_some() && pauses[1].is_some() && pauses[0] != pauses[1]);
        assert_eq!(pauses[2], None);
        let draws = [(3, 0), (3, 1), (3, 2), (4, 1)].map(|(n, attempt)| {
            let mut stream = stream_of(1, n, attempt);
            stream.bits()
        });
        assert_eq!(std::collections::BTreeSet::from(draws).len(), 4);
    }
}
