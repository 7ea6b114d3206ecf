//! What became of one request, and what it asked for; engines note it action by action.

use crate::workload::{Action, Demand, PoolIndex};
use serde::{Deserialize, Serialize};
use smallvec::SmallVec;
use std::time::Duration;

/// How a request ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Ended {
    Ok,
    Failed(String),
}

/// Waits for the GVL: how many, and how long together.
#[derive(Debug, Clone, Copy, Default, Serialize, Deserialize)]
pub(crate) struct Waits {
    pub(crate) count: u64,
    pub(crate) total: Duration,
}

impl Waits {
    /// Adds other waits of the same request.
    pub(crate) fn add(&mut self, other: Self) {
        self.count += other.count;
        self.total += other.total;
    }
}

/// What became of a request, and what it asked for.
#[derive(Serialize, Deserialize)]
pub(crate) struct Served {
    pub(crate) ended: Ended,
    pub(crate) demand: Demand,
    pub(crate) waits: Waits,
    /// Service time inside the checkouts of each pool, by its index.
    pub(crate) in_pools: SmallVec<[Duration; 2]>,
    /// It was not begun, since its client had left.
    #[serde(default)]
    pub(crate) dropped: bool,
    #[serde(skip)]
    checked_out: SmallVec<[PoolIndex; 2]>,
}

impl Served {
    pub(crate) fn nothing_yet() -> Self {
        Self {
            ended: Ended::Ok,
            demand: Demand::default(),
            waits: Waits::default(),
            in_pools: SmallVec::new(),
            dropped: false,
            checked_out: SmallVec::new(),
        }
    }

    /// Becomes [`Served::nothing_yet`], and keeps its memory.
    pub(crate) fn begin_anew(&mut self) {
        self.ended = Ended::Ok;
        self.demand = Demand::default();
        self.waits = Waits::default();
        self.in_pools.clear();
        self.dropped = false;
        self.checked_out.clear();
    }

    /// A request whose handler never came to its end.
    pub(crate) fn without_an_end(kind: &str) -> Self {
        let mut served = Self::nothing_yet();
        served.fail(kind);
        served
    }

    /// A request that was not begun, since its client had left.
    pub(crate) fn dropped() -> Self {
        Self { dropped: true, ..Self::without_an_end("timeout") }
    }

    /// Notes what an action asks for.
    pub(crate) fn charge(&mut self, action: &Action) {
        let zero = Duration::ZERO;
        let (service, cpu, locked, held) = match *action {
            Action::Cpu(d) => (d, d, d, zero),
            Action::Io(d) => (d, zero, zero, zero),
            Action::Native(d) => (d, d, zero, zero),
            Action::Hold(d) => (d, zero, d, d),
            Action::Checkout(_)
            | Action::Checkin(_)
            | Action::Enter(_)
            | Action::Leave
            | Action::Fail(_) => (zero, zero, zero, zero),
        };
        self.demand.add(Demand { service, cpu, locked, held });
        match action {
            Action::Checkout(pool) => self.checked_out.push(*pool),
            Action::Checkin(pool) => self.checked_out.retain(|out| out != pool),
            _ => {}
        }
        for PoolIndex(pool) in &self.checked_out {
            if self.in_pools.len() <= *pool {
                self.in_pools.resize(pool + 1, zero);
            }
            self.in_pools[*pool] += service;
        }
    }

    pub(crate) fn fail(&mut self, kind: impl Into<String>) {
        self.ended = Ended::Failed(kind.into());
    }
}
