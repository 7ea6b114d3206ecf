//! The connection pools of one simulated process.
//!
//! First come, first served: a connection that comes back belongs to whoever waited longest, as in
//! ActiveRecord's pool (`ConnectionLeasingQueue`, activerecord 7), and nobody overtakes. One is opened
//! when none is idle, and kept; the database takes only so many of all processes.

use super::request::RequestId;
use crate::clock::{Nanos, nanos};
use crate::measure::PoolRecording;
use crate::workload::{Pool, PoolIndex};
use std::collections::VecDeque;

#[derive(Debug)]
pub(super) struct Pools(Vec<Connections>);

/// What the databases of the pools take of all processes, by the pools' places.
pub(super) struct Databases(Vec<Database>);

struct Database {
    max: u32,
    open: u32,
    refused: u64,
}

/// What a checkout finds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Found {
    Connection,
    /// All are in use: it can wait for one.
    AllInUse,
    /// The database takes no more.
    Refused,
}

impl Databases {
    pub(super) fn new(pools: &[Pool]) -> Self {
        let max = |pool: &Pool| pool.max_connections.unwrap_or(u32::MAX);
        let database = |pool: &Pool| Database { max: max(pool), open: 0, refused: 0 };
        Self(pools.iter().map(database).collect())
    }

    /// Opens a connection, unless there are too many.
    fn open(&mut self, pool: PoolIndex) -> Found {
        let database = &mut self.0[pool.0];
        if database.open < database.max {
            database.open += 1;
            return Found::Connection;
        }
        database.refused += 1;
        Found::Refused
    }

    /// Tells the record of each pool what its database took.
    pub(super) fn tell(&self, pools: &mut [PoolRecording]) {
        for (database, pool) in self.0.iter().zip(pools) {
            if let Some(used) = &mut pool.database {
                // None is closed before the end.
                (used.opened, used.refused) = (database.open.into(), database.refused);
            }
        }
    }
}

#[derive(Debug)]
struct Connections {
    /// Those that are not in use, and as many of them as are open.
    free: u32,
    idle: u32,
    timeout: Nanos,
    waiting: VecDeque<RequestId>,
}

impl Pools {
    pub(super) fn new(pools: &[Pool]) -> Self {
        let connections = |pool: &Pool| Connections {
            free: pool.size,
            idle: 0,
            timeout: nanos(pool.timeout),
            waiting: VecDeque::new(),
        };
        Self(pools.iter().map(connections).collect())
    }

    /// Takes a connection if one is free, an open one where there is one.
    pub(super) fn take(&mut self, index: PoolIndex, databases: &mut Databases) -> Found {
        let pool = &mut self.0[index.0];
        if pool.free == 0 {
            return Found::AllInUse;
        }
        if pool.idle > 0 {
            pool.idle -= 1;
        } else if databases.open(index) == Found::Refused {
            return Found::Refused;
        }
        pool.free -= 1;
        Found::Connection
    }

    /// Takes a connection back; gives the request whose it is now, if one waited.
    pub(super) fn give_back(&mut self, pool: PoolIndex) -> Option<RequestId> {
        let pool = &mut self.0[pool.0];
        let next = pool.waiting.pop_front();
        pool.free += u32::from(next.is_none());
        pool.idle += u32::from(next.is_none());
        next
    }

    pub(super) fn wait(&mut self, pool: PoolIndex, request: RequestId) {
        self.0[pool.0].waiting.push_back(request);
    }

    /// The request waits no longer; false where it did not.
    pub(super) fn give_up(&mut self, pool: PoolIndex, request: RequestId) -> bool {
        let waiting = &mut self.0[pool.0].waiting;
        let place = waiting.iter().position(|other| *other == request);
        place.and_then(|place| waiting.remove(place)).is_some()
    }

    pub(super) fn timeout(&self, pool: PoolIndex) -> Nanos {
        self.0[pool.0].timeout
    }
}
