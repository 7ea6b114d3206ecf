//! What clients made of a server that kept them waiting.

use super::latency::rounded;
use crate::measure::{BacklogUse, Facts};
use serde::Serialize;

/// Tells of clients that give up, all replications together; of a load that has a timeout.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct ClientsRow {
    /// Attempts beyond the first of each request.
    pub retries: u64,
    /// Attempts that were served to their end although the client had left.
    pub abandoned: u64,
    /// Their share of the work: of the service time of all that was served successfully.
    pub abandoned_share: Option<f64>,
    /// Attempts that the server dropped unserved, since it saw that the client had left.
    pub discarded: u64,
}

/// Tells of the queue of connections that nobody has accepted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct BacklogRow {
    /// How many may wait.
    pub size: u64,
    /// Connections, each time they were tried, that found it full and were dropped.
    pub drops: u64,
}

impl ClientsRow {
    pub(super) fn of(facts: &Facts) -> Option<Self> {
        let clients = facts.recording.clients?;
        Some(Self {
            retries: clients.retries,
            abandoned: clients.abandoned,
            abandoned_share: facts.abandoned_share().map(rounded),
            discarded: clients.discarded,
        })
    }
}

impl BacklogRow {
    /// Where the experiment has its length, or it was too short.
    pub(super) fn of(backlog: Option<BacklogUse>) -> Option<Self> {
        let BacklogUse { size, drops, .. } = backlog.filter(|b| b.is_set || b.drops > 0)?;
        Some(Self { size, drops })
    }
}
