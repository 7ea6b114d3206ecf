//! `imbalance`: workers took requests so unevenly that chance does not explain it.

use super::Warning;
use crate::measure::{Facts, Handout, Took, figure};

/// The least ratio of the busiest worker to the mean that is worth a word: below it, a worker of
/// four slots has not one request more under way than its share.
const RATIO_MIN: f64 = 1.25;

/// From this chance on, even workers may have done the same: one row in a thousand is blamed
/// wrongly.
const CHANCE_MAX: f64 = 0.001;

const KEPT: &str = "connections are kept, so a user stays with the worker that accepted its \
                    connection, however many others do; end connections after fewer requests, or put \
                    a proxy in front that hands out each request";

const ACCEPTED: &str = "each worker accepts for itself, and a busy one may take what an idle one \
                        could; let workers accept only while they have a free slot, or later the \
                        busier they are, or hand out requests from one queue";

const ASSIGNED: &str = "each request got its worker as it came, and a worker that is full or gone for \
                        a while falls behind; let requests wait in one queue for the next free slot";

const QUEUED: &str = "a worker takes the next request when it has a free slot, so those that took \
                      fewer were slower or came late, or there was less to do than slots; compare \
                      GVL wait, CPU and losses by worker";

const UNKNOWN: &str = "requests do not go where slots are free, or some workers are slower; compare \
                       latency, GVL wait and CPU by worker, and hand out requests from one queue";

pub(super) fn check(facts: &Facts) -> Option<Warning> {
    let imbalance = facts.imbalance.as_ref()?;
    // The requests of a single user never meet, whoever takes them.
    let meets = facts.shape.users != Some(1);
    if !meets || imbalance.ratio < RATIO_MIN || imbalance.chance >= CHANCE_MAX {
        return None;
    }
    let (busiest, idlest) = (imbalance.busiest, imbalance.idlest);
    Some(Warning {
        kind: "imbalance",
        text: format!(
            "worker {} took {} of {}, worker {} took {}{}{}: {}",
            busiest.worker,
            busiest.requests,
            figure::count(imbalance.requests, "request"),
            idlest.worker,
            idlest.requests,
            latencies(&busiest, &idlest),
            even_share(facts, imbalance.ratio),
            why(facts),
        ),
        figures: vec![("ratio", imbalance.ratio), ("chance", imbalance.chance)],
    })
}

/// What that meant for who was there.
fn latencies(busiest: &Took, idlest: &Took) -> String {
    match (busiest.p99, idlest.p99) {
        (Some(most), Some(fewest)) => {
            format!(" (p99 {} and {})", figure::ms(most), figure::ms(fewest))
        }
        _ => String::new(),
    }
}

fn even_share(facts: &Facts, ratio: f64) -> String {
    let mean = if facts.replications.len() > 1 { " in the mean of all runs" } else { "" };
    format!(", and the busiest has {} times an even share{mean}", figure::short(ratio))
}

fn why(facts: &Facts) -> &'static str {
    match facts.shape.handout {
        Some(Handout::Accepted) if facts.shape.keep_alive => KEPT,
        Some(Handout::Accepted) => ACCEPTED,
        Some(Handout::Assigned) => ASSIGNED,
        Some(Handout::Queued) => QUEUED,
        None if facts.shape.keep_alive => KEPT,
        None => UNKNOWN,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measure::samples::{cluster, of_workers, shape, worker};

    const UNEVEN: [u32; 4] = [61, 30, 20, 9];

    fn of(answered: &[u32]) -> Option<Warning> {
        check(&Facts::new(shape(4, 3), &[cluster(2000, answered, 100)], &[]))
    }

    #[test]
    fn users_who_keep_their_connections_crowd_one_worker() {
        let ms = [310, 210, 105, 105];
        let workers: Vec<_> =
            (0..4).map(|n| worker(n, n, UNEVEN[n as usize], ms[n as usize])).collect();
        let mut shape = shape(4, 3);
        shape.keep_alive = true;
        let facts = Facts::new(shape, &[of_workers(2000, &workers)], &[]);
        assert_eq!(
            check(&facts).unwrap().text,
            "worker 0 took 61 of 120 requests, worker 3 took 9 (p99 310 ms and 105 ms), and the busiest \
             has 2.03 times an even share: connections are kept, so a user stays with the worker that \
             accepted its connection, however many others do; end connections after fewer requests, \
             or put a proxy in front that hands out each request"
        );
    }

    #[test]
    fn the_remedy_is_that_of_the_way_to_the_worker() {
        let with = |handout, keep_alive| {
            let mut shape = shape(4, 3);
            (shape.handout, shape.keep_alive) = (handout, keep_alive);
            let facts = Facts::new(shape, &[cluster(2000, &UNEVEN, 100)], &[]);
            check(&facts).unwrap().text
        };
        for (handout, remedy) in [
            (Some(Handout::Accepted), ACCEPTED),
            (Some(Handout::Assigned), ASSIGNED),
            (Some(Handout::Queued), QUEUED),
            (None, UNKNOWN),
        ] {
            assert!(with(handout, false).ends_with(remedy), "{handout:?}");
        }
        assert!(with(Some(Handout::Queued), true).ends_with(QUEUED));
    }

    #[test]
    fn a_worker_that_answered_nothing_has_no_latency() {
        let text = of(&[60, 60, 0, 0]).unwrap().text;
        assert!(
            text.starts_with("worker 0 took 60 of 120 requests, worker 3 took 0, and the"),
            "{text}"
        );
    }

    #[test]
    fn chance_and_small_differences_are_not_told() {
        // 39 / 30 is far, and 120 throws of a die of four give it more often than once in a thousand.
        assert_eq!(of(&[39, 30, 27, 24]), None);
        // No chance, and no matter.
        assert_eq!(of(&[12_000, 10_000, 9_000, 9_000]), None);
        assert_eq!(of(&[1, 0, 0, 0]), None);
    }

    #[test]
    fn replications_that_favour_different_workers_are_told() {
        let runs = [cluster(1000, &[90, 30], 100), cluster(1000, &[30, 90], 100)];
        let text = check(&Facts::new(shape(2, 3), &runs, &[])).unwrap().text;
        assert!(text.contains("1.50 times an even share in the mean of all runs"), "{text}");
    }

    #[test]
    fn one_user_and_one_process_are_no_matter() {
        let mut alone = shape(4, 3);
        alone.users = Some(1);
        assert_eq!(check(&Facts::new(alone, &[cluster(2000, &UNEVEN, 100)], &[])), None);
        assert_eq!(of(&[120]), None);
    }
}
