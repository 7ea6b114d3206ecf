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
    /// How many connections the database takes from all processes together, 1 to 100,000; no bound by
    /// default, where PostgreSQL has 100. A process opens one when a checkout finds none idle, and keeps
    /// it, as Active Record does; a checkout that would have to open one too many fails at once, as
    /// `too many connections` (PostgreSQL's `FATAL: sorry, too many clients already`, section 19.3.1
    /// of its documentation).
    pub max_connections: Option<u32>,
}

impl Pool {
    /// Makes a pool with a timeout of 5 seconds.
    pub fn new(name: impl Into<String>, size: u32) -> Self {
        Self { name: name.into(), size, timeout: TIMEOUT, max_connections: None }
    }

    /// Changes how long a request waits for a connection.
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.timeout = timeout;
        self
    }

    /// Bounds the connections that the database takes from all processes together, 1 to 100,000.
    ///
    /// ```
    /// use gvl_lab::workload::Pool;
    /// let pool = Pool::new("db", 5).max_connections(100);
    /// assert_eq!(pool.max_connections, Some(100));
    /// ```
    pub fn max_connections(mut self, most: u32) -> Self {
        self.max_connections = Some(most);
        self
    }

    /// Writes what stands under the pool's name in a document.
    pub(super) fn to_value(&self) -> Value {
        let mut fields = vec![
            ("size", Value::Int(self.size.into())),
            ("timeout", Value::Text(duration::print(self.timeout))),
        ];
        fields.extend(self.max_connections.map(|n| ("max_connections", Value::Int(n.into()))));
        Value::table(fields)
    }

    fn read(name: &str, node: &Node<'_>) -> Option<Self> {
        let length = name.chars().count();
        if length == 0 || length > NAME_MAX || name.chars().any(char::is_control) {
            return node.refuse_as("this name", format!("a name of 1 to {NAME_MAX} characters"));
        }
        let fields = node.table(&["size", "timeout", "max_connections"])?;
        let size = fields.need("size", "a number of connections")?.int(1..=SIZE_MAX.into());
        let timeout = fields.get("timeout").map_or(Some(TIMEOUT), duration::read);
        let most = match fields.get("max_connections") {
            Some(node) => node.int(1..=SIZE_MAX.into()).map(|n| Some(n as u32)),
            None => Some(None),
        };
        let name = name.to_owned();
        Some(Self { name, size: size? as u32, timeout: timeout?, max_connections: most? })
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
