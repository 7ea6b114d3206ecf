//! `failures`: some requests failed, by kind.

use super::{Warning, by_kind};
use crate::measure::{Facts, figure};

pub(super) fn check(facts: &Facts) -> Option<Warning> {
    let failed = facts.overall.failures();
    if failed == 0 || facts.ok() == 0 {
        return None;
    }
    Some(Warning {
        kind: "failures",
        text: format!(
            "{failed} of {} failed ({}): throughput and latency are of the successful ones only, and \
             a failure that is quick leaves its slot to others; mend them before comparing rows",
            figure::count(facts.overall.requests(), "request"),
            by_kind(facts),
        ),
        figures: vec![("failed", failed as f64), ("requests", facts.overall.requests() as f64)],
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measure::samples::{endpoint, facts, shape};

    #[test]
    fn failures_are_told_by_kind() {
        let some = endpoint("io", 117, 100).failing("status 500", 2).failing("timed out", 1);
        let warning = check(&facts(shape(0, 1), 12_000, vec![some])).unwrap();
        let start = "3 of 120 requests failed (2 status 500, 1 timed out): ";
        assert!(warning.text.starts_with(start), "{}", warning.text);
    }

    #[test]
    fn all_or_nothing_is_not_its_concern() {
        let none = vec![endpoint("io", 9, 100)];
        let all = vec![endpoint("io", 0, 0).failing("panicked", 9)];
        assert_eq!(check(&facts(shape(0, 1), 1000, none)), None);
        assert_eq!(check(&facts(shape(0, 1), 1000, all)), None);
    }
}
