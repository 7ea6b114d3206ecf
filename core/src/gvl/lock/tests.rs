//! The real lock on real threads: counts and orders, never times of the wall clock.

use super::member::DEPARTED_MAX;
use super::*;
use crate::gvl::Event;
use crate::gvl::{Fairness, Order};
use std::sync::atomic::{
    AtomicUsize,
    Ordering::{Relaxed, SeqCst},
};
use std::sync::{Arc as StdArc, Barrier};
use std::time::Duration;

fn locks() -> Vec<Gvl> {
    let fast = |gvl: Gvl| gvl.with_quantum(Duration::from_millis(1));
    vec![
        fast(Gvl::named("cruby-3.1").expect("a known name")),
        fast(Gvl::cruby()),
        fast(Gvl::named("cruby-master").expect("a known name")),
        fast(Gvl::cpython()),
        fast(Gvl::cruby().with_fairness(Fairness::Barging)),
        fast(Gvl::cpython().with_fairness(Fairness::Fifo)),
        fast(Gvl::cruby().with_delayed_handoff(true)),
        fast(Gvl::cruby().with_order(Order::Priority)),
        fast(Gvl::cpython().with_order(Order::Priority)),
    ]
}

/// Threads that compute and block in turns never meet inside.
#[test]
fn at_most_one_thread_is_inside() {
    for gvl in locks() {
        let lock = Lock::new(gvl);
        let inside = AtomicUsize::new(0);
        std::thread::scope(|scope| {
            for n in 0..4 {
                let (lock, inside) = (&lock, &inside);
                scope.spawn(move || {
                    let member = lock.join(format!("t{n}"));
                    let mut held = member.acquire();
                    for round in 0..300 {
                        assert_eq!(inside.fetch_add(1, SeqCst), 0);
                        std::hint::black_box((0..500).sum::<u64>());
                        inside.fetch_sub(1, SeqCst);
                        if round % 3 == 0 {
                            held.blocking(std::thread::yield_now);
                        }
                        held.safepoint();
                    }
                });
            }
        });
        let usage = lock.usage();
        assert_eq!(usage.len(), 4);
        assert!(usage.iter().all(|t| t.usage.acquisitions >= 101), "{usage:?}");
    }
}

/// A holder that reaches safepoints gives way to a waiter; one that does not is not moved.
#[test]
fn a_waiter_is_let_in_at_a_safepoint() {
    for gvl in locks() {
        let name = gvl.name().to_owned();
        let lock = Lock::new(gvl);
        let done = AtomicUsize::new(0);
        let waiting = Barrier::new(2);
        std::thread::scope(|scope| {
            let member = lock.join("holder");
            let mut held = member.acquire();
            scope.spawn(|| {
                let member = lock.join("waiter");
                waiting.wait();
                drop(member.acquire());
                done.store(1, SeqCst);
            });
            waiting.wait();
            while done.load(SeqCst) == 0 {
                held.safepoint();
            }
            assert!(member.usage().forced_yields >= 1, "{name}");
        });
    }
}

/// The three times of an account add up to the thread's life.
#[test]
fn an_account_adds_up() {
    let lock = Lock::builder(Gvl::cruby()).build();
    let member = lock.join("one");
    let before = clock::now();
    let start = member.usage();
    let mut held = member.acquire();
    held.blocking(std::thread::yield_now);
    drop(held);
    let used = member.usage() - start;
    let sum = used.hold + used.wait + used.blocked;
    assert!(sum <= Duration::from_nanos(clock::now() - before));
    assert_eq!(used.acquisitions, 2);
    assert_eq!(used.handoffs, 0);
}

#[test]
fn hooks_tell_a_life_in_order() {
    let log = StdArc::new(parking_lot::Mutex::new(Vec::new()));
    let hook = {
        let log = StdArc::clone(&log);
        Hook::new(move |event: &Event<'_>| log.lock().push(event.kind))
    };
    let lock = Lock::builder(Gvl::cruby()).hook(hook).build();
    let member = lock.join("one");
    member.acquire().blocking(|| ());
    drop(member);
    use EventKind::{Exited, Ready, Resumed, Started, Suspended};
    assert_eq!(
        *log.lock(),
        [Started, Ready, Resumed, Suspended, Ready, Resumed, Suspended, Exited]
    );
}

#[test]
fn a_panic_in_a_blocking_region_takes_the_lock_back_first() {
    let lock = Lock::new(Gvl::cruby());
    let member = lock.join("one");
    let panicked = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        member.acquire().blocking(|| panic!("in the region"));
    }));
    assert!(panicked.is_err());
    drop(member.acquire());
    assert_eq!(member.usage().acquisitions, 3);
}

#[test]
fn without_a_lock_threads_are_inside_together() {
    let lock = Lock::new(Gvl::none());
    let together = Barrier::new(2);
    std::thread::scope(|scope| {
        for n in 0..2 {
            let (lock, together) = (&lock, &together);
            scope.spawn(move || {
                let member = lock.join(format!("t{n}"));
                let _held = member.acquire();
                together.wait();
            });
        }
    });
}

/// The queue of a lock that hands over is first come, first served.
#[test]
fn handed_over_in_the_order_of_asking() {
    let lock = Lock::new(Gvl::cruby());
    let order = parking_lot::Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        let member = lock.join("first");
        let held = member.acquire();
        for n in 0..4 {
            let (lock, order) = (&lock, &order);
            scope.spawn(move || {
                let member = lock.join(format!("{n}"));
                let _held = member.acquire();
                order.lock().push(n);
            });
            // The next one starts when this one is in line.
            while lock.life.0.state.lock().sched.waiting() < n + 1 {
                std::thread::yield_now();
            }
        }
        drop(held);
    });
    assert_eq!(*order.lock(), [0, 1, 2, 3]);
}

