//! What the lock is built of: atomics, a mutex, a condition variable and a parker. `parking_lot`
//! and the standard library as a rule, loom's models of them under `cfg(model_check)`.
//!
//! The only file that names loom. `gvl::lock` is written against it, so that the model checker
//! runs the same code as everyone else.

#[cfg(not(model_check))]
pub(crate) use real::*;

#[cfg(model_check)]
pub(crate) use modelled::*;

#[cfg(not(model_check))]
mod real {
    pub(crate) use parking_lot::{Condvar, Mutex, MutexGuard};
    pub(crate) use std::sync::Arc;
    pub(crate) use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

    use parking_lot_core::{
        DEFAULT_PARK_TOKEN, DEFAULT_UNPARK_TOKEN, ParkResult, park, unpark_one,
    };
    use std::sync::atomic::AtomicU8;
    use std::time::Instant;

    /// Starts a thread that serves the others until they tell it to end.
    pub(crate) fn serve(name: &str, service: impl FnOnce() + Send + 'static) {
        std::thread::Builder::new()
            .name(name.to_owned())
            .spawn(service)
            .expect("the system can start one more thread");
    }

    /// Nobody sleeps, nothing was said.
    const IDLE: u8 = 0;
    /// The owner sleeps or is about to.
    const PARKED: u8 = 1;
    /// A wake-up came that the owner has not taken yet.
    const NOTIFIED: u8 = 2;

    /// Lets one thread sleep until another wakes it; a wake-up is kept until it is taken.
    #[derive(Debug, Default)]
    pub(crate) struct Parker {
        state: AtomicU8,
    }

    impl Parker {
        pub(crate) fn new() -> Self {
            Self::default()
        }

        /// Sleeps until woken (true) or until the time (false). One thread only.
        pub(crate) fn park(&self, until: Option<Instant>) -> bool {
            loop {
                // ORDERING: Acquire pairs with Release in `unpark`: what the waker wrote is seen.
                // Failure finds NOTIFIED, which the swap below takes.
                let idle =
                    self.state.compare_exchange(IDLE, PARKED, Ordering::Acquire, Ordering::Relaxed);
                if idle.is_err() {
                    self.state.swap(IDLE, Ordering::Acquire);
                    return true;
                }
                // SAFETY: the key is the address of a field of this parker, which nobody else
                // parks on; the callbacks neither panic nor call into parking_lot.
                let slept = unsafe {
                    park(
                        self.key(),
                        || self.state.load(Ordering::Relaxed) == PARKED,
                        || {},
                        |_, _| {},
                        DEFAULT_PARK_TOKEN,
                        until,
                    )
                };
                let woken = self.state.swap(IDLE, Ordering::Acquire) == NOTIFIED;
                if woken || slept == ParkResult::TimedOut {
                    return woken;
                }
            }
        }

        /// Wakes the owner, now or at its next `park`.
        pub(crate) fn unpark(&self) {
            // ORDERING: Release pairs with Acquire in `park`.
            if self.state.swap(NOTIFIED, Ordering::Release) == PARKED {
                // SAFETY: as in `park`; the callback does nothing. The state was NOTIFIED before
                // the queue is looked at, and a parking thread checks it under the queue's lock:
                // either it is found here, or it does not go to sleep.
                unsafe {
                    unpark_one(self.key(), |_| DEFAULT_UNPARK_TOKEN);
                }
            }
        }

        fn key(&self) -> usize {
            &raw const self.state as usize
        }
    }
}

#[cfg(model_check)]
mod modelled {
    pub(crate) use loom::sync::Arc;
    pub(crate) use loom::sync::MutexGuard;
    pub(crate) use loom::sync::atomic::{AtomicBool, AtomicU64, Ordering};
    use std::time::Instant;

    #[derive(Debug)]
    pub(crate) struct Mutex<T>(loom::sync::Mutex<T>);

    impl<T> Mutex<T> {
        pub(crate) fn new(value: T) -> Self {
            Self(loom::sync::Mutex::new(value))
        }

        pub(crate) fn lock(&self) -> MutexGuard<'_, T> {
            self.0.lock().expect("no model panics under a lock")
        }
    }

    #[derive(Debug)]
    pub(crate) struct Condvar(loom::sync::Condvar);

    impl Condvar {
        pub(crate) fn new() -> Self {
            Self(loom::sync::Condvar::new())
        }

        pub(crate) fn notify_one(&self) {
            self.0.notify_one();
        }
    }

    impl Condvar {
        pub(crate) fn wait<T>(&self, _guard: &mut MutexGuard<'_, T>) {
            unreachable!("services do not run in a model");
        }

        pub(crate) fn wait_until<T>(&self, guard: &mut MutexGuard<'_, T>, _until: Instant) {
            self.wait(guard);
        }
    }

    /// Services keep time, and loom has none: a model does their work itself.
    pub(crate) fn serve(_name: &str, _service: impl FnOnce() + Send + 'static) {}

    /// Loom has no time: a wait for a tick ends only when told to.
    #[derive(Debug)]
    pub(crate) struct Parker {
        notified: loom::sync::Mutex<bool>,
        told: loom::sync::Condvar,
    }

    impl Parker {
        pub(crate) fn new() -> Self {
            Self { notified: loom::sync::Mutex::new(false), told: loom::sync::Condvar::new() }
        }

        /// Never times out: a lock that needs its time-outs to make progress hangs in the model.
        pub(crate) fn park(&self, _until: Option<Instant>) -> bool {
            let mut notified = self.notified.lock().expect("no model panics under a lock");
            while !*notified {
                notified = self.told.wait(notified).expect("no model panics under a lock");
            }
            *notified = false;
            true
        }

        pub(crate) fn unpark(&self) {
            *self.notified.lock().expect("no model panics under a lock") = true;
            self.told.notify_one();
        }
    }
}
