//! What clients made of a server that kept them waiting: retries, work for nobody, lost connections.

use crate::workload::Demand;

/// How often clients tried, and what the server did for those that had left.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ClientUse {
    /// Attempts beyond the first of each request.
    pub retries: u64,
    /// Attempts that were served to their end although the client had left.
    pub abandoned: u64,
    /// What these asked for, summed.
    pub demand: Demand,
    /// Attempts that the server dropped unserved, since it saw that the client had left.
    pub discarded: u64,
}

/// What became of connections at the listening socket.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct BacklogUse {
    /// How many connections may wait to be accepted, as the system has it.
    pub size: u64,
    /// Connections, each time they were tried, that found it full and were dropped.
    pub drops: u64,
    /// Whether the experiment says how long it is.
    pub is_set: bool,
}

impl ClientUse {
    /// Adds what happened elsewhere.
    pub(crate) fn add(&mut self, other: Self) {
        self.retries += other.retries;
        self.abandoned += other.abandoned;
        self.demand.add(other.demand);
        self.discarded += other.discarded;
    }
}

impl BacklogUse {
    /// Adds the drops of another replication.
    pub(crate) fn add(&mut self, other: Self) {
        self.drops += other.drops;
        (self.size, self.is_set) = (other.size, other.is_set);
    }
}
