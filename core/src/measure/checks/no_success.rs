//! `no success`: nothing was answered successfully.

use super::{Warning, by_kind};
use crate::measure::Facts;

pub(super) fn check(facts: &Facts) -> Option<Warning> {
    if facts.ok() > 0 {
        return None;
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
    fn one_success_is_enough_to_stay_silent() {
        let some = vec![endpoint("home", 1, 100).failing("status 500", 320)];
        assert_eq!(check(&facts(shape(0, 1), 60_000, some)), None);
    }
}
