//! The proxy in front of processes that have a queue each: it chooses one as a request comes.
//!
//! `mod` asks for each request, and tells of its end. The proxy takes no time. Which of its workers has a
//! request is chance: the kernel wakes whichever is idle, and a proxy's workers mostly are.

use super::Server;
use super::request::RequestId;
use crate::cluster::balance::{Balance, Peers};
use crate::random::Stream;

pub(super) struct Front {
    workers: Vec<Peers>,
    chance: Stream,
}

impl Front {
    pub(super) fn new(balance: &Balance, seed: u64) -> Self {
        let workers = (0..balance.workers).map(|_| Peers::new(balance)).collect();
        Self { workers, chance: Stream::new(seed, "proxy", 0) }
    }
}

impl Server<'_> {
    /// The process that a request is given to, where there is no listening socket and no queue of all.
    pub(super) fn backend_for(&mut self, id: RequestId) -> u32 {
        let Some(Front { workers, chance }) = &mut self.front else { return 0 };
        let by = match workers.len() {
            1 => 0,
            n => chance.below(n),
        };
        self.requests.at_mut(id).proxied_by = by as u32;
        workers[by].pick() as u32
    }

    /// A backend has answered a request of a proxy's worker.
    pub(super) fn proxied(&mut self, by: u32, number: u32) {
        if let Some(front) = &mut self.front {
            front.workers[by as usize].ended(number as usize);
        }
    }
}
