//! `load limited`: too few users for the slots, so the load is measured and not the server.

use super::Warning;
use crate::measure::{CeilingKind, Facts, figure};

pub(super) fn check(facts: &Facts) -> Option<Warning> {
    let (users, slots) = (facts.shape.users?, facts.shape.slots?);
    // Where the lock or the cores give less, more users would not change it.
    let ceiling = facts.bound_by().filter(|bound| bound.kind == CeilingKind::LoadLimited)?;
    let think = facts.shape.think;
    let thinking =
        if think.is_zero() { String::new() } else { format!(" that think {}", figure::ms(think)) };
    Some(Warning {
        kind: "load limited",
        text: format!(
            "{}{thinking} cannot fill {}: the load bounds the throughput, at most {} rps ({}); use \
             at least {} users to measure the server",
            figure::count(users, "user"),
            figure::count(slots, "slot"),
            figure::number(ceiling.rps),
            ceiling.formula,
            users_to_fill(slots, facts),
        ),
        figures: vec![("users", users as f64), ("slots", slots as f64)],
    })
}

/// So many that `slots` of them are served while the others think.
fn users_to_fill(slots: u64, facts: &Facts) -> u64 {
    let service = facts.overall.demand.service.as_secs_f64() / facts.ok() as f64;
    let each = 1.0 + facts.shape.think.as_secs_f64() / service;
    (slots as f64 * each).ceil() as u64
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measure::samples::{endpoint, facts, shape};

    fn with_users(users: Option<u64>) -> Option<Warning> {
        let mut shape = shape(4, 12);
        shape.users = users;
        check(&facts(shape, 1000, vec![endpoint("io", 220, 100)]))
    }

    #[test]
    fn twenty_four_users_cannot_fill_forty_eight_slots() {
        assert_eq!(
            with_users(Some(24)).unwrap().text,
            "24 users cannot fill 48 slots: the load bounds the throughput, at most 240 rps (24 \
             users / 100 ms); use at least 48 users to measure the server"
        );
    }

    #[test]
    fn users_that_think_fill_fewer_slots() {
        let mut shape = shape(0, 12);
        (shape.users, shape.think) = (Some(24), std::time::Duration::from_millis(200));
        assert_eq!(
            check(&facts(shape, 2000, vec![endpoint("io", 180, 50)])).unwrap().text,
            "24 users that think 200 ms cannot fill 12 slots: the load bounds the throughput, at most \
             96 rps (24 users / (50 ms + 200 ms think)); use at least 60 users to measure the server"
        );
    }

    #[test]
    fn users_beyond_what_the_lock_serves_are_enough() {
        let mut shape = shape(0, 40);
        shape.users = Some(24);
        let cpu = endpoint("cpu", 200, 5).asking(5, 5, 5);
        assert_eq!(check(&facts(shape, 1000, vec![cpu])), None);
    }

    #[test]
    fn enough_users_and_an_open_loop_are_not_limited() {
        assert_eq!(with_users(Some(48)), None);
        assert_eq!(with_users(None), None);
    }
}
