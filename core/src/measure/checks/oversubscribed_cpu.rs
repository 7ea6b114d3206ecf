//! `oversubscribed cpu`: the processors bound the run, not the server's model.
//!
//! More processes than cores make a second queue below their locks: a thread that holds its lock
//! waits for a core, and all threads of its process wait for that thread.

use super::Warning;
use super::busy_machine::{cpu_of_computing, is_own_doing};
use crate::measure::figure::{self, percent};
use crate::measure::{CeilingKind, Facts};

/// The share of the processors' time from which they count as busy; the load generator and the
/// system have the rest.
const BUSY: f64 = 0.9;

pub(super) fn check(facts: &Facts) -> Option<Warning> {
    let busy = facts.cpu_share()?;
    let ceiling = facts.bound_by().filter(|ceiling| ceiling.kind == CeilingKind::Cores);
    let full = ceiling
        .filter(|_| busy >= BUSY)
        .map(|ceiling| format!("the processors were {} busy ({})", percent(busy), ceiling.formula));
    let second = second_queue(facts);
    let remedy = match second {
        Some(_) => "run it on more cores, with fewer workers, or in the simulator",
        None => "run it on more cores, or in the simulator",
    };
    let seen: Vec<_> = full.into_iter().chain(second).collect();
    if seen.is_empty() {
        return None;
    }
    Some(Warning {
        kind: "oversubscribed cpu",
        text: format!(
            "{}: the figures are of this machine rather than of the server; {remedy}",
            seen.join(", and "),
        ),
        figures: vec![
            ("cpu_share", busy),
            ("cores", f64::from(facts.shape.cores)),
            ("processes", f64::from(facts.shape.processes)),
        ],
    })
}

/// How processes that outnumber the cores kept each other waiting.
fn second_queue(facts: &Facts) -> Option<String> {
    let (processes, cores) = (facts.shape.processes, facts.shape.cores);
    let share = cpu_of_computing(facts).filter(|_| is_own_doing(facts))?;
    Some(format!(
        "{processes} processes share {} ({} under their locks had {} of CPU, {}), so that whoever \
         holds a lock waits for a core, and the other threads of its process with it",
        figure::count(u64::from(cores), "core"),
        figure::ms(facts.computing()),
        figure::ms(facts.recording.cpu),
        percent(share),
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measure::samples::{endpoint, ms, recording, shape};

    fn with_cpu(cpu_ms: u64) -> Option<Warning> {
        let mut run = recording(1000, vec![endpoint("cpu", 200, 40).asking(20, 20, 20)]);
        run.cpu = ms(cpu_ms);
        check(&Facts::new(shape(8, 3), &[run], &[]))
    }

    #[test]
    fn busy_processors_are_told() {
        let text = with_cpu(3920).unwrap().text;
        assert!(
            text.starts_with("the processors were 98 % busy (4 cores / 20 ms CPU): "),
            "{text}"
        );
    }

    #[test]
    fn idle_processors_are_not() {
        assert_eq!(with_cpu(2000), None);
    }

    fn four_workers_on(cores: u32, hold: u64, cpu: u64) -> Option<Warning> {
        let mut run = recording(1000, vec![endpoint("cpu", 390, 20).asking(5, 5, 5)]);
        (run.gvl.hold, run.cpu) = (ms(hold), ms(cpu));
        let mut shape = shape(4, 3);
        shape.cores = cores;
        check(&Facts::new(shape, &[run], &[]))
    }

    #[test]
    fn more_processes_than_cores_queue_below_their_locks() {
        assert_eq!(
            four_workers_on(2, 4000, 1960).unwrap().text,
            "the processors were 98 % busy (2 cores / 5 ms CPU), and 4 processes share 2 cores (4000 \
             ms under their locks had 1960 ms of CPU, 49 %), so that whoever holds a lock waits for a \
             core, and the other threads of its process with it: the figures are of this machine \
             rather than of the server; run it on more cores, with fewer workers, or in the simulator"
        );
        // The cores are not full, and still a holder finds them taken.
        let text = four_workers_on(2, 2000, 1400).unwrap().text;
        assert!(text.starts_with("4 processes share 2 cores (2000 ms under "), "{text}");
    }

    #[test]
    fn processes_that_find_their_cores_have_no_second_queue() {
        assert_eq!(four_workers_on(2, 1450, 1400), None);
        assert_eq!(four_workers_on(8, 2000, 1400), None);
    }
}
