//! `busy machine`: threads held the lock to compute and did not get the CPU for it.

use super::Warning;
use crate::measure::{Facts, figure};

/// The least share of the run for which the lock was held to compute; less tells nothing.
const HELD_MIN: f64 = 0.2;

/// The share of that time which has to be CPU time; the rest is waking up and switching.
const CPU_MIN: f64 = 0.9;

pub(super) fn check(facts: &Facts) -> Option<Warning> {
    if !facts.shape.exclusive {
        return None;
    }
    let elapsed = facts.recording.elapsed;
    let computing = facts.recording.gvl.hold.saturating_sub(facts.overall.demand.held);
    let cpu = facts.recording.cpu;
    if computing < elapsed.mul_f64(HELD_MIN) || cpu >= computing.mul_f64(CPU_MIN) {
        return None;
    }
    let share = cpu.as_secs_f64() / computing.as_secs_f64();
    Some(Warning {
        kind: "busy machine",
        text: format!(
            "the lock was held for {} to compute, and the process got {} of CPU ({}): other \
             programs used the cores, and the figures are theirs too; run again on a quiet machine",
            figure::ms(computing),
            figure::ms(cpu),
            figure::percent(share),
        ),
        figures: vec![("cpu_share_of_hold", share)],
    })
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
}
