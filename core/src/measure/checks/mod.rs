//! Plausibility checks: each looks at one row and may doubt it.
//!
//! `report` runs them all. A check is a function of [`Facts`] alone, in a file of its own that words
//! its warning and the remedy; adding one is that file and a line in [`CHECKS`].

mod abandoned;
mod backlog;
mod blocked_loop;
mod busy_machine;
mod failures;
mod gvl_wait;
mod imbalance;
mod impossible;
mod load_limited;
mod lost_workers;
mod no_success;
mod overloaded;
mod oversubscribed_cpu;
mod short_sample;
mod throttled;
mod too_many_connections;
mod unstable_load;
mod warm_up;

use super::{EndpointRecording, Facts};
use crate::workload::ONLY;
use serde::Serialize;

pub use impossible::KIND as IMPOSSIBLE;

/// Looks at one row; `None` where it has no doubt.
pub type Check = fn(&Facts) -> Option<Warning>;

/// All checks, the gravest first.
pub const CHECKS: &[Check] = &[
    impossible::check,
    no_success::check,
    failures::check,
    lost_workers::check,
    too_many_connections::check,
    busy_machine::check,
    short_sample::check,
    load_limited::check,
    unstable_load::check,
    warm_up::check,
    overloaded::check,
    abandoned::check,
    backlog::check,
    imbalance::check,
    gvl_wait::check,
    blocked_loop::check,
    oversubscribed_cpu::check,
    throttled::check,
];

/// What a check doubts.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Warning {
    /// The check's name, such as `short sample`.
    pub kind: &'static str,
    /// What was seen, what it means and what to do, lower case, without a full stop.
    pub text: String,
    /// The figures behind the text, by name; not in the JSON document.
    #[serde(skip)]
    pub figures: Vec<(&'static str, f64)>,
}

/// Runs all checks on one row, in the order of [`CHECKS`].
pub fn run(facts: &Facts) -> Vec<Warning> {
    CHECKS.iter().filter_map(|check| check(facts)).collect()
}

/// Whether an endpoint is the only one and has no name of its own.
fn is_unnamed(endpoint: &EndpointRecording, facts: &Facts) -> bool {
    facts.recording.endpoints.len() == 1 && endpoint.name == ONLY
}

/// Failures by kind as a sentence has them: `2 status 500, 1 timed out`.
fn by_kind(facts: &Facts) -> String {
    let kinds: Vec<_> =
        facts.overall.failed.iter().map(|(kind, n)| format!("{n} {kind}")).collect();
    kinds.join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measure::samples::{endpoint, facts, shape};

    #[test]
    fn a_sound_row_has_no_warnings() {
        let mut shape = shape(0, 12);
        shape.users = Some(12);
        let endpoints = vec![endpoint("io", 1200, 105).asking(100, 1, 1).waiting(10, 1)];
        assert_eq!(run(&facts(shape, 10_500, endpoints)), []);
    }
}
