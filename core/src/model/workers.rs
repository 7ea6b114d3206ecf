//! How many worker processes a model has: a number, or what the machine suggests.
//!
//! The models read it here and find its number when they lower to a topology, so that a document
//! says `auto` wherever it runs.

use super::WORKERS_MAX;
use crate::cluster::cpus::Cpus;
use crate::value::{Fields, Value};

/// The text of [`Workers::Auto`] in a document.
const AUTO: &str = "auto";

/// How many worker processes.
///
/// ```
/// use gvl_lab::model::{Model, Workers, puma};
/// let auto = Model::from(puma().workers(Workers::Auto)).topology();
/// assert!(auto.label.contains("auto: "));
/// assert_eq!(Model::from(puma().workers(2)).topology().workers, 2);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Workers {
    /// So many.
    Count(u32),
    /// As many as there are processors to use, by affinity and CPU quota: Puma rounds a quota down
    /// and may come to nought, which is single mode; of the others there is one at least.
    Auto,
}

/// How many workers there are, and the words for a label where the machine said so.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Found {
    pub(super) count: u32,
    /// Such as ` (auto: 2 of 12 processors)`, or nothing.
    pub(super) words: String,
}

impl Workers {
    /// Reads the field `workers`.
    pub(super) fn read(fields: &Fields<'_>, least: u32, default: u32) -> Option<Self> {
        let Some(node) = fields.get("workers") else {
            return Some(Self::Count(default));
        };
        let allowed = i64::from(least)..=i64::from(WORKERS_MAX);
        match node.value() {
            Value::Text(text) if text == AUTO => Some(Self::Auto),
            Value::Int(n) if allowed.contains(n) => Some(Self::Count(*n as u32)),
            _ => node.refuse(format!("a whole number in {least}..={WORKERS_MAX}, or \"{AUTO}\"")),
        }
    }

    /// Writes what [`Workers::read`] reads back.
    pub(super) fn to_value(self) -> Value {
        match self {
            Self::Count(n) => Value::Int(n.into()),
            Self::Auto => Value::text(AUTO),
        }
    }

    /// Puma's number: `Integer(Concurrent.available_processor_count)` (lib/puma/configuration.rb,
    /// `parse_workers`, 7.2.0).
    pub(super) fn of_puma(self, on: &dyn Fn() -> Cpus) -> Found {
        self.find(on, Cpus::puma_auto)
    }

    /// The number of servers that cannot do without a worker.
    pub(super) fn at_least_one(self, on: &dyn Fn() -> Cpus) -> Found {
        self.find(on, |cpus| cpus.available.max(1))
    }

    fn find(self, cpus: impl FnOnce() -> Cpus, auto: impl FnOnce(&Cpus) -> u32) -> Found {
        match self {
            Self::Count(count) => Found { count, words: String::new() },
            Self::Auto => {
                let cpus = cpus();
                let count = auto(&cpus).min(WORKERS_MAX);
                Found { count, words: format!(" (auto: {count} of {} processors)", cpus.online) }
            }
        }
    }
}

impl From<u32> for Workers {
    fn from(count: u32) -> Self {
        Self::Count(count)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(quota: Option<f64>, puma: u32, others: u32) {
        let available = quota.map_or(4, |quota| quota.ceil() as u32);
        let cpus = || Cpus { online: 12, affinity: 4, quota, available };
        let found = |auto: fn(&Cpus) -> u32| Workers::Auto.find(cpus, auto);
        let expected = |count| Found { count, words: format!(" (auto: {count} of 12 processors)") };
        assert_eq!(found(Cpus::puma_auto), expected(puma));
        assert_eq!(found(|cpus| cpus.available.max(1)), expected(others));
    }

    #[test]
    fn auto_is_what_may_be_used_of_what_there_is() {
        check(None, 4, 4);
        check(Some(2.0), 2, 2);
        // Half a processor: Puma goes into single mode.
        check(Some(0.5), 0, 1);
    }

    #[test]
    fn a_number_asks_no_machine() {
        let found = Workers::from(3).find(|| panic!("asked"), |_| panic!("asked"));
        assert_eq!(found, Found { count: 3, words: String::new() });
    }
}
