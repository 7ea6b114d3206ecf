//! `warm-up`: nothing says that the run was steady, or most of it was not measured.

use super::Warning;
use crate::measure::{Facts, figure, share};

/// The share of the time from which more was left out than measured.
const SHARE_MAX: f64 = 0.5;

pub(super) fn check(facts: &Facts) -> Option<Warning> {
    let left_out = facts.recording.left_out?;
    let whole = facts.recording.whole();
    let share = share(left_out.time, whole)?;
    let text = if left_out.unsettled {
        "the run never settles: its latencies still change in its second half (MSER-5), so that \
         nothing was left out; make it longer, or ask whether the load has a steady state at all"
            .to_owned()
    } else if share > SHARE_MAX {
        format!(
            "{} of {} ({}) were left out as warm-up: more than was measured; make the run longer",
            figure::ms(left_out.time),
            figure::ms(whole),
            figure::percent(share),
        )
    } else {
        return None;
    };
    Some(Warning { kind: "warm-up", text, figures: vec![("share", share)] })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measure::LeftOut;
    use crate::measure::samples::{endpoint, ms, recording, shape};

    fn told(left_out: LeftOut) -> Option<String> {
        let mut run = recording(1000, vec![endpoint("io", 100, 100)]);
        run.left_out = Some(left_out);
        check(&Facts::new(shape(0, 12), &[run], &[])).map(|warning| warning.text)
    }

    #[test]
    fn more_left_out_than_measured_is_told() {
        let of = |time| told(LeftOut { time: ms(time), ..LeftOut::default() });
        assert_eq!(of(1000), None);
        assert_eq!(
            of(1500).unwrap(),
            "1500 ms of 2500 ms (60 %) were left out as warm-up: more than was measured; make the \
             run longer"
        );
    }

    #[test]
    fn a_run_that_never_settles_is_told() {
        let text = told(LeftOut { unsettled: true, ..LeftOut::default() }).unwrap();
        assert!(text.starts_with("the run never settles"), "{text}");
    }
}