#[test]
fn ten_thousand_threads_that_come_and_go_leave_a_bounded_account() {
    let lock = Lock::new(Gvl::cruby());
    for _ in 0..10_000 {
        drop(lock.join("one").acquire());
    }
    let state = lock.life.0.state.lock();
    assert_eq!((state.seats.len(), state.departed.len()), (1, DEPARTED_MAX));
    drop(state);
    let usage = lock.usage();
    assert_eq!(usage.iter().map(|t| t.usage.acquisitions).sum::<u64>(), 10_000);
}

/// A thread that holds the lock and one that wants it; the holder then gives way or leaves.
fn contend(lock: &Lock, gives_way: bool) {
    std::thread::scope(|scope| {
        let member = lock.join("holder");
        let mut held = member.acquire();
        let other = scope.spawn(|| drop(lock.join("waiter").acquire()));
        while lock.life.0.state.lock().sched.waiting() == 0 {
            std::thread::yield_now();
        }
        while gives_way && !other.is_finished() {
            held.safepoint();
        }
    });
}

#[test]
fn without_accounts_no_time_is_told() {
    let lock = Lock::builder(locks().remove(1)).accounting(false).build();
    contend(&lock, true);
    assert!(lock.usage().iter().all(|t| (t.usage.wait, t.usage.hold) == <_>::default()));
}

/// A lock whose system gives it no timer thread loses no wake-up, and asks again.
#[test]
fn a_timer_that_cannot_start_is_started_later() {
    let lock = Lock::new(Gvl::cruby());
    let member = lock.join("holder");
    let held = member.acquire();
    std::thread::scope(|scope| {
        scope.spawn(|| {
            crate::sync::refusal::while_on(|| drop(lock.join("waiter").acquire()));
        });
        while lock.life.0.state.lock().sched.waiting() == 0 {
            std::thread::yield_now();
        }
        drop(held);
    });
    contend(&lock, true);
}

/// The timer thread sleeps while nobody waits, and is roused by the next one who does.
#[test]
fn a_sleeping_timer_is_roused() {
    let lock = Lock::new(locks().remove(1));
    for _ in 0..3 {
        contend(&lock, true);
        while lock.life.0.state.lock().ticker != Ticker::Asleep {
            std::thread::yield_now();
        }
    }
}

/// CPython's waiters ask only if the lock did not pass on meanwhile: the fast way tells.
#[test]
fn a_switch_on_the_fast_way_is_known() {
    let lock = Lock::new(Gvl::cruby());
    let is_switched = || lock.life.0.word.load(Relaxed) & super::shared::SWITCHED != 0;
    let (one, two) = (lock.join("one"), lock.join("two"));
    for member in [&one, &one] {
        drop(member.acquire());
        let first = lock.life.0.state.lock().sched.running().1.is_none();
        assert_eq!(is_switched(), first, "nobody had it before, or the same thread");
    }
    drop(two.acquire());
    assert!(is_switched());
    drop(two.acquire());
    assert!(is_switched(), "until the scheduler knows");
    drop(lock.join("three"));
    assert!(!is_switched());
    drop(one.acquire());
    assert!(is_switched());
}

/// What was taken by the fast way is told to the scheduler, and nothing else is.
#[test]
fn a_taken_lock_is_known_from_one_that_was_not() {
    let lock = Lock::new(Gvl::cruby());
    let is_taken = || lock.life.0.word.load(Relaxed) & TAKEN != 0;
    contend(&lock, false);
    assert!(!is_taken(), "the scheduler knows it all");
    let member = lock.join("one");
    assert!(!is_taken(), "joining takes nothing");
    for _ in 0..3 {
        for _ in 0..3 {
            drop(member.acquire());
            assert!(is_taken());
        }
        contend(&lock, false);
        assert!(!is_taken());
    }
}

/// A clock that counts how often it is read.
fn counting_clock() -> Nanos {
    READINGS.with(|n| n.set(n.get() + 1));
    READINGS.get()
}

thread_local! {
    static READINGS: Cell<u64> = const { Cell::new(0) };
}

#[test]
fn taking_and_freeing_a_free_lock_reads_the_clock_twice_or_never() {
    let readings = |accounting| {
        let mut builder = Lock::builder(Gvl::cruby()).accounting(accounting);
        builder.clock = counting_clock;
        let lock = builder.build();
        let member = lock.join("one");
        let before = READINGS.get();
        drop(member.acquire());
        READINGS.get() - before
    };
    assert_eq!((readings(true), readings(false)), (2, 0));
}

/// A thread that never comes back from its region loses the lock to who waits, by the timer thread.
#[test]
fn the_timer_hands_over_the_lock_of_one_that_is_away() {
    let lock = Lock::new(Gvl::cruby().with_delayed_handoff(true));
    let done = Barrier::new(2);
    std::thread::scope(|scope| {
        let member = lock.join("away");
        let mut held = member.acquire();
        scope.spawn(|| {
            drop(lock.join("waiter").acquire());
            done.wait();
        });
        while lock.life.0.state.lock().sched.waiting() == 0 {
            std::thread::yield_now();
        }
        // Until the waiter has had the lock, which it gets while the region lasts.
        held.blocking(|| done.wait());
        drop(held);
        assert_eq!(member.usage().acquisitions, 2);
    });
}
