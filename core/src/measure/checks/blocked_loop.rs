//! `blocked loop`: a task kept the event loop, and nothing else ran meanwhile.

use super::Warning;
use crate::measure::{Facts, figure};

pub(super) fn check(facts: &Facts) -> Option<Warning> {
    let event_loop = facts.recording.event_loop.as_ref()?;
    let polls = event_loop.long_polls.iter().filter(|poll| poll.count > 0);
    let worst = polls.max_by_key(|poll| poll.total)?;
    let max = figure::ms(worst.max);
    let times = figure::count(worst.count, "time");
    Some(Warning {
        kind: "blocked loop",
        text: format!(
            "{} kept the event loop {times} for {} or longer, {max} at most: nothing else ran \
             meanwhile; offload it to a thread (a `def` handler) or make its waiting async",
            worst.task,
            figure::ms(event_loop.threshold),
        ),
        figures: vec![
            ("long_polls", worst.count as f64),
            ("poll_ms_max", figure::millis(worst.max)),
        ],
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::executor::LongPoll;
    use crate::measure::LoopUse;
    use crate::measure::samples::{facts, ms, shape};

    fn with_polls(long_polls: Vec<LongPoll>) -> Option<Warning> {
        let mut facts = facts(shape(1, 1), 1000, Vec::new());
        facts.recording.event_loop =
            Some(LoopUse { threshold: ms(20), long_polls, ..Default::default() });
        check(&facts)
    }

    #[test]
    fn the_task_that_kept_the_loop_longest_is_named() {
        let poll = |task: &str, count, total, max| LongPoll {
            task: task.to_owned(),
            count,
            total: ms(total),
            max: ms(max),
        };
        let warning = with_polls(vec![poll("io", 9, 200, 25), poll("cpu", 4, 1600, 410)]).unwrap();
        assert_eq!(
            warning.text,
            "cpu kept the event loop 4 times for 20 ms or longer, 410 ms at most: nothing else ran \
             meanwhile; offload it to a thread (a `def` handler) or make its waiting async"
        );
    }

    #[test]
    fn a_loop_without_long_polls_and_no_loop_stay_silent() {
        assert_eq!(with_polls(Vec::new()), None);
        assert_eq!(check(&facts(shape(1, 1), 1000, Vec::new())), None);
    }
}
