//! `load limited`: fewer users than slots, so the load is measured and not the server.

use super::Warning;
use crate::measure::{CeilingKind, Facts, figure};

pub(super) fn check(facts: &Facts) -> Option<Warning> {
    let (users, slots) = (facts.shape.users?, facts.shape.slots?);
    if users >= slots || facts.ok() == 0 {
        return None;
    }
    let ceiling = facts.ceilings.iter().find(|ceiling| ceiling.kind == CeilingKind::LoadLimited);
    let most = ceiling.map_or(String::new(), |ceiling| {
        format!(", at most {} rps ({})", figure::number(ceiling.rps), ceiling.formula)
    });
    Some(Warning {
        kind: "load limited",
        text: format!(
            "{} cannot fill {}: the load bounds the throughput{most}; \
             use at least {slots} users to measure the server",
            figure::count(users, "user"),
            figure::count(slots, "slot"),
        ),
        figures: vec![("users", users as f64), ("slots", slots as f64)],
    })
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
    fn enough_users_and_an_open_loop_are_not_limited() {
        assert_eq!(with_users(Some(48)), None);
        assert_eq!(with_users(None), None);
    }
}
