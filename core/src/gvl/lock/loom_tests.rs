//! Each race of the real lock once, in all its orders.
//!
//! Run by `RUSTFLAGS="--cfg model_check" cargo test -p gvl-lab --lib --release loom`. Time stands still
//! in a model, so ticks and time-outs are told, not waited for.

use super::*;
use crate::gvl::Order;
use crate::sync::Ordering;
use loom::cell::UnsafeCell;
use loom::thread;

fn lock(name: &str) -> Lock {
    let gvl = match name {
        "delayed" => Gvl::cruby().with_delayed_handoff(true),
        "by priority" => Gvl::cruby().with_order(Order::Priority),
        "by priority, signalled" => Gvl::cpython().with_order(Order::Priority),
        name => Gvl::named(name).expect("a known lock"),
    };
    let mut builder = Lock::builder(gvl);
    builder.clock = || 0;
    builder.build()
}

/// Threads of a model share a lock and a cell that only its holder may touch.
struct Scene {
    lock: Lock,
    touched: UnsafeCell<u32>,
}

// SAFETY: the cell is touched only inside the lock; loom reports it if that is not so.
unsafe impl Sync for Scene {}
// SAFETY: as above.
unsafe impl Send for Scene {}

impl Scene {
    fn new(name: &str) -> Arc<Self> {
        Arc::new(Self { lock: lock(name), touched: UnsafeCell::new(0) })
    }

    /// A thread that takes the lock once.
    fn touched_by_another(this: &Arc<Self>) -> thread::JoinHandle<()> {
        let scene = Arc::clone(this);
        thread::spawn(move || {
            let member = scene.lock.join("b");
            let _held = member.acquire();
            scene.touch();
        })
    }

    fn touch(&self) {
        // SAFETY: called by the holder alone.
        self.touched.with_mut(|n| unsafe { *n += 1 });
    }
}

fn explore(model: impl Fn() + Sync + Send + 'static) {
    explore_within(3, model);
}

fn explore_within(preemptions: usize, model: impl Fn() + Sync + Send + 'static) {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = Some(preemptions);
    builder.check(model);
}

fn two_threads_take_turns(name: &'static str) {
    explore(move || {
        let scene = Scene::new(name);
        let other = Scene::touched_by_another(&scene);
        let member = scene.lock.join("a");
        let mut held = member.acquire();
        scene.touch();
        held.blocking(|| ());
        scene.touch();
        drop(held);
        other.join().expect("the other thread ends");
        // SAFETY: both threads are done with it.
        scene.touched.with(|n| assert_eq!(unsafe { *n }, 3));
    });
}

#[test]
fn loom_a_handed_over_lock_loses_no_wake_up() {
    two_threads_take_turns("cruby-4.0");
}

#[test]
fn loom_a_stolen_lock_loses_no_wake_up() {
    two_threads_take_turns("cruby-master");
}

#[test]
fn loom_a_signalled_lock_loses_no_wake_up() {
    two_threads_take_turns("cruby-3.1");
}

#[test]
fn loom_a_requeueing_lock_loses_no_wake_up() {
    two_threads_take_turns("cpython-3.11");
}

#[test]
fn loom_a_lock_by_priority_loses_no_wake_up() {
    two_threads_take_turns("by priority");
}

#[test]
fn loom_a_signalled_lock_by_priority_loses_no_wake_up() {
    two_threads_take_turns("by priority, signalled");
}

/// A thread in a blocking region keeps its lock: the tick gives it to the waiter, or it is back first.
#[test]
fn loom_a_delayed_hand_off_meets_a_tick() {
    // Outside the model: whether any order came to the hand-over by the tick.
    let handed = std::sync::Arc::new(std::sync::atomic::AtomicBool::new(false));
    let seen = std::sync::Arc::clone(&handed);
    explore_within(2, move || {
        let scene = Scene::new("delayed");
        let other = visitor(&scene, "b");
        let timer = one_tick(&scene);
        let member = scene.lock.join("a");
        let mut held = member.acquire();
        held.blocking(|| ());
        scene.touch();
        if member.usage().handoffs > 0 {
            seen.store(true, Ordering::Relaxed);
        }
        drop(held);
        other.join().expect("the other thread ends");
        timer.join().expect("the timer ends");
        // SAFETY: all threads are done with it.
        scene.touched.with(|n| assert_eq!(unsafe { *n }, 2));
    });
    assert!(handed.load(Ordering::Relaxed));
}

/// A tick meets a holder that is leaving, yielding or computing.
#[test]
fn loom_a_tick_races_with_a_safepoint_and_a_release() {
    explore(|| {
        let scene = Scene::new("cruby-4.0");
        let other = Scene::touched_by_another(&scene);
        let timer = one_tick(&scene);
        let member = scene.lock.join("a");
        let mut held = member.acquire();
        scene.touch();
        held.safepoint();
        scene.touch();
        drop(held);
        other.join().expect("the other thread ends");
        timer.join().expect("the timer ends");
    });
}

/// A thread of the scene: joins, touches once inside, and parts.
fn visitor(scene: &Arc<Scene>, name: &'static str) -> thread::JoinHandle<()> {
    let scene = Arc::clone(scene);
    thread::spawn(move || {
        let member = scene.lock.join(name);
        let _held = member.acquire();
        scene.touch();
    })
}

