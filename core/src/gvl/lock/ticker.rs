//! The timer thread of a lock: born with the first waiter, asleep while nobody waits.
//!
//! Told by `lock` after each step; calls [`Sched::tick`](crate::gvl::policy::Sched::tick) when the
//! scheduler wants it. Locks whose waiters keep the time themselves never start it. Where the system
//! gives no thread the lock works on, without quanta; it asks again with each step.

use super::shared::{Seat, Shared, State};
use crate::clock;
use crate::sync::{Arc, MutexGuard, Ordering, serve};
use smallvec::SmallVec;

/// What the timer thread is doing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Ticker {
    /// There is none yet.
    Unborn,
    /// It waits for the next tick.
    Ticking,
    /// It sleeps until someone waits for the lock.
    Asleep,
    /// It has to end, or has ended.
    Ended,
}

/// Starts or wakes the timer thread if the scheduler wants ticks.
pub(super) fn watch(shared: &Arc<Shared>, state: &mut State) {
    if state.sched.next_tick().is_none() {
        return;
    }
    match state.ticker {
        Ticker::Unborn => {
            let shared = Arc::clone(shared);
            match serve("gvl timer", move || run(&shared)) {
                Ok(()) => state.ticker = Ticker::Ticking,
                Err(error) => {
                    tracing::warn!(target: "gvl_lab::gvl", %error, "no timer: nobody has to yield");
                }
            }
        }
        Ticker::Asleep => {
            state.ticker = Ticker::Ticking;
            shared.rouse.notify_one();
        }
        Ticker::Ticking | Ticker::Ended => {}
    }
}

/// Ends the timer thread.
pub(super) fn end(shared: &Shared) {
    shared.state.lock().ticker = Ticker::Ended;
    shared.rouse.notify_one();
}

/// One tick: interrupts a holder that others wait for, or wakes its successor where it is away. The
/// state is released before that, and taken again.
pub(super) fn tick<'s>(
    shared: &'s Shared,
    mut state: MutexGuard<'s, State>,
) -> MutexGuard<'s, State> {
    let step = state.sched.tick(shared.now());
    if let Some(seat) = step.interrupt.and_then(|t| state.seats[t.0 as usize].as_ref()) {
        seat.interrupt.store(true, Ordering::Relaxed);
    }
    let wake: SmallVec<[Arc<Seat>; 2]> =
        step.wake.iter().filter_map(|t| state.seats[t.0 as usize].clone()).collect();
    if wake.is_empty() {
        return state;
    }
    drop(state);
    for seat in wake {
        seat.parker.unpark();
    }
    shared.state.lock()
}

fn run(shared: &Shared) {
    let mut state = shared.state.lock();
    while state.ticker != Ticker::Ended {
        match state.sched.next_tick() {
            Some(at) if at <= shared.now() => state = tick(shared, state),
            Some(at) => {
                shared.rouse.wait_until(&mut state, clock::instant(at));
            }
            None => {
                state.ticker = Ticker::Asleep;
                shared.rouse.wait(&mut state);
            }
        }
    }
}
