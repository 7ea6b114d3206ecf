//! `backlog`: connections found the listening socket's queue full, and were tried again later.

use super::Warning;
use crate::measure::{Facts, figure};

pub(super) fn check(facts: &Facts) -> Option<Warning> {
    let backlog = facts.recording.backlog.filter(|backlog| backlog.drops > 0)?;
    Some(Warning {
        kind: "backlog",
        text: format!(
            "{} dropped since the queue of connections to accept was full (backlog {}): the \
             client's system tries again after 1 s, 3 s, 7 s and so on, and latencies are longer \
             by that; accept more (workers, threads) or lower the load: a longer backlog, up to \
             net.core.somaxconn, only makes more of them wait",
            if backlog.drops == 1 {
                "a connection was".to_owned()
            } else {
                format!("{} were", figure::count(backlog.drops, "connection"))
            },
            backlog.size,
        ),
        figures: vec![("drops", backlog.drops as f64), ("backlog", backlog.size as f64)],
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measure::samples::{endpoint, recording, shape};
    use crate::measure::{BacklogUse, Facts};

    #[test]
    fn drops_are_told_with_the_queue() {
        let with = |drops| {
            let mut run = recording(1000, vec![endpoint("io", 9, 100)]);
            run.backlog = Some(BacklogUse { size: 128, drops, is_set: false });
            check(&Facts::new(shape(2, 1), &[run], &[]))
        };
        let text = with(7).unwrap().text;
        let start = "7 connections were dropped since the queue of connections to accept was full \
                     (backlog 128)";
        assert!(text.starts_with(start), "{text}");
        assert!(with(1).unwrap().text.starts_with("a connection was dropped"));
        assert_eq!(with(0), None);
    }
}
