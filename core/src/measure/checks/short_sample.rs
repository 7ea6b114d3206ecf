//! `short sample`: so few requests a slot that rounding decides.

use super::Warning;
use crate::measure::{Facts, figure};

/// Below this many requests a slot, one request more in the last round moves the throughput by over
/// 10 %.
const ROUNDS_MIN: f64 = 10.0;

/// Below this many requests, 1 % of them is less than one.
const P99_MIN: u64 = 100;

pub(super) fn check(facts: &Facts) -> Option<Warning> {
    let ok = facts.ok();
    // Every replication is rounded by itself. Where nothing bounds the slots, each user is one.
    let slots = facts.shape.slots.or(facts.shape.users).filter(|n| *n > 0)?;
    let each = ok as f64 / facts.replications.len().max(1) as f64;
    let rounds = each / slots as f64;
    if ok == 0 || rounds >= ROUNDS_MIN {
        return None;
    }
    let p99 = if ok < P99_MIN {
        format!(", and p99 is just the slowest of {}", figure::count(ok, "request"))
    } else {
        String::new()
    };
    Some(Warning {
        kind: "short sample",
        text: format!(
            "{} successful requests on {} are {} rounds: rounding decides the throughput{p99}; \
             run at least {} requests",
            figure::number(each),
            figure::count(slots, "slot"),
            figure::number(rounds),
            (slots * ROUNDS_MIN as u64).max(P99_MIN),
        ),
        figures: vec![("requests", each), ("slots", slots as f64), ("rounds", rounds)],
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measure::samples::{endpoint, facts, recording, shape};

    #[test]
    fn two_rounds_are_a_short_sample() {
        let warning = check(&facts(shape(4, 3), 232, vec![endpoint("io", 24, 100)])).unwrap();
        assert_eq!(
            warning.text,
            "24 successful requests on 12 slots are 2 rounds: rounding decides the throughput, and \
             p99 is just the slowest of 24 requests; run at least 120 requests"
        );
    }

    #[test]
    fn ten_rounds_are_enough() {
        assert_eq!(check(&facts(shape(4, 3), 1000, vec![endpoint("io", 120, 100)])), None);
    }

    #[test]
    fn replications_do_not_lengthen_each_other() {
        let runs = vec![recording(232, vec![endpoint("io", 24, 100)]); 5];
        let warning = check(&Facts::new(shape(4, 3), &runs, &[])).unwrap();
        assert!(warning.text.contains("are 2 rounds"), "{}", warning.text);
        assert!(!warning.text.contains("slowest"), "{}", warning.text);
    }
}
