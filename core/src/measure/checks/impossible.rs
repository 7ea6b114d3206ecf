//! `impossible`: a figure above its ceiling.

use super::Warning;
use crate::measure::{Ceiling, CeilingKind, Facts, facts::rate, figure};

/// The warning's kind.
pub const KIND: &str = "impossible";

/// What a figure may exceed its ceiling by: clocks of 10 ms ticks over runs of a second.
const TOLERANCE: f64 = 0.01;

pub(super) fn check(facts: &Facts) -> Option<Warning> {
    // Those that began in the warm-up did some of their work there.
    let carried = facts.recording.left_out.map_or(0, |left_out| left_out.carried);
    let measured = rate(facts.ok().saturating_sub(carried), facts.recording.elapsed);
    let measured = measured.map(|rps| ("measured".to_owned(), rps));
    let published = facts.published.iter().filter(|(key, _)| key.ends_with("_rps"));
    let doubted = doubt(measured, lowest(facts, |kind| bounds(facts, kind))).or_else(|| {
        // A published figure is of another machine, whose cores are not known here.
        let elsewhere = |kind| kind != CeilingKind::Cores && bounds(facts, kind);
        let lowest = lowest(facts, elsewhere);
        published
            .map(|(key, rps)| (format!("published {key}"), *rps))
            .find_map(|figure| doubt(Some(figure), lowest))
    });
    let (what, rps, ceiling) = doubted?;
    Some(Warning {
        kind: KIND,
        text: format!(
            "{what} {} rps is above the ceiling of {} rps ({}): requests were counted that did not \
             do their work; count successes only and check that each answer took its service time",
            figure::number(rps),
            figure::number(ceiling.rps),
            ceiling.formula,
        ),
        figures: vec![("throughput_rps", rps), ("ceiling_rps", ceiling.rps)],
    })
}

/// Whether a ceiling holds for every run: the first requests of users come before any thought, and
/// the last ones may use up a period of the quota that the run does not see the end of.
fn bounds(facts: &Facts, kind: CeilingKind) -> bool {
    match kind {
        CeilingKind::Users | CeilingKind::LoadLimited => facts.shape.think.is_zero(),
        CeilingKind::Quota => false,
        _ => true,
    }
}

fn lowest(facts: &Facts, of: impl Fn(CeilingKind) -> bool) -> Option<&Ceiling> {
    facts.ceilings.iter().filter(|c| of(c.kind)).min_by(|a, b| a.rps.total_cmp(&b.rps))
}

fn doubt(
    figure: Option<(String, f64)>,
    ceiling: Option<&Ceiling>,
) -> Option<(String, f64, &Ceiling)> {
    let ((what, rps), ceiling) = (figure?, ceiling?);
    (rps > ceiling.rps * (1.0 + TOLERANCE)).then_some((what, rps, ceiling))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measure::Facts;
    use crate::measure::samples::{endpoint, facts, recording, shape};

    #[test]
    fn sixteen_rps_of_one_slot_and_100_ms_are_impossible() {
        let warning = check(&facts(shape(0, 1), 10_000, vec![endpoint("io", 163, 100)])).unwrap();
        assert_eq!(warning.kind, "impossible");
        assert!(
            warning.text.starts_with(
                "measured 16.3 rps is above the ceiling of 10 rps (1 slot / 100 ms): "
            ),
            "{}",
            warning.text
        );
    }

    #[test]
    fn one_percent_above_is_the_clock() {
        assert_eq!(check(&facts(shape(0, 1), 9_910, vec![endpoint("io", 100, 100)])), None);
    }

    #[test]
    fn first_requests_come_before_any_thought() {
        let mut shape = shape(0, 24);
        (shape.users, shape.think) = (Some(24), std::time::Duration::from_secs(1));
        assert_eq!(check(&facts(shape, 101, vec![endpoint("io", 24, 100)])), None);
    }

    fn published(key: &str, rps: f64) -> Option<Warning> {
        let run = recording(10_600, vec![endpoint("io", 100, 100).asking(100, 100, 0)]);
        let mut shape = shape(0, 2);
        shape.cores = 1;
        check(&Facts::new(shape, &[run], &[(key.to_owned(), rps)]))
    }

    #[test]
    fn a_published_figure_is_doubted_too_but_not_for_the_cores_here() {
        let warning = published("reported_rps", 32.6).unwrap();
        assert!(warning.text.starts_with("published reported_rps 32.6 rps"), "{}", warning.text);
        assert_eq!(published("throughput_rps", 19.0), None);
        assert_eq!(published("avg_ms", 100.0), None);
    }
}
