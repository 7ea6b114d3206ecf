//! `throttled`: the server had used its CPU quota, and stood still until the next period.

use super::Warning;
use crate::measure::{Facts, figure, share};

/// The share of the time below which nobody notices: a period in a thousand.
const SHARE_MIN: f64 = 0.001;

pub(super) fn check(facts: &Facts) -> Option<Warning> {
    let throttled = facts.recording.throttled?;
    let share = share(throttled.time, facts.recording.whole())?;
    if share < SHARE_MIN {
        return None;
    }
    let quota = facts.shape.quota.map(|cpus| format!(" of {} CPU", figure::number(cpus)));
    let mean = throttled.time.div_f64(throttled.periods_throttled.max(1) as f64);
    Some(Warning {
        kind: "throttled",
        text: format!(
            "the server had used its quota{} in {} of {} periods and then stood still, for {} in the \
             mean ({} of the time): requests under way wait for the next period, and so does who \
             waits for a lock that is held; raise the quota, or have no more threads and workers \
             compute at once than it has CPUs",
            quota.unwrap_or_default(),
            throttled.periods_throttled,
            throttled.periods,
            figure::ms(mean),
            figure::percent(share),
        ),
        figures: vec![
            ("share", share),
            ("periods", throttled.periods as f64),
            ("periods_throttled", throttled.periods_throttled as f64),
        ],
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measure::Throttled;
    use crate::measure::samples::{endpoint, ms, recording, shape};

    fn told(time: u64, periods_throttled: u64) -> Option<String> {
        let mut run = recording(1000, vec![endpoint("cpu", 10, 100)]);
        run.throttled = Some(Throttled { periods: 10, periods_throttled, time: ms(time) });
        let shape = crate::measure::Shape { quota: Some(0.5), ..shape(0, 1) };
        check(&Facts::new(shape, &[run], &[])).map(|warning| warning.text)
    }

    #[test]
    fn a_server_that_stands_still_is_told() {
        let text = told(450, 9).unwrap();
        let start = "the server had used its quota of 0.5 CPU in 9 of 10 periods and then stood \
                     still, for 50 ms in the mean (45 % of the time): ";
        assert!(text.starts_with(start), "{text}");
    }

    #[test]
    fn one_that_does_not_is_not() {
        assert_eq!(told(0, 0), None);
        let run = recording(1000, vec![endpoint("cpu", 10, 100)]);
        assert_eq!(check(&Facts::new(shape(0, 1), &[run], &[])), None);
    }
}
