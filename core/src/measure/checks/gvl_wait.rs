//! `gvl wait`: why an endpoint is slow: its requests wait for the lock another holds.

use super::{Warning, is_unnamed};
use crate::measure::{CeilingKind, EndpointRecording, Facts, figure};
use std::time::Duration;

/// A mean wait per request below this is lost in the noise of a scheduler.
const WAIT_MIN: Duration = Duration::from_millis(2);

/// The least share of the mean latency that is worth a word.
const LATENCY_SHARE_MIN: f64 = 0.01;

/// The least share of requests that wait at all for their p99 to show it.
const WAITING_MIN: f64 = 0.01;

/// The share of a quantum from which one wait means standing behind a busy holder.
const QUANTUM_SHARE: f64 = 0.5;

const REMEDY: &str = "serve the locked work from other processes (more workers, fewer threads), or \
                      move it into code that releases the GVL";

/// More processes get no more cores than there are.
const NO_CORE_LEFT: &str = "the cores are the bound, so more workers would only share them: run it on \
                            more cores, or with fewer threads a worker, so that requests wait where \
                            any free worker takes them";

pub(super) fn check(facts: &Facts) -> Option<Warning> {
    if !facts.shape.exclusive || facts.ok() == 0 {
        return None;
    }
    let endpoints = &facts.recording.endpoints;
    let waiting = endpoints.iter().filter(|e| waits_long(e) || waits_quanta(e, facts));
    let worst = waiting.max_by(|a, b| latency_share(a).total_cmp(&latency_share(b)))?;
    let requests = worst.requests() as f64;
    let per_request = worst.gvl_waits as f64 / requests;
    let mean_wait = Duration::from_secs_f64(worst.gvl_wait.as_secs_f64() / requests);
    Some(Warning {
        kind: "gvl wait",
        text: format!(
            "a request{} waits for the GVL {} times, {} in the mean ({} of its latency){}: {}; {}",
            if is_unnamed(worst, facts) { String::new() } else { format!(" of {}", worst.name) },
            figure::short(per_request),
            figure::ms(mean_wait),
            figure::percent(latency_share(worst)),
            single_waits(facts),
            behind(worst, endpoints, facts.shape.quantum),
            remedy(facts),
        ),
        figures: vec![
            ("waits_per_request", per_request),
            ("wait_ms_mean", figure::millis(mean_wait)),
        ],
    })
}

fn remedy(facts: &Facts) -> &'static str {
    match facts.bound_by() {
        Some(bound) if bound.kind == CeilingKind::Cores => NO_CORE_LEFT,
        _ => REMEDY,
    }
}

/// Whether the mean request loses a significant part of its latency.
fn waits_long(endpoint: &EndpointRecording) -> bool {
    let requests = endpoint.requests() as f64;
    requests > 0.0
        && endpoint.gvl_wait.as_secs_f64() >= WAIT_MIN.as_secs_f64() * requests
        && latency_share(endpoint) >= LATENCY_SHARE_MIN
}

/// Whether enough requests wait so long at once that p99 shows what the mean hides.
fn waits_quanta(endpoint: &EndpointRecording, facts: &Facts) -> bool {
    let wait = facts.recording.gvl.waits.percentile(99.0);
    let (Some(quantum), Some(wait)) = (facts.shape.quantum, wait) else {
        return false;
    };
    // The waits of all endpoints are in one histogram: this one's may all have been short.
    let at_once = quantum.mul_f64(QUANTUM_SHARE);
    endpoint.gvl_wait >= at_once
        && endpoint.gvl_waits as f64 >= WAITING_MIN * endpoint.requests() as f64
        && wait >= at_once
}

/// The share of the endpoint's latency, failures included, that was waiting for the lock.
fn latency_share(endpoint: &EndpointRecording) -> f64 {
    let latency = endpoint.latency.sum() + endpoint.failed_latency.sum();
    if latency.is_zero() { 0.0 } else { endpoint.gvl_wait.as_secs_f64() / latency.as_secs_f64() }
}

/// How long one wait is, beside the quantum.
fn single_waits(facts: &Facts) -> String {
    let waits = &facts.recording.gvl.waits;
    let name = &facts.shape.gvl_name;
    let quantum = match facts.shape.quantum {
        Some(quantum) => format!("{name}, quantum {}", figure::ms(quantum)),
        None => name.clone(),
    };
    match (waits.percentile(99.0), waits.max()) {
        (Some(p99), Some(max)) => {
            format!(
                ", one wait {} at p99 and {} at most ({quantum})",
                figure::ms(p99),
                figure::ms(max)
            )
        }
        _ => format!(" ({quantum})"),
    }
}

