//! Each race of the real lock once, in all its orders.
//!
//! Run by `RUSTFLAGS="--cfg model_check" cargo test -p gvl-lab --lib --release loom`. Time stands still
//! in a model, so ticks and time-outs are told, not waited for.

use super::*;
use loom::cell::UnsafeCell;
use loom::thread;

fn lock(name: &str) -> Lock {
    let mut builder = Lock::builder(Gvl::named(name).expect("a known lock"));
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

    fn touch(&self) {
        // SAFETY: called by the holder alone.
        self.touched.with_mut(|n| unsafe { *n += 1 });
    }
}

fn explore(model: impl Fn() + Sync + Send + 'static) {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = Some(3);
    builder.check(model);
}

fn two_threads_take_turns(name: &'static str) {
    explore(move || {
        let scene = Scene::new(name);
        let other = {
            let scene = Arc::clone(&scene);
            thread::spawn(move || {
                let member = scene.lock.join("b");
                let _held = member.acquire();
                scene.touch();
            })
        };
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

/// A tick meets a holder that is leaving, yielding or computing.
#[test]
fn loom_a_tick_races_with_a_safepoint_and_a_release() {
    explore(|| {
        let scene = Scene::new("cruby-4.0");
        let other = {
            let scene = Arc::clone(&scene);
            thread::spawn(move || {
                let member = scene.lock.join("b");
                let _held = member.acquire();
                scene.touch();
            })
        };
        let timer = {
            let scene = Arc::clone(&scene);
            thread::spawn(move || {
                let shared = &scene.lock.life.0;
                let mut state = shared.state.lock();
                ticker::tick(shared, &mut state);
            })
        };
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