/// A timer that looks once.
fn one_tick(scene: &Arc<Scene>) -> thread::JoinHandle<()> {
    let scene = Arc::clone(scene);
    thread::spawn(move || {
        let shared = &scene.lock.life.0;
        drop(ticker::tick(shared, shared.state.lock()));
    })
}

/// Three threads want the lock; each parts while others may wait.
fn three_threads_take_turns(name: &'static str) {
    explore_within(2, move || {
        let scene = Scene::new(name);
        let others = [visitor(&scene, "b"), visitor(&scene, "c")];
        let member = scene.lock.join("a");
        let held = member.acquire();
        scene.touch();
        drop(held);
        drop(member);
        for other in others {
            other.join().expect("the other thread ends");
        }
        // SAFETY: all threads are done with it.
        scene.touched.with(|n| assert_eq!(unsafe { *n }, 3));
        assert_eq!(scene.lock.usage().len(), 3);
    });
}

#[test]
fn loom_three_threads_are_handed_the_lock() {
    three_threads_take_turns("cruby-4.0");
}

#[test]
fn loom_three_threads_are_signalled() {
    three_threads_take_turns("cruby-3.1");
}

#[test]
fn loom_three_threads_queue_anew() {
    three_threads_take_turns("cpython-3.11");
}

/// The time of everyone who waits with a limit is over.
fn time_passes(scene: &Arc<Scene>) -> thread::JoinHandle<()> {
    let scene = Arc::clone(scene);
    thread::spawn(move || {
        let seats = scene.lock.life.0.state.lock().seats.clone();
        seats.into_iter().flatten().for_each(|seat| seat.parker.time_out());
    })
}

/// A waiter's time is over while the holder computes, blocks or leaves: the holder is asked for the
/// lock, and goes on once another thread has it.
fn a_forced_switch(name: &'static str, leave: fn(&mut Held<'_>)) {
    // Outside the model: whether any order came to the switch.
    let switched = std::sync::Arc::new(std::sync::atomic::AtomicBool::new(false));
    let seen = std::sync::Arc::clone(&switched);
    explore(move || {
        let scene = Scene::new(name);
        let member = scene.lock.join("a");
        let mut held = member.acquire();
        scene.touch();
        let other = visitor(&scene, "b");
        let time = time_passes(&scene);
        leave(&mut held);
        scene.touch();
        drop(held);
        if scene.lock.usage().iter().any(|t| t.usage.forced_yields + t.usage.handoffs > 0) {
            seen.store(true, Ordering::Relaxed);
        }
        other.join().expect("the other thread ends");
        time.join().expect("time passes");
        // SAFETY: all threads are done with it.
        scene.touched.with(|n| assert_eq!(unsafe { *n }, 3));
    });
    assert!(switched.load(Ordering::Relaxed));
}

fn yields(held: &mut Held<'_>) {
    held.safepoint();
}

#[test]
fn loom_a_timekeeper_makes_the_holder_yield() {
    a_forced_switch("cruby-3.1", yields);
}

#[test]
fn loom_a_requester_makes_the_holder_yield() {
    a_forced_switch("cpython-3.11", yields);
}

#[test]
fn loom_a_requester_meets_a_holder_that_blocks() {
    a_forced_switch("cpython-3.11", |held| held.blocking(|| ()));
}

/// A tick meets a holder in a blocking region, whose successor is waking.
#[test]
fn loom_a_tick_races_with_a_blocking_region() {
    explore_within(2, || {
        let scene = Scene::new("cruby-master");
        let other = visitor(&scene, "b");
        let timer = one_tick(&scene);
        let member = scene.lock.join("a");
        let mut held = member.acquire();
        held.blocking(|| ());
        scene.touch();
        held.safepoint();
        scene.touch();
        drop(held);
        other.join().expect("the other thread ends");
        timer.join().expect("the timer ends");
    });
}

/// A waiter's last word and the lock's end: the lock outlives its members' drops.
#[test]
fn loom_a_lock_is_dropped_while_members_part() {
    explore(|| {
        let lock = lock("cruby-4.0");
        let member = lock.join("a");
        let shared = Arc::clone(&lock.life.0);
        let other = thread::spawn(move || {
            let member = lock.join("b");
            drop(lock);
            drop(member.acquire());
        });
        drop(member.acquire());
        drop(member);
        other.join().expect("the other thread ends");
        assert_eq!(shared.state.lock().ticker, ticker::Ticker::Ended);
    });
}

/// The timer is told of each wait that it has to watch.
#[test]
fn loom_a_wait_is_watched() {
    explore(|| {
        let scene = Scene::new("cruby-4.0");
        let member = scene.lock.join("a");
        let held = member.acquire();
        let other = visitor(&scene, "b");
        loop {
            let state = scene.lock.life.0.state.lock();
            if state.sched.next_tick().is_some() {
                // The wait and the order to watch it are one step.
                assert_eq!(state.ticker, ticker::Ticker::Ticking);
                break;
            }
            drop(state);
            thread::yield_now();
        }
        drop(held);
        other.join().expect("the other thread ends");
    });
}
