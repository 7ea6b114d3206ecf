//! `oversubscribed cpu`: the processors bound the run, not the server's model.

use super::Warning;
use crate::measure::{CeilingKind, Facts, figure};

/// The share of the processors' time from which they count as busy; the load generator and the
/// system have the rest.
const BUSY: f64 = 0.9;

pub(super) fn check(facts: &Facts) -> Option<Warning> {
    let ceiling = facts.bound_by().filter(|ceiling| ceiling.kind == CeilingKind::Cores)?;
    let busy = facts.cpu_share().filter(|share| *share >= BUSY)?;
    Some(Warning {
        kind: "oversubscribed cpu",
        text: format!(
            "the processors were {} busy ({}): the figures are of this machine rather than of the \
             server; run it on more cores, or in the simulator",
            figure::percent(busy),
            ceiling.formula,
        ),
        figures: vec![("cpu_share", busy), ("cores", f64::from(facts.shape.cores))],
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measure::samples::{endpoint, ms, recording, shape};

    fn with_cpu(cpu_ms: u64) -> Option<Warning> {
        let mut run = recording(1000, vec![endpoint("cpu", 200, 40).asking(20, 20, 20)]);
        run.cpu = ms(cpu_ms);
        check(&Facts::new(shape(8, 3), &[run], &[]))
    }

    #[test]
    fn busy_processors_are_told() {
        let text = with_cpu(3920).unwrap().text;
        assert!(
            text.starts_with("the processors were 98 % busy (4 cores / 20 ms CPU): "),
            "{text}"
        );
    }

    #[test]
    fn idle_processors_are_not() {
        assert_eq!(with_cpu(2000), None);
    }
}
