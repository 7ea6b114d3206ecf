//! The connection pools of one simulated process.
//!
//! First come, first served: a connection that comes back belongs to whoever waited longest, as in
//! ActiveRecord's pool (`ConnectionLeasingQueue`, activerecord 7), and nobody overtakes.

use super::request::RequestId;
use crate::clock::{Nanos, nanos};
use crate::workload::{Pool, PoolIndex};
use std::collections::VecDeque;

#[derive(Debug)]
pub(super) struct Pools(Vec<Connections>);

#[derive(Debug)]
struct Connections {
    free: u32,
    timeout: Nanos,
    waiting: VecDeque<RequestId>,
}

impl Pools {
    pub(super) fn new(pools: &[Pool]) -> Self {
        let connections = |pool: &Pool| Connections {
            free: pool.size,
            timeout: nanos(pool.timeout),
            waiting: VecDeque::new(),
        };
        Self(pools.iter().map(connections).collect())
    }

    /// Takes a connection if one is free.
    pub(super) fn take(&mut self, pool: PoolIndex) -> bool {
        let pool = &mut self.0[pool.0];
        let is_free = pool.free > 0;
        pool.free -= u32::from(is_free);
        is_free
    }

    /// Takes a connection back; gives the request whose it is now, if one waited.
    pub(super) fn give_back(&mut self, pool: PoolIndex) -> Option<RequestId> {
        let pool = &mut self.0[pool.0];
        let next = pool.waiting.pop_front();
        pool.free += u32::from(next.is_none());
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
