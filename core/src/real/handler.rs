//! Serves one request: interprets its actions on a thread, or in a future of the loop.

use super::burn::burn;
use super::over::Over;
use super::pools::{AsyncPools, CheckoutTimeout, ThreadPools};
use super::tally::Ended;
use super::waits::Waits;
use crate::executor::Context;
use crate::workload::{Action, Cursor, Demand, PoolIndex, Program};
use serde::{Deserialize, Serialize};
use smallvec::SmallVec;
use std::time::Duration;

/// What became of a request, and what it asked for.
#[derive(Serialize, Deserialize)]
pub(super) struct Served {
    pub(super) ended: Ended,
    pub(super) demand: Demand,
    pub(super) waits: Waits,
    /// Service time inside the checkouts of each pool, by its index.
    pub(super) in_pools: SmallVec<[Duration; 2]>,
    #[serde(skip)]
    checked_out: SmallVec<[PoolIndex; 2]>,
}

impl Served {
    fn nothing_yet() -> Self {
        Self {
            ended: Ended::Ok,
            demand: Demand::default(),
            waits: Waits::default(),
            in_pools: SmallVec::new(),
            checked_out: SmallVec::new(),
        }
    }

    /// A request whose handler never came to its end.
    pub(super) fn without_an_end(kind: &str) -> Self {
        let mut served = Self::nothing_yet();
        served.fail(kind);
        served
    }

    /// Notes what an action asks for.
    fn charge(&mut self, action: &Action) {
        let zero = Duration::ZERO;
        let (service, cpu, locked, held) = match *action {
            Action::Cpu(d) => (d, d, d, zero),
            Action::Io(d) => (d, zero, zero, zero),
            Action::Native(d) => (d, d, zero, zero),
            Action::Hold(d) => (d, zero, d, d),
            Action::Checkout(_) | Action::Checkin(_) | Action::Fail(_) => (zero, zero, zero, zero),
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

    fn fail(&mut self, kind: impl Into<String>) {
        self.ended = Ended::Failed(kind.into());
    }
}

impl From<CheckoutTimeout> for String {
    fn from(_: CheckoutTimeout) -> Self {
        "checkout timeout".to_owned()
    }
}

/// Serves a request on a thread that holds the GVL: I/O blocks the thread.
pub(super) fn serve_on_thread(
    cx: &mut Context<'_>,
    program: &Program,
    mut cursor: Cursor,
    pools: &ThreadPools,
    over: &Over,
) -> Served {
    let mut served = Served::nothing_yet();
    let mut connections = pools.connections();
    while let Some(action) = cursor.next(program) {
        served.charge(&action);
        match action {
            Action::Cpu(cpu) => compute(cx, cpu, over),
            Action::Io(length) => cx.blocking(|| over.sleep(length)),
            Action::Native(cpu) => cx.blocking(|| burn(cpu, || over.is_over())),
            Action::Hold(length) => over.sleep(length),
            Action::Checkout(pool) => {
                if !connections.try_take(pool) {
                    // Only a checkout that has to wait releases the GVL.
                    if let Err(late) = cx.blocking(|| connections.wait_for(pool)) {
                        served.fail(late);
                        break;
                    }
                }
            }
            Action::Checkin(pool) => connections.give_back(pool),
            Action::Fail(status) => served.fail(format!("status {status}")),
        }
    }
    served.waits.take_stock();
    served
}

/// Serves a request in a future of the loop: I/O is awaited, everything else keeps the loop.
pub(super) async fn serve_on_loop(
    program: &Program,
    mut cursor: Cursor,
    pools: &AsyncPools,
    over: &Over,
) -> Served {
    let mut served = Served::nothing_yet();
    served.waits.take_stock();
    let mut connections = pools.connections();
    while let Some(action) = cursor.next(program) {
        served.charge(&action);
        match action {
            Action::Cpu(cpu) => drop(Context::current(|cx| compute(cx, cpu, over))),
            Action::Io(length) => tokio::time::sleep(length).await,
            Action::Native(cpu) => {
                Context::current(|cx| cx.blocking(|| burn(cpu, || over.is_over())));
            }
            Action::Hold(length) => over.sleep(length),
            Action::Checkout(pool) => {
                if let Err(late) = connections.wait_for(pool).await {
                    served.fail(late);
                    break;
                }
            }
            Action::Checkin(pool) => connections.give_back(pool),
            Action::Fail(status) => served.fail(format!("status {status}")),
        }
        served.waits.take_stock();
    }
    served
}

/// Computes under the GVL, giving way at safepoints.
fn compute(cx: &mut Context<'_>, cpu: Duration, over: &Over) {
    burn(cpu, || {
        cx.safepoint();
        over.is_over()
    });
}
