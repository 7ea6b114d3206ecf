//! `retry storm` and `abandoned work`: the server works for clients that have left.

use super::Warning;
use crate::measure::{Facts, figure};

/// The share of the work from which it is told.
const SHARE_MIN: f64 = 0.05;

pub(super) fn check(facts: &Facts) -> Option<Warning> {
    let clients = facts.recording.clients?;
    let share = facts.abandoned_share().filter(|share| *share >= SHARE_MIN)?;
    let requests = facts.overall.requests() + facts.recording.unfinished;
    let attempts = (requests + clients.retries) as f64 / requests.max(1) as f64;
    let work = format!(
        "{} of the served work was for nobody: the clients of {} had left before the answer",
        figure::percent(share),
        figure::count(clients.abandoned, "attempt"),
    );
    let (kind, text) = if clients.retries > 0 {
        let why = format!(
            "{work}, and tried again ({} attempts a request): retries come on top of the load that \
             made them, so that it does not end by itself; fewer retries, later ones \
             (retry_after), or a server that refuses early what it cannot answer in time",
            figure::short(attempts),
        );
        ("retry storm", why)
    } else {
        let why = "a server that is late does not know; a longer timeout, more slots, or a server \
                   that refuses early what it cannot answer in time";
        ("abandoned work", format!("{work}: {why}"))
    };
    let figures = vec![
        ("abandoned", clients.abandoned as f64),
        ("share", share),
        ("retries", clients.retries as f64),
    ];
    Some(Warning { kind, text, figures })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measure::samples::{endpoint, ms, recording, shape};
    use crate::measure::{ClientUse, Facts};
    use crate::workload::Demand;

    fn with(abandoned: u64, retries: u64) -> Option<Warning> {
        let answered = endpoint("io", 60, 100).asking(100, 0, 0).failing("timeout", 20);
        let mut run = recording(10_000, vec![answered]);
        let demand = Demand { service: ms(100) * abandoned as u32, ..Demand::default() };
        run.clients = Some(ClientUse { retries, abandoned, demand, discarded: 0 });
        check(&Facts::new(shape(0, 1), &[run], &[]))
    }

    #[test]
    fn work_for_nobody_is_told() {
        let warning = with(40, 20).unwrap();
        assert_eq!(warning.kind, "retry storm");
        let start = "40 % of the served work was for nobody: the clients of 40 attempts had left \
                     before the answer, and tried again (1.25 attempts a request)";
        assert!(warning.text.starts_with(start), "{}", warning.text);
        assert_eq!(with(40, 0).unwrap().kind, "abandoned work");
    }

    #[test]
    fn a_little_is_no_concern() {
        assert_eq!(with(3, 20), None);
        assert!(with(4, 20).is_some());
        let run = recording(1000, vec![endpoint("io", 9, 100)]);
        assert_eq!(check(&Facts::new(shape(0, 1), &[run], &[])), None);
    }
}
