//! A lock around every request of a process, shared by those that run and exclusive for reloading code:
//! a workload as in Rails' development mode.
//!
//! With `config.enable_reloading` each request runs inside of `ActiveSupport::Dependencies.interlock`, and
//! the first one after a file has changed unloads and loads the code before it runs
//! (`ActiveSupport::Reloader#require_unload_lock!`, activesupport 8.1): it waits until all that run have
//! ended, and those that come meanwhile wait for it (`ActiveSupport::Concurrency::ShareLock`). `Workload`
//! holds the record, programs begin with it, engines keep the lock of each process.

use super::dist::Dist;
use crate::value::{Node, Value};

const KEYS: [&str; 2] = ["reload", "chance"];

/// A lock around all requests of a process.
#[derive(Debug, Clone, PartialEq)]
pub struct Interlock {
    /// How long reloading computes, alone in its process.
    pub reload: Dist,
    /// The chance of a request to find that code has changed, 0 to 1.
    pub chance: f64,
}

/// How a request is inside of the interlock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Inside {
    /// With others.
    Shared,
    /// Alone.
    Alone,
}

impl Interlock {
    /// Makes one whose requests reload with that chance.
    ///
    /// ```
    /// use gvl_lab::workload::{Interlock, Workload, cpu, ms};
    /// let workload = Workload::of([cpu(ms(10))]).interlock(Interlock::new(ms(300), 0.1));
    /// workload.check().unwrap();
    /// assert_eq!(workload.programs()[0].demand().service, ms(40));
    /// ```
    pub fn new(reload: impl Into<Dist>, chance: f64) -> Self {
        Self { reload: reload.into(), chance }
    }

    pub(super) fn read(node: &Node<'_>) -> Option<Self> {
        let fields = node.table(&KEYS)?;
        let reload = fields.need("reload", "how long reloading takes").and_then(Dist::read);
        let chance = fields
            .need("chance", "the chance of a request to reload")
            .and_then(|node| node.float(0.0..=1.0));
        Some(Self { reload: reload?, chance: chance? })
    }

    pub(super) fn to_value(&self) -> Value {
        let chance = Value::Float(self.chance);
        Value::table([("reload", self.reload.to_value()), ("chance", chance)])
    }
}
