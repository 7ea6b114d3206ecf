//! The connection pools of a server process: for threads, and for async handlers.

use crate::workload::{Inside, Pool, PoolIndex};
use parking_lot::{Condvar, Mutex, RwLock, RwLockReadGuard, RwLockWriteGuard};
use smallvec::SmallVec;
use std::time::{Duration, Instant};
use tokio::sync::{
    RwLock as AsyncLock, RwLockReadGuard as AsyncReadGuard, RwLockWriteGuard as AsyncWriteGuard,
    Semaphore, SemaphorePermit,
};

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
pub(super) struct ThreadPools(Vec<ThreadPool>, RwLock<()>);

/// The pools of a process whose handlers are futures.
pub(super) struct AsyncPools(Vec<(Semaphore, Duration)>, AsyncLock<()>);

/// What one request holds; given back when it is dropped.
pub(super) struct ThreadConnections<'p> {
    pools: &'p ThreadPools,
    held: SmallVec<[PoolIndex; 2]>,
    inside: Option<ThreadInside<'p>>,
}

/// How a thread is inside of the interlock, which lets nobody overtake one that waits to be alone.
enum ThreadInside<'p> {
    Shared(#[expect(dead_code, reason = "held")] RwLockReadGuard<'p, ()>),
    Alone(#[expect(dead_code, reason = "held")] RwLockWriteGuard<'p, ()>),
}

/// What one request of the loop holds.
pub(super) struct AsyncConnections<'p> {
    pools: &'p AsyncPools,
    held: SmallVec<[(PoolIndex, SemaphorePermit<'p>); 2]>,
    inside: Option<AsyncInside<'p>>,
}

/// How a request of the loop is inside of the interlock.
enum AsyncInside<'p> {
    Shared(#[expect(dead_code, reason = "held")] AsyncReadGuard<'p, ()>),
    Alone(#[expect(dead_code, reason = "held")] AsyncWriteGuard<'p, ()>),
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
        Self(pools.iter().map(pool).collect(), RwLock::new(()))
    }

    pub(super) fn connections(&self) -> ThreadConnections<'_> {
        ThreadConnections { pools: self, held: SmallVec::new(), inside: None }
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
    /// Enters the interlock if it can be had.
    pub(super) fn try_enter(&mut self, how: Inside) -> bool {
        let lock = &self.pools.1;
        self.inside = match how {
            Inside::Shared => lock.try_read().map(ThreadInside::Shared),
            Inside::Alone => lock.try_write().map(ThreadInside::Alone),
        };
        self.inside.is_some()
    }

    /// Enters it, and waits where it has to.
    pub(super) fn enter(&mut self, how: Inside) {
        let lock = &self.pools.1;
        self.inside = Some(match how {
            Inside::Shared => ThreadInside::Shared(lock.read()),
            Inside::Alone => ThreadInside::Alone(lock.write()),
        });
    }

    pub(super) fn leave(&mut self) {
        self.inside = None;
    }

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
        let pool = |p: &Pool| (Semaphore::new(p.size as usize), p.timeout);
        Self(pools.iter().map(pool).collect(), AsyncLock::new(()))
    }

    pub(super) fn connections(&self) -> AsyncConnections<'_> {
        AsyncConnections { pools: self, held: SmallVec::new(), inside: None }
    }
}

impl AsyncConnections<'_> {
    /// Enters the interlock.
    pub(super) async fn enter(&mut self, how: Inside) {
        let lock = &self.pools.1;
        self.inside = Some(match how {
            Inside::Shared => AsyncInside::Shared(lock.read().await),
            Inside::Alone => AsyncInside::Alone(lock.write().await),
        });
    }

    pub(super) fn leave(&mut self) {
        self.inside = None;
    }

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
