//! `overloaded`: an open stream brought more than the server served, so its queue only grew.
//!
//! Silent where `unstable_load` has said so from the demands alone.

use super::Warning;
use crate::measure::{Facts, Offered, figure};

/// The share of unfinished requests from which a queue, not the cut of the last moment, is left.
const SHARE_MIN: f64 = 0.05;

pub(super) fn check(facts: &Facts) -> Option<Warning> {
    let unfinished = facts.recording.unfinished;
    let served = facts.overall.requests();
    let at_work = match facts.shape.slots {
        Some(slots) => slots * facts.replications.len() as u64,
        None => under_way(facts, unfinished + served)?,
    };
    let share = unfinished as f64 / (unfinished + served).max(1) as f64;
    let foreseen = facts.shape.offered.as_ref().is_some_and(Offered::is_unstable);
    if foreseen || facts.shape.users.is_some() || unfinished <= at_work || share < SHARE_MIN {
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

/// The requests under way at the ends of all replications where nothing bounds the slots and none
/// waits, doubled for chance: arrivals per second x service time (Little, "A Proof for the Queuing
/// Formula L = lambda W", 1961). `None` where no success tells the service time.
fn under_way(facts: &Facts, arrived: u64) -> Option<u64> {
    let (ok, elapsed) = (facts.ok(), facts.recording.elapsed.as_secs_f64());
    if ok == 0 || elapsed == 0.0 {
        return None;
    }
    let service = facts.overall.demand.service.as_secs_f64() / ok as f64;
    let each = arrived as f64 / elapsed * service;
    Some((2.0 * each * facts.replications.len() as f64).ceil() as u64)
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
    fn async_requests_that_are_under_way_are_no_queue() {
        // 100 a second of 500 ms are 50 under way at any time.
        let with = |answered, unfinished| {
            let mut run = recording(2000, vec![endpoint("io", answered, 500)]);
            run.unfinished = unfinished;
            let mut shape = shape(1, 1);
            shape.slots = None;
            check(&Facts::new(shape, &[run], &[]))
        };
        assert_eq!(with(150, 50), None);
        assert_eq!(with(0, 50), None);
        assert!(with(60, 140).is_some());
    }

    #[test]
    fn what_the_end_cuts_off_is_no_overload() {
        assert_eq!(with_unfinished(8, None), None);
        assert_eq!(with_unfinished(90, Some(100)), None);
    }
}
