//! The table of locks: a record a version.
//!
//! CRuby: `thread_pthread.c` of v3_1_0, v3_3_0, v3_4_0, v4.0.0 and v4.0.5, and master as of
//! 2026-06 (commits ddb8d353ac, 5796bc37d5, 25c1df0a95). CPython: `take_gil` and `drop_gil` in
//! `Python/ceval_gil.h` (3.8 to 3.11) and `Python/ceval_gil.c` (3.12 to 3.14).

use super::record::{Charge, ForcedSwitch, Gvl, Order, Release, Timer};
use crate::error::Mistake;
use std::borrow::Cow;
use std::time::Duration;

/// The names that [`Gvl::named`] knows.
pub const NAMES: &[&str] = &[
    "cruby-3.1",
    "cruby-3.2",
    "cruby-3.3",
    "cruby-3.4",
    "cruby-4.0",
    "cruby-master",
    "cpython-3.8",
    "cpython-3.9",
    "cpython-3.10",
    "cpython-3.11",
    "cpython-3.12",
    "cpython-3.13",
    "cpython-3.14",
    "none",
];

/// One line of `gvl-lab models`: a lock's name and what sets it apart.
#[derive(Debug, Clone, Copy)]
pub struct Record {
    /// The names it goes by.
    pub names: &'static str,
    /// What a user notices of it.
    pub summary: &'static str,
}

impl Record {
    /// The locks, for a listing.
    pub const ALL: &'static [Self] = &[
        Self {
            names: "cruby-3.1, cruby-3.2",
            summary: "quantum 100ms, a waiter keeps the time, a running thread may overtake",
        },
        Self {
            names: "cruby-3.3, cruby-3.4, cruby-4.0",
            summary: "quantum 100ms in ticks of 10ms, handed to the longest waiter",
        },
        Self {
            names: "cruby-master",
            summary: "as cruby-4.0; a thread back from a blocking call may take the lock from \
                      a successor that is still waking",
        },
        Self {
            names: "cpython-3.8 to cpython-3.14",
            summary: "switch interval 5ms, each waiter asks for itself, no queue",
        },
        Self { names: "none", summary: "no lock: threads run side by side" },
    ];
}

/// 3.1 and 3.2: the waiter is the timer, and the lock is free between release and wake-up.
const CRUBY_3_1: Gvl = Gvl {
    name: Cow::Borrowed("cruby-3.1"),
    exclusive: true,
    // TIME_QUANTUM_MSEC, also the period of the timer's wait.
    quantum: Duration::from_millis(100),
    tick: Duration::from_millis(100),
    timer: Timer::OneWaiter,
    charge: Charge::PerTick,
    release: Release::Signal,
    hot_steal: false,
    requeue: false,
    requester_steal: 0.0,
    forced_switch: ForcedSwitch::AfterYield,
    priorities: true,
    always_reset: false,
    order: Order::Fifo,
    delayed_handoff: false,
    priority: 0,
};

/// 3.3 and 3.4: direct hand-off and a timer thread of 10 ms.
const CRUBY_3_3: Gvl = Gvl {
    name: Cow::Borrowed("cruby-3.3"),
    // The timer thread polls with this time-out while a time slice is being watched.
    tick: Duration::from_millis(10),
    timer: Timer::Thread,
    release: Release::Handoff,
    forced_switch: ForcedSwitch::Never,
    ..CRUBY_3_1
};

/// 4.0.0 to 4.0.5.
pub(super) const CRUBY_4_0: Gvl =
    Gvl { name: Cow::Borrowed("cruby-4.0"), always_reset: true, ..CRUBY_3_3 };

/// 4.0.6 and master.
const CRUBY_MASTER: Gvl = Gvl { name: Cow::Borrowed("cruby-master"), hot_steal: true, ..CRUBY_4_0 };

/// 3.8 to 3.14, one policy.
pub(super) const CPYTHON: Gvl = Gvl {
    name: Cow::Borrowed("cpython-3.11"),
    exclusive: true,
    // DEFAULT_INTERVAL is 5000 us.
    quantum: Duration::from_millis(5),
    tick: Duration::from_millis(5),
    timer: Timer::EachWaiter,
    charge: Charge::OnRequest,
    release: Release::Signal,
    hot_steal: false,
    requeue: true,
    // The share of switches that a requester wins on an otherwise idle machine: measured 0.7 to
    // 0.9 on CPython 3.9 to 3.13 with two CPU-bound threads (2 cores, glibc 2.36).
    requester_steal: 0.7,
    forced_switch: ForcedSwitch::IfRequested,
    priorities: false,
    always_reset: false,
    order: Order::Fifo,
    delayed_handoff: false,
    priority: 0,
};

