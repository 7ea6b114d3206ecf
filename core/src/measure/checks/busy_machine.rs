//! `busy machine`: threads held the lock to compute and did not get the CPU for it.
//!
//! Processes that outnumber the cores take them from each other: `oversubscribed cpu` tells that.

use super::Warning;
use crate::measure::{Facts, figure};

/// The least share of the run for which the lock was held to compute; less tells nothing.
const HELD_MIN: f64 = 0.2;

/// The share of that time which has to be CPU time; the rest is waking up and switching.
const CPU_MIN: f64 = 0.9;

/// The share of the processors from which processes that outnumber them meet each other there more
/// often than they meet other programs.
const OWN_MIN: f64 = 0.5;

pub(super) fn check(facts: &Facts) -> Option<Warning> {
    let share = cpu_of_computing(facts).filter(|_| !is_own_doing(facts))?;
    let (lock, process) = match facts.shape.processes {
        ..=1 => ("lock was", "process"),
        _ => ("locks were", "processes"),
    };
    Some(Warning {
        kind: "busy machine",
        text: format!(
            "the {lock} held for {} to compute, and the {process} got {} of CPU ({}): other \
             programs used the cores, and the figures are theirs too; run again on a quiet machine",
            figure::ms(facts.computing()),
            figure::ms(facts.recording.cpu),
            figure::percent(share),
        ),
        figures: vec![("cpu_share_of_hold", share)],
    })
}

/// Whether the server's own processes had the cores that its holders waited for.
pub(super) fn is_own_doing(facts: &Facts) -> bool {
    facts.shape.processes > facts.shape.cores
        && facts.cpu_share().is_some_and(|share| share >= OWN_MIN)
}

/// The share of the time under locks that was CPU time, where that is too little.
pub(super) fn cpu_of_computing(facts: &Facts) -> Option<f64> {
    let computing = facts.computing();
    let cpu = facts.recording.cpu;
    let is_short = facts.shape.exclusive
        && computing >= facts.recording.whole().mul_f64(HELD_MIN)
        && cpu < computing.mul_f64(CPU_MIN);
    is_short.then(|| cpu.as_secs_f64() / computing.as_secs_f64())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measure::samples::{endpoint, ms, recording, shape};

    fn with_cpu(cpu: u64, held: u64) -> Option<Warning> {
        let mut endpoint = endpoint("cpu", 100, 10).asking(10, 10, 10);
        endpoint.demand.held = ms(held);
        let mut run = recording(1000, vec![endpoint]);
        (run.gvl.hold, run.cpu) = (ms(1000), ms(cpu));
        check(&Facts::new(shape(0, 1), &[run], &[]))
    }

    #[test]
    fn a_holder_that_was_off_the_cpu_is_told() {
        let text = with_cpu(700, 0).unwrap().text;
        assert!(text.starts_with("the lock was held for 1000 ms to compute, and the process got"));
        assert!(text.contains("700 ms of CPU (70 %)"), "{text}");
    }

    #[test]
    fn computing_and_holding_without_computing_are_fine() {
        assert_eq!(with_cpu(950, 0), None);
        assert_eq!(with_cpu(100, 900), None);
    }

    #[test]
    fn processes_that_outnumber_the_cores_take_them_from_each_other() {
        let with = |cores, cpu| {
            let mut run = recording(1000, vec![endpoint("cpu", 200, 20).asking(10, 10, 10)]);
            (run.gvl.hold, run.cpu) = (ms(4000), ms(cpu));
            let mut shape = shape(4, 3);
            shape.cores = cores;
            check(&Facts::new(shape, &[run], &[]))
        };
        assert_eq!(with(2, 2000), None);
        assert!(with(2, 900).is_some(), "the others used more than half of the cores");
        let text = with(4, 2000).unwrap().text;
        assert!(text.starts_with("the locks were held for 4000 ms to compute, and the processes"));
    }
}
