//! `overloaded`: an open stream brings more than the server serves, so its queue only grows.

use super::Warning;
use crate::measure::{Facts, figure};

/// The share of unfinished requests from which a queue, not the cut of the last moment, is left.
const SHARE_MIN: f64 = 0.05;

pub(super) fn check(facts: &Facts) -> Option<Warning> {
    let unfinished = facts.recording.unfinished;
    let served = facts.overall.requests();
    let at_work = facts.shape.slots.unwrap_or(0) * facts.replications.len() as u64;
    let share = unfinished as f64 / (unfinished + served).max(1) as f64;
    if facts.shape.users.is_some() || unfinished <= at_work || share < SHARE_MIN {
        return None;
    }
    let arrived = unfinished + served;
    Some(Warning {
        kind: "overloaded",
        text: format!(
            "{unfinished} of {} had not ended when the time was over ({}): more arrive than the \
             server serves, the queue grows as long as the run lasts and every latency with it; \
             lower the rate, or add slots",
            figure::count(arrived, "request"),
            figure::percent(share),
        ),
        figures: vec![("unfinished", unfinished as f64), ("arrived", arrived as f64)],
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measure::samples::{endpoint, recording, shape};

    fn with_unfinished(unfinished: u64, users: Option<u64>) -> Option<Warning> {
        let mut run = recording(1000, vec![endpoint("io", 90, 100)]);
        run.unfinished = unfinished;
        let mut shape = shape(0, 8);
        shape.users = users;
        check(&Facts::new(shape, &[run], &[]))
    }

    #[test]
    fn a_queue_that_is_left_is_told() {
        let text = with_unfinished(90, None).unwrap().text;
        assert!(text.starts_with("90 of 180 requests had not ended when the time was over (50 %)"));
    }

    #[test]
    fn what_the_end_cuts_off_is_no_overload() {
        assert_eq!(with_unfinished(8, None), None);
        assert_eq!(with_unfinished(90, Some(100)), None);
    }
}
