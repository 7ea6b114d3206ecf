//! What an interpreter may be told of its time slices beside its version.
//!
//! The models of Ruby servers have `timeslice` and `priority`, those of Python servers
//! `switch_interval`. What is not given is neither printed nor in a label.

use super::listing::Field;
use super::version;
use crate::gvl::Gvl;
use crate::gvl::table::QUANTUM;
use crate::value::{Fields, Value};
use crate::workload::duration;
use std::time::Duration;

/// What a Ruby process may be told of its lock beside the version, and what its application may set.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct RubyThreads {
    /// `RUBY_THREAD_TIMESLICE`.
    pub(super) timeslice: Option<Duration>,
    /// `Thread#priority` of the threads that serve.
    pub(super) priority: Option<i8>,
}

pub(super) const TIMESLICE: Field = Field {
    key: "timeslice",
    default: "\"100ms\"",
    summary: "RUBY_THREAD_TIMESLICE, whole milliseconds from 1ms to 1h; Ruby 3.4 and later",
};

pub(super) const PRIORITY: Field = Field {
    key: "priority",
    default: "0",
    summary: "Thread#priority of the threads that serve, -3 to 3: each step halves or doubles the slice",
};

const TIMESLICE_ALLOWED: &str =
    "whole milliseconds from 1ms to 1h, such as \"10ms\", on Ruby 3.4 or later";

impl RubyThreads {
    /// Reads the two keys, for a version that has been checked if it is there.
    pub(super) fn read(fields: &Fields<'_>, ruby: Option<&str>) -> Option<Self> {
        let timeslice = fields.get(TIMESLICE.key).map_or(Some(None), |node| {
            let allowed = Duration::from_millis(1)..=Duration::from_secs(3600);
            let slice = duration::read_within(node, allowed, TIMESLICE_ALLOWED)?;
            // Feature #20861 came with 3.4.
            let is_known = ruby.is_none_or(|ruby| version::from(ruby, [3, 4, 0]));
            if !is_known || slice.subsec_nanos() % 1_000_000 != 0 {
                return node.refuse(TIMESLICE_ALLOWED);
            }
            Some(Some(slice))
        });
        let priority = fields
            .get(PRIORITY.key)
            .map_or(Some(None), |node| node.int(-3..=3).map(|priority| Some(priority as i8)));
        Some(Self { timeslice: timeslice?, priority: priority? })
    }

    pub(super) fn to_fields(self) -> impl Iterator<Item = (&'static str, Value)> {
        let timeslice = self.timeslice.map(|d| (TIMESLICE.key, Value::text(duration::print(d))));
        let priority = self.priority.map(|priority| (PRIORITY.key, Value::Int(priority.into())));
        timeslice.into_iter().chain(priority)
    }

    /// The lock of the version, so changed.
    pub(super) fn gvl(self, ruby: &str) -> Gvl {
        let gvl = Gvl::of_ruby(ruby).expect("a checked model has a known CRuby version");
        let gvl = self.timeslice.into_iter().fold(gvl, Gvl::with_quantum);
        self.priority.into_iter().fold(gvl, Gvl::with_priority)
    }

    /// A label's words, as [`version::suffix`] has them.
    pub(super) fn suffix(self) -> String {
        let timeslice = self.timeslice.map(|d| format!(" timeslice {}", duration::print(d)));
        let priority = self.priority.map(|priority| format!(" priority {priority}"));
        timeslice.into_iter().chain(priority).collect()
    }
}

pub(super) const SWITCH_INTERVAL: Field = Field {
    key: "switch_interval",
    default: "\"5ms\"",
    summary: "sys.setswitchinterval, 10us to 1h; where there is a GIL",
};

const SWITCH_INTERVAL_ALLOWED: &str =
    "a duration from 10us to 1h with a unit, such as \"1ms\", on a CPython with a GIL";

/// Reads the key, for a version that has been checked if it is there.
pub(super) fn read_interval(fields: &Fields<'_>, python: Option<&str>) -> Option<Option<Duration>> {
    let Some(node) = fields.get(SWITCH_INTERVAL.key) else { return Some(None) };
    let interval = duration::read_within(node, QUANTUM, SWITCH_INTERVAL_ALLOWED)?;
    if python.is_some_and(|python| python.ends_with('t')) {
        return node.refuse(SWITCH_INTERVAL_ALLOWED);
    }
    Some(Some(interval))
}

/// The field of [`read_interval`], where it was given.
pub(super) fn interval_field(interval: Option<Duration>) -> Option<(&'static str, Value)> {
    interval.map(|d| (SWITCH_INTERVAL.key, Value::text(duration::print(d))))
}

/// The lock of the version with that interval.
pub(super) fn python_gvl(python: &str, interval: Option<Duration>) -> Gvl {
    let gvl = Gvl::of_python(python).expect("a checked model has a known CPython version");
    interval.into_iter().fold(gvl, Gvl::with_quantum)
}

/// A label's words for the interval, as [`version::suffix`] has them.
pub(super) fn interval_suffix(interval: Option<Duration>) -> String {
    interval.map(|d| format!(" interval {}", duration::print(d))).unwrap_or_default()
}
