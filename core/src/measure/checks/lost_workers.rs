//! `lost workers`: processes ended during the run without being told to.

use super::Warning;
use crate::measure::{Facts, figure};

/// The kind of a failed request whose worker is gone, as `executor::TaskError` names it.
const FAILED: &str = "worker lost";

pub(super) fn check(facts: &Facts) -> Option<Warning> {
    let workers = &facts.recording.workers;
    let lost: u64 = workers.iter().map(|worker| worker.lost).sum();
    let failed = facts.overall.failed.get(FAILED).copied().unwrap_or_default();
    if lost == 0 && failed == 0 {
        return None;
    }
    let mut by_worker: Vec<_> = workers.iter().filter(|worker| worker.lost > 0).collect();
    by_worker.sort_by_key(|worker| std::cmp::Reverse(worker.lost));
    let who = match by_worker.as_slice() {
        [] => "a worker process ended by itself".to_owned(),
        [one] => format!("worker {} ended by itself {}", one.number, times(lost)),
        [most, ..] => format!(
            "{} ended by themselves {}, worker {} most often",
            figure::count(by_worker.len() as u64, "worker"),
            times(lost),
            most.number,
        ),
    };
    let with_it = match failed {
        0 => "no request failed with it".to_owned(),
        n => format!("{} failed with it", figure::count(n, "request")),
    };
    Some(Warning {
        kind: "lost workers",
        text: format!(
            "{who}, and {with_it}: the others bore its share until a new process was ready, so the \
             figures are of fewer slots; see how it ended (an exit status is its own doing; signal 9 \
             is mostly the system out of memory, or a supervisor whose worker was too slow), mend \
             that and run again",
        ),
        figures: vec![("lost", lost as f64), ("failed", failed as f64)],
    })
}

/// As a sentence has it.
fn times(n: u64) -> String {
    if n == 1 { "once".to_owned() } else { format!("{n} times") }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::executor::{Exit, TaskError};
    use crate::measure::samples::{cluster, of_workers, shape, worker};

    fn with(lost: [u64; 3], failed: u64) -> Option<Warning> {
        let kind = TaskError::WorkerLost { pid: 100, exit: Exit::Signal(9) }.kind();
        let mut workers = [0, 1, 2].map(|n| worker(n, 100 + n, 40, 100));
        (0..3).for_each(|n| workers[n].lost = lost[n]);
        if failed > 0 {
            workers[0] = workers[0].clone().failing(kind, failed);
        }
        check(&Facts::new(shape(3, 3), &[of_workers(2000, &workers)], &[]))
    }

    #[test]
    fn a_lost_worker_and_what_went_with_it_are_told() {
        let text = with([0, 0, 2], 3).unwrap().text;
        let start = "worker 2 ended by itself 2 times, and 3 requests failed with it: ";
        assert!(text.starts_with(start), "{text}");
        let text = with([1, 0, 2], 0).unwrap().text;
        let start = "2 workers ended by themselves 3 times, worker 2 most often, and no request ";
        assert!(text.starts_with(start), "{text}");
        assert!(with([0, 0, 0], 3).unwrap().text.starts_with("a worker process ended by itself, "));
    }

    #[test]
    fn workers_that_stayed_are_not() {
        let run = cluster(1000, &[30, 30, 30, 30], 100);
        assert_eq!(check(&Facts::new(shape(4, 3), &[run], &[])), None);
    }
}
