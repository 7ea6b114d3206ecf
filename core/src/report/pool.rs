//! What the database took of a pool's connections.

use crate::measure::Recording;
use serde::Serialize;

/// Tells how many connections all processes opened of a pool that has `max_connections`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct PoolRow {
    /// The pool's name in the workload.
    pub name: String,
    /// Its connections in each process.
    pub size: u64,
    /// Connections that the database takes.
    pub max_connections: u64,
    /// Those of all processes that were open at most.
    pub opened: u64,
    /// Checkouts that it refused, the warm-up's too.
    pub refused: u64,
}

impl PoolRow {
    pub(super) fn all(recording: &Recording) -> Vec<Self> {
        let bounded = recording.pools.iter().filter_map(|pool| Some((pool, pool.database?)));
        let row =
            |(pool, database): (&crate::measure::PoolRecording, crate::measure::DatabaseUse)| {
                Self {
                    name: pool.name.clone(),
                    size: pool.size,
                    max_connections: database.max,
                    opened: database.opened,
                    refused: database.refused,
                }
            };
        bounded.map(row).collect()
    }
}
