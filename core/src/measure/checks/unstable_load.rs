//! `unstable load`: an open stream asks for more than the bottleneck has, so that the length of the
//! run decides each latency.

use super::Warning;
use crate::measure::{CeilingKind, Facts, figure};

/// The warning's kind.
pub const KIND: &str = "unstable load";

pub(super) fn check(facts: &Facts) -> Option<Warning> {
    let offered = facts.shape.offered.as_ref().filter(|offered| offered.is_unstable())?;
    let (rate, most) = (figure::number(offered.rate), figure::number(offered.ceiling.rps));
    let what_happens = match offered.ceiling.kind {
        CeilingKind::Pool => {
            "requests wait for a connection until they fail or the threads are gone"
        }
        _ => {
            "the queue grows as long as the run lasts, and every latency with it: its length decides \
              them"
        }
    };
    let remedy = match offered.ceiling.kind {
        CeilingKind::Slots => "add slots",
        CeilingKind::Cores => "add cores",
        CeilingKind::Quota => "raise the CPU quota",
        CeilingKind::Pool => "add connections",
        _ => "add processes",
    };
    Some(Warning {
        kind: KIND,
        text: format!(
            "{rate} requests per second arrive and at most {most} are served, {}: {what_happens}; \
             lower load.open.rate below {most}, or {remedy}",
            offered.words(),
        ),
        figures: vec![
            ("utilisation", offered.utilisation()),
            ("rate", offered.rate),
            ("ceiling_rps", offered.ceiling.rps),
        ],
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::load::open;
    use crate::measure::Offered;
    use crate::measure::samples::{endpoint, recording, shape};
    use crate::workload::{io, ms, secs};

    fn at_rate(rate: f64) -> Option<Warning> {
        let mut shape = shape(0, 12);
        let load = open(rate).duration(secs(1));
        shape.offered = Offered::of(&shape, &[io(ms(100))].into(), &load);
        check(&Facts::new(shape, &[recording(1000, vec![endpoint("io", 100, 100)])], &[]))
    }

    #[test]
    fn the_bottleneck_the_rate_and_the_remedy_are_told() {
        assert_eq!(
            at_rate(150.0).unwrap().text,
            "150 requests per second arrive and at most 120 are served, utilisation 1.25 of the \
             slots (12 slots / 100 ms): the queue grows as long as the run lasts, and every latency \
             with it: its length decides them; lower load.open.rate below 120, or add slots"
        );
        assert!(at_rate(120.0).is_some());
    }

    #[test]
    fn a_stable_load_is_not_doubted() {
        assert_eq!(at_rate(119.0), None);
    }
}
