//! `no success`: nothing was answered successfully, of a whole row or of an endpoint.

use super::{Warning, by_kind};
use crate::measure::{EndpointRecording, Facts};

pub(super) fn check(facts: &Facts) -> Option<Warning> {
    if facts.ok() > 0 {
        return some_endpoints(facts);
    }
    let failed = facts.overall.failures();
    let text = if failed == 0 {
        "0 requests were answered: there is no throughput; run longer or send more requests"
            .to_owned()
    } else {
        format!(
            "0 ok, {failed} failed ({}): there is no throughput; mend the failures and run again",
            by_kind(facts)
        )
    };
    Some(Warning { kind: "no success", text, figures: vec![("failed", failed as f64)] })
}

/// Endpoints that have no figures beside others that have.
fn some_endpoints(facts: &Facts) -> Option<Warning> {
    let none: Vec<&EndpointRecording> =
        facts.recording.endpoints.iter().filter(|endpoint| endpoint.ok() == 0).collect();
    if none.is_empty() {
        return None;
    }
    let names: Vec<_> =
        none.iter().map(|e| format!("{} (0 ok, {} failed)", e.name, e.failures())).collect();
    let failed: u64 = none.iter().map(|endpoint| endpoint.failures()).sum();
    Some(Warning {
        kind: "no success",
        text: format!(
            "no successful request of {}: the figures of the row are of the other endpoints; run \
             longer, or see what keeps or fails these",
            names.join(", "),
        ),
        figures: vec![("failed", failed as f64)],
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measure::samples::{endpoint, facts, shape};

    #[test]
    fn a_run_of_failures_has_no_success() {
        let failed = vec![endpoint("home", 0, 0).failing("status 500", 320)];
        let warning = check(&facts(shape(0, 1), 60_000, failed)).unwrap();
        assert_eq!(
            warning.text,
            "0 ok, 320 failed (320 status 500): there is no throughput; mend the failures and run \
             again"
        );
    }

    #[test]
    fn an_endpoint_that_never_had_a_turn_is_named() {
        let endpoints = vec![endpoint("extension", 19, 50), endpoint("io", 0, 0)];
        let text = check(&facts(shape(0, 4), 1000, endpoints)).unwrap().text;
        assert!(text.starts_with("no successful request of io (0 ok, 0 failed): "), "{text}");
    }

    #[test]
    fn one_success_is_enough_to_stay_silent() {
        let some = vec![endpoint("home", 1, 100).failing("status 500", 320)];
        assert_eq!(check(&facts(shape(0, 1), 60_000, some)), None);
    }
}