/// Whom it waits behind: the endpoint that holds the lock longest a request.
fn behind(
    waiting: &EndpointRecording,
    endpoints: &[EndpointRecording],
    quantum: Option<Duration>,
) -> String {
    let locked = |e: &EndpointRecording| match e.ok() {
        0 => 0.0,
        ok => e.demand.locked.as_secs_f64() / ok as f64,
    };
    match endpoints.iter().max_by(|a, b| locked(a).total_cmp(&locked(b))) {
        Some(holder) if locked(holder) > 0.0 => {
            let time = Duration::from_secs_f64(locked(holder));
            // With no safepoint, the quantum is no bound.
            let unbroken = holder.demand.held * 2 >= holder.demand.locked;
            let gives_way = match quantum {
                _ if unbroken => " without a safepoint",
                Some(quantum) if time > quantum => " and gives way only after a quantum",
                _ => "",
            };
            let time = figure::ms(time);
            if holder.name == waiting.name {
                format!(
                    "its requests stand behind each other, each holds the lock {time}{gives_way}"
                )
            } else {
                let name = &holder.name;
                format!("it stands behind {name}, which holds the lock {time} a request{gives_way}")
            }
        }
        _ => "the holder's requests had not ended".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measure::samples::{endpoint, facts, ms, recording, shape};

    fn mixed(waits: u64, wait_ms: u64) -> Facts {
        let io = endpoint("io", 50, 310).asking(104, 4, 4).waiting(waits, wait_ms);
        let cpu = endpoint("cpu", 5, 500).asking(400, 400, 400);
        let mut run = recording(5000, vec![io, cpu]);
        (0..waits).for_each(|_| run.gvl.waits.record(ms(wait_ms)));
        Facts::new(shape(0, 5), &[run], &[])
    }

    #[test]
    fn waiting_behind_a_cpu_bound_endpoint_is_the_why() {
        assert_eq!(
            check(&mixed(100, 100)).unwrap().text,
            "a request of io waits for the GVL 2.00 times, 200 ms in the mean (65 % of its latency), \
             one wait 100 ms at p99 and 100 ms at most (cruby-3.3, quantum 100 ms): it stands behind \
             cpu, which holds the lock 400 ms a request and gives way only after a quantum; serve \
             the locked work from other processes (more workers, fewer threads), or move it into \
             code that releases the GVL"
        );
    }

    #[test]
    fn rare_waits_of_a_quantum_are_told_though_the_mean_hides_them() {
        let rare = mixed(1, 60);
        assert!(!waits_long(&rare.recording.endpoints[0]));
        assert!(check(&rare).is_some());
    }

    #[test]
    fn an_endpoint_is_not_blamed_for_the_long_waits_of_another() {
        let mut facts = mixed(0, 0);
        facts.recording.gvl.waits.record(ms(500));
        facts.recording.endpoints[1].gvl_waits = 1;
        facts.recording.endpoints[1].gvl_wait = ms(1);
        assert_eq!(check(&facts), None);
    }

    #[test]
    fn a_holder_without_a_safepoint_does_not_give_way_after_a_quantum() {
        let mut facts = mixed(100, 100);
        facts.recording.endpoints[1].demand.held = ms(400) * 5;
        let text = check(&facts).unwrap().text;
        let behind =
            "it stands behind cpu, which holds the lock 400 ms a request without a safepoint; ";
        assert!(text.contains(behind), "{text}");
    }

    #[test]
    fn the_only_endpoint_without_a_name_is_a_request() {
        let steps = endpoint("all", 24, 52).asking(17, 17, 17).waiting(24, 34);
        let text = check(&facts(shape(0, 3), 410, vec![steps])).unwrap().text;
        assert!(text.starts_with("a request waits for the GVL 1.00 times, 34 ms"), "{text}");
    }

    #[test]
    fn more_workers_are_no_remedy_where_the_cores_are_the_bound() {
        let with_cores = |cores| {
            let cpu = endpoint("cpu", 390, 60).asking(5, 5, 5).waiting(390, 40);
            let mut shape = shape(4, 3);
            shape.cores = cores;
            check(&facts(shape, 1000, vec![cpu])).unwrap().text
        };
        assert!(with_cores(2).ends_with(NO_CORE_LEFT));
        assert!(with_cores(8).ends_with(REMEDY));
    }

    #[test]
    fn short_waits_and_no_lock_stay_silent() {
        assert_eq!(check(&mixed(50, 1)), None);
        let mut free = mixed(100, 100);
        free.shape.exclusive = false;
        assert_eq!(check(&free), None);
    }

    #[test]
    fn a_single_endpoint_stands_behind_itself() {
        let cpu = endpoint("cpu", 24, 52).asking(17, 17, 17).waiting(24, 34);
        let text = check(&facts(shape(0, 3), 410, vec![cpu])).unwrap().text;
        assert!(text.contains("its requests stand behind each other, each holds the lock 17 ms"));
    }
}
