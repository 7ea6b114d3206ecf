//! Pools of connections that steps check out: a bounded number in each process.
//!
//! `Workload` holds them; an engine keeps the connections and their waiters.

use super::duration;
use crate::value::{Fields, Node, Value};
use std::time::Duration;

/// The most pools in one workload; their nesting is kept as bits of a `u128`.
pub const POOLS_MAX: usize = 100;

/// 5 s: `checkout_timeout` of Active Record's connection pool.
const TIMEOUT: Duration = Duration::from_secs(5);

const NAME_MAX: usize = 100;
const SIZE_MAX: u32 = 100_000;

/// A pool of connections, one in each process.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pool {
    /// The name that `checkout` gives.
    pub name: String,
    /// How many connections there are in a process, 1 to 100,000.
    pub size: u32,
    /// How long a request waits for a connection before it fails, at most 24 hours.
    pub timeout: Duration,
}

impl Pool {
    /// Makes a pool with a timeout of 5 seconds.
    pub fn new(name: impl Into<String>, size: u32) -> Self {
        Self { name: name.into(), size, timeout: TIMEOUT }
    }

    /// Changes how long a request waits for a connection.
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.timeout = timeout;
        self
    }

    /// Writes what stands under the pool's name in a document.
    pub(super) fn to_value(&self) -> Value {
        Value::table([
            ("size", Value::Int(self.size.into())),
            ("timeout", Value::Text(duration::print(self.timeout))),
        ])
    }

    fn read(name: &str, node: &Node<'_>) -> Option<Self> {
        let length = name.chars().count();
        if length == 0 || length > NAME_MAX || name.chars().any(char::is_control) {
            return node.refuse_as("this name", format!("a name of 1 to {NAME_MAX} characters"));
        }
        let fields = node.table(&["size", "timeout"])?;
        let size = fields.need("size", "a number of connections")?.int(1..=SIZE_MAX.into());
        let timeout = fields.get("timeout").map_or(Some(TIMEOUT), duration::read);
        Some(Self { name: name.to_owned(), size: size? as u32, timeout: timeout? })
    }
}

/// Reads the table of pools.
pub(super) fn read_all(fields: &Fields<'_>) -> Option<Vec<Pool>> {
    let mut pools: Vec<_> = fields.iter().map(|(name, node)| Pool::read(name, node)).collect();
    for (n, (name, node)) in fields.iter().enumerate() {
        if fields.iter().take(n).any(|(before, _)| before == name) {
            pools.push(node.refuse_as("a second pool of this name", "each name once"));
        }
    }
    pools.into_iter().collect()
}
