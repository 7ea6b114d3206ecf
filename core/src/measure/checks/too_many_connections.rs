//! `too many connections`: the pools of all processes may open more than the database takes.

use super::Warning;
use crate::measure::{Facts, figure};

pub(super) fn check(facts: &Facts) -> Option<Warning> {
    let processes = u64::from(facts.shape.processes.max(1));
    // A thread has one connection of a pool at most; an async handler needs no thread.
    let users = facts.shape.slots.map_or(u64::MAX, |_| facts.shape.threads.into());
    let told = facts.recording.pools.iter().find_map(|pool| {
        let database = pool.database?;
        let could = pool.size.min(users) * processes;
        (could > database.max).then_some((pool, database, could))
    });
    let (pool, database, could) = told?;
    let refused = match database.refused {
        0 => "it refused none in this run".to_owned(),
        n => format!("it refused {n} checkouts, whose requests failed"),
    };
    Some(Warning {
        kind: "too many connections",
        text: format!(
            "{} with {} of {} each may open {could}, and the database takes {}: {} were open at most, \
             and {refused}; make the pools smaller or the processes fewer (a pool has no use for more \
             connections than its process has threads), raise max_connections, or put a pooler before \
             the database",
            figure::count(processes, "process"),
            figure::count(pool.size, "connection"),
            pool.name,
            database.max,
            database.opened,
        ),
        figures: vec![
            ("could", could as f64),
            ("max_connections", database.max as f64),
            ("opened", database.opened as f64),
            ("refused", database.refused as f64),
        ],
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measure::samples::{endpoint, recording, shape};
    use crate::measure::{DatabaseUse, PoolRecording};

    fn told(size: u64, opened: u64, refused: u64) -> Option<String> {
        let mut run = recording(1000, vec![endpoint("io", 10, 100)]);
        let database = Some(DatabaseUse { max: 100, opened, refused });
        run.pools = vec![PoolRecording { name: "db".into(), size, database, ..<_>::default() }];
        check(&Facts::new(shape(24, 5), &[run], &[])).map(|warning| warning.text)
    }

    #[test]
    fn more_than_the_database_takes_are_told() {
        let text = told(5, 100, 7).unwrap();
        let start = "24 processes with 5 connections of db each may open 120, and the database takes \
                     100: 100 were open at most, and it refused 7 checkouts, whose requests failed; ";
        assert!(text.starts_with(start), "{text}");
        assert!(told(5, 60, 0).unwrap().contains("and it refused none in this run; "));
    }

    #[test]
    fn as_many_as_it_takes_are_not() {
        assert_eq!(told(4, 96, 0), None);
        // Five threads have no use for more than five.
        assert!(told(50, 100, 7).unwrap().contains(" each may open 120, "));
    }
}
