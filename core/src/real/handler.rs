//! Serves one request: interprets its actions on a thread, or in a future of the loop.

use super::burn::burn;
use super::over::Over;
use super::pools::{AsyncPools, CheckoutTimeout, ThreadPools};
use super::waits;
use crate::executor::Context;
use crate::measure::Served;
use crate::workload::{Action, Cursor, Program};
use std::time::Duration;

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
            Action::Hold(length) => keep(cx, length, over),
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
            Action::Enter(how) => {
                if !connections.try_enter(how) {
                    cx.blocking(|| connections.enter(how));
                }
            }
            Action::Leave => connections.leave(),
            Action::Fail(status) => served.fail(format!("status {status}")),
        }
    }
    served.waits.add(waits::take());
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
    served.waits.add(waits::take());
    let mut connections = pools.connections();
    while let Some(action) = cursor.next(program) {
        served.charge(&action);
        match action {
            Action::Cpu(cpu) => drop(Context::current(|cx| compute(cx, cpu, over))),
            Action::Io(length) => tokio::time::sleep(length).await,
            Action::Native(cpu) => {
                Context::current(|cx| cx.blocking(|| burn(cpu, || over.is_over())));
            }
            Action::Hold(length) => drop(Context::current(|cx| keep(cx, length, over))),
            Action::Checkout(pool) => {
                if let Err(late) = connections.wait_for(pool).await {
                    served.fail(late);
                    break;
                }
            }
            Action::Checkin(pool) => connections.give_back(pool),
            Action::Enter(how) => connections.enter(how).await,
            Action::Leave => connections.leave(),
            Action::Fail(status) => served.fail(format!("status {status}")),
        }
        served.waits.add(waits::take());
    }
    served
}

/// Keeps the GVL without a safepoint; the interpreter has one when the call returns.
fn keep(cx: &mut Context<'_>, length: Duration, over: &Over) {
    over.sleep(length);
    cx.safepoint();
}

/// Computes under the GVL, giving way at safepoints.
fn compute(cx: &mut Context<'_>, cpu: Duration, over: &Over) {
    burn(cpu, || {
        cx.safepoint();
        over.is_over()
    });
}
