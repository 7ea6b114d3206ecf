//! `blocked loop`: a task kept the event loop, and nothing else ran meanwhile.

use super::{Warning, is_unnamed};
use crate::executor::LongPoll;
use crate::measure::{EndpointRecording, Facts, figure};

const OFFLOAD: &str = "offload it to a thread (a `def` handler) or make its waiting async";
const ELSEWHERE: &str = "a thread (a `def` handler) would not help, since it keeps the GVL as well; \
                         serve it from another process, or make it release the GVL";

pub(super) fn check(facts: &Facts) -> Option<Warning> {
    let event_loop = facts.recording.event_loop.as_ref()?;
    let polls = event_loop.long_polls.iter().filter(|poll| poll.count > 0);
    let worst = polls.max_by_key(|poll| poll.total)?;
    let max = figure::ms(worst.max);
    let endpoint = facts.recording.endpoints.iter().find(|endpoint| endpoint.name == worst.task);
    let name = match endpoint {
        Some(endpoint) if is_unnamed(endpoint, facts) => "the handler",
        _ => worst.task.as_str(),
    };
    let remedy = match endpoint {
        Some(endpoint) if facts.shape.exclusive && keeps_lock(endpoint, worst) => ELSEWHERE,
        _ => OFFLOAD,
    };
    let times = figure::count(worst.count, "time");
    let among = if facts.shape.processes > 1 { " in its worker" } else { "" };
    Some(Warning {
        kind: "blocked loop",
        text: format!(
            "{name} kept the event loop {times} for {} or longer, {max} at most: nothing else ran\
             {among} meanwhile; {remedy}",
            figure::ms(event_loop.threshold),
        ),
        figures: vec![
            ("long_polls", worst.count as f64),
            ("poll_ms_max", figure::millis(worst.max)),
        ],
    })
}

/// Whether most of the long polls was keeping the GVL without a safepoint.
fn keeps_lock(endpoint: &EndpointRecording, polls: &LongPoll) -> bool {
    endpoint.demand.held * 2 >= polls.total
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measure::LoopUse;
    use crate::measure::samples::{endpoint, facts, ms, shape};

    fn with_polls(workers: u32, long_polls: Vec<LongPoll>) -> Option<Warning> {
        let mut facts = facts(shape(workers, 1), 1000, Vec::new());
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
        let polls = vec![poll("io", 9, 200, 25), poll("cpu", 4, 1600, 410)];
        let warning = with_polls(1, polls.clone()).unwrap();
        assert_eq!(
            warning.text,
            "cpu kept the event loop 4 times for 20 ms or longer, 410 ms at most: nothing else ran \
             meanwhile; offload it to a thread (a `def` handler) or make its waiting async"
        );
        let text = with_polls(4, polls).unwrap().text;
        assert!(text.contains("nothing else ran in its worker meanwhile; "), "{text}");
    }

    #[test]
    fn a_thread_is_no_remedy_for_what_keeps_the_lock() {
        let mut report = endpoint("report", 10, 300).asking(300, 0, 200);
        report.demand.held = ms(200) * 10;
        let mut facts = facts(shape(1, 1), 3000, vec![report, endpoint("ping", 90, 5)]);
        let long_polls =
            vec![LongPoll { task: "report".into(), count: 10, total: ms(2010), max: ms(204) }];
        facts.recording.event_loop =
            Some(LoopUse { threshold: ms(20), long_polls, ..Default::default() });
        let text = check(&facts).unwrap().text;
        assert!(text.ends_with(ELSEWHERE), "{text}");
        facts.recording.endpoints[0].demand.held = ms(10);
        let text = check(&facts).unwrap().text;
        assert!(text.ends_with(OFFLOAD), "{text}");
    }

    #[test]
    fn a_loop_without_long_polls_and_no_loop_stay_silent() {
        assert_eq!(with_polls(1, Vec::new()), None);
        assert_eq!(check(&facts(shape(1, 1), 1000, Vec::new())), None);
    }
}