/// No lock.
pub(super) const NONE: Gvl = Gvl {
    name: Cow::Borrowed("none"),
    exclusive: false,
    requester_steal: 0.0,
    forced_switch: ForcedSwitch::Never,
    ..CPYTHON
};

/// The record called `name`.
pub(super) fn find(name: &str) -> Option<Gvl> {
    let known = NAMES.iter().find(|n| **n == name)?;
    let record = match *known {
        "cruby-3.1" | "cruby-3.2" => CRUBY_3_1,
        "cruby-3.3" | "cruby-3.4" => CRUBY_3_3,
        "cruby-4.0" => CRUBY_4_0,
        "cruby-master" => CRUBY_MASTER,
        "none" => NONE,
        _ => CPYTHON,
    };
    Some(record.renamed(*known))
}

/// The record called `name`, or that of a CRuby release which has no name of its own, such as
/// `cruby-4.0.6`: what a document may name, and what a changed lock was made from.
pub(super) fn base(name: &str) -> Option<Gvl> {
    let of_version = || name.strip_prefix("cruby-").and_then(|version| of_ruby(version).ok());
    find(name).or_else(|| of_version().filter(|gvl| gvl.name() == name))
}

/// The record of a CRuby version.
pub(super) fn of_ruby(version: &str) -> Result<Gvl, Mistake> {
    match numbers(version).as_deref() {
        Some([3, minor @ 1..=4, ..]) => Ok(find(&format!("cruby-3.{minor}"))),
        Some([4, 0] | [4, 0, 0..=5]) => Ok(Some(CRUBY_4_0)),
        // The hand-off was changed on the 4.0 branch after 4.0.5 (pull request 17751).
        Some([4, ..]) => Ok(Some(CRUBY_MASTER.renamed(format!("cruby-{version}")))),
        _ => Err(Mistake::new("ruby", format!("\"{version}\""), "a CRuby version from 3.1 on")),
    }
    .map(|found| found.expect("each of these versions has a record"))
}

/// The record of a CPython version.
pub(super) fn of_python(version: &str) -> Result<Gvl, Mistake> {
    let (plain, free_threaded) =
        version.strip_suffix('t').map_or((version, false), |plain| (plain, true));
    match numbers(plain).as_deref() {
        Some([3, 13..=14, ..]) if free_threaded => Ok(NONE),
        Some([3, minor @ 8..=14, ..]) if !free_threaded => {
            Ok(CPYTHON.renamed(format!("cpython-3.{minor}")))
        }
        _ => Err(Mistake::new(
            "python",
            format!("\"{version}\""),
            "a CPython version from 3.8 to 3.14, or 3.13t and 3.14t",
        )),
    }
}

fn numbers(version: &str) -> Option<Vec<u32>> {
    let parts: Option<Vec<u32>> = version.split('.').map(|part| part.parse().ok()).collect();
    parts.filter(|parts| (2..=3).contains(&parts.len()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_listed_name_has_a_record_of_that_name() {
        for name in NAMES {
            assert_eq!(find(name).map(|gvl| gvl.name().to_owned()).as_deref(), Some(*name));
        }
    }

    #[test]
    fn versions_find_their_lock() {
        let ruby = |v| of_ruby(v).map(|g| g.name().to_owned()).map_err(|m| m.given);
        assert_eq!(ruby("3.2.4"), Ok("cruby-3.2".into()));
        assert_eq!(ruby("4.0.5"), Ok("cruby-4.0".into()));
        assert_eq!(ruby("4.0.6"), Ok("cruby-4.0.6".into()));
        assert!(of_ruby("4.0.6").is_ok_and(|g| g.hot_steal));
        assert_eq!(ruby("2.7"), Err("\"2.7\"".into()));
        assert_eq!(ruby("three"), Err("\"three\"".into()));
        assert!(of_python("3.13t").is_ok_and(|g| !g.is_exclusive()));
        assert!(of_python("3.11").is_ok_and(|g| g.is_exclusive()));
        assert!(of_python("3.15").is_err());
    }
}
