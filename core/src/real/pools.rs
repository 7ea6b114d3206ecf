//! The connection pools of a server process: for threads, and for async handlers.

use crate::workload::{Pool, PoolIndex};
use parking_lot::{Condvar, Mutex};
use smallvec::SmallVec;
use std::time::{Duration, Instant};
use tokio::sync::{Semaphore, SemaphorePermit};

/// One pool that threads wait for.
pub(super) struct ThreadPool {
    /// Guards: no more than `size` are out, and nobody waits once it is closed (`None`).
    state: Mutex<Option<Connections>>,
    returned: Condvar,
    timeout: Duration,
}

struct Connections {
    free: u32,
    /// Threads that wait for one, or were just woken for it: nobody overtakes them, as in
    /// ActiveRecord's pool (`ConnectionLeasingQueue`, activerecord 7).
    waiting: u32,
}

/// The pools of a process whose handlers are threads.
pub(super) struct ThreadPools(Vec<ThreadPool>);

/// The pools of a process whose handlers are futures.
pub(super) struct AsyncPools(Vec<(Semaphore, Duration)>);

/// What one request holds; given back when it is dropped.
pub(super) struct ThreadConnections<'p> {
    pools: &'p ThreadPools,
    held: SmallVec<[PoolIndex; 2]>,
}

/// What one request of the loop holds.
pub(super) struct AsyncConnections<'p> {
    pools: &'p AsyncPools,
    held: SmallVec<[(PoolIndex, SemaphorePermit<'p>); 2]>,
}

/// No connection came within the pool's timeout.
pub(super) struct CheckoutTimeout;

impl ThreadPools {
    pub(super) fn new(pools: &[Pool]) -> Self {
        let pool = |pool: &Pool| ThreadPool {
            state: Mutex::new(Some(Connections { free: pool.size, waiting: 0 })),
            returned: Condvar::new(),
            timeout: pool.timeout,
        };
        Self(pools.iter().map(pool).collect())
    }

    pub(super) fn connections(&self) -> ThreadConnections<'_> {
        ThreadConnections { pools: self, held: SmallVec::new() }
    }

    /// Ends all waits: the run is over.
    pub(super) fn close(&self) {
        for pool in &self.0 {
            *pool.state.lock() = None;
            pool.returned.notify_all();
        }
    }
}

impl ThreadPool {
    /// Takes a connection that nobody waits for.
    fn try_take(&self) -> bool {
        self.state.lock().as_mut().is_some_and(Connections::take)
    }

    /// Takes a connection, and waits in line where it has to.
    fn take(&self) -> Result<(), CheckoutTimeout> {
        let until = Instant::now() + self.timeout;
        let mut state = self.state.lock();
        let connections = state.as_mut().ok_or(CheckoutTimeout)?;
        if connections.take() {
            return Ok(());
        }
        connections.waiting += 1;
        loop {
            // The first to wait is the first to be told.
            let late = self.returned.wait_until(&mut state, until).timed_out();
            let connections = state.as_mut().ok_or(CheckoutTimeout)?;
            if connections.free > 0 || late {
                connections.waiting -= 1;
                let is_free = connections.free > 0;
                connections.free -= u32::from(is_free);
                return if is_free { Ok(()) } else { Err(CheckoutTimeout) };
            }
        }
    }
}

impl Connections {
    /// Takes one that nobody waits for.
    fn take(&mut self) -> bool {
        let may = self.free > self.waiting;
        self.free -= u32::from(may);
        may
    }
}

impl ThreadConnections<'_> {
    /// Takes a connection if one is free.
    pub(super) fn try_take(&mut self, index: PoolIndex) -> bool {
        let is_free = self.pools.0[index.0].try_take();
        if is_free {
            self.held.push(index);
        }
        is_free
    }

    /// Takes a connection, waiting for the pool's timeout at most.
    pub(super) fn wait_for(&mut self, index: PoolIndex) -> Result<(), CheckoutTimeout> {
        self.pools.0[index.0].take()?;
        self.held.push(index);
        Ok(())
    }

    pub(super) fn give_back(&mut self, index: PoolIndex) {
        if let Some(place) = self.held.iter().rposition(|held| *held == index) {
            self.held.remove(place);
            let pool = &self.pools.0[index.0];
            if let Some(connections) = &mut *pool.state.lock() {
                connections.free += 1;
            }
            pool.returned.notify_one();
        }
    }
}

impl Drop for ThreadConnections<'_> {
    fn drop(&mut self) {
        while let Some(index) = self.held.last().copied() {
            self.give_back(index);
        }
    }
}

impl AsyncPools {
    pub(super) fn new(pools: &[Pool]) -> Self {
        Self(pools.iter().map(|p| (Semaphore::new(p.size as usize), p.timeout)).collect())
    }

    pub(super) fn connections(&self) -> AsyncConnections<'_> {
        AsyncConnections { pools: self, held: SmallVec::new() }
    }
}

impl AsyncConnections<'_> {
    pub(super) async fn wait_for(&mut self, index: PoolIndex) -> Result<(), CheckoutTimeout> {
        let (permits, timeout) = &self.pools.0[index.0];
        let permit = tokio::time::timeout(*timeout, permits.acquire()).await;
        let permit = permit.map_err(|_| CheckoutTimeout)?.map_err(|_| CheckoutTimeout)?;
        self.held.push((index, permit));
        Ok(())
    }

    pub(super) fn give_back(&mut self, index: PoolIndex) {
        self.held.retain(|(held, _)| *held != index);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_more_connections_are_out_than_there_are() {
        let pools = ThreadPools::new(&[Pool::new("db", 2).timeout(Duration::ZERO)]);
        let db = PoolIndex(0);
        let (mut a, mut b) = (pools.connections(), pools.connections());
        assert!(a.try_take(db) && b.try_take(db));
        assert!(!pools.connections().try_take(db));
        assert!(pools.connections().wait_for(db).is_err());
        a.give_back(db);
        assert!(pools.connections().try_take(db));
        drop(b);
        // What a request held came back with it.
        let mut c = pools.connections();
        assert!(c.try_take(db) && pools.connections().try_take(db));
        pools.close();
        assert!(pools.connections().wait_for(db).is_err());
    }
}
