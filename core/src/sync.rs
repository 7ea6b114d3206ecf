//! What the lock and the queue are built of: atomics, a mutex, a condition variable, a parker and
//! threads. `parking_lot` and the standard library as a rule, loom's models of them under
//! `cfg(model_check)`.
//!
//! The only file that names loom. `gvl::lock` and `executor::queue` are written against it, so that
//! the model checker runs the same code as everyone else.

#[cfg(not(model_check))]
pub(crate) use real::*;

#[cfg(model_check)]
pub(crate) use modelled::*;

#[cfg(not(model_check))]
mod real {
    pub(crate) use parking_lot::{Condvar, Mutex, MutexGuard};
    pub(crate) use std::sync::Arc;
    pub(crate) use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};

    use parking_lot_core::{
        DEFAULT_PARK_TOKEN, DEFAULT_UNPARK_TOKEN, ParkResult, park, unpark_one,
    };
    use std::io;
    use std::sync::atomic::AtomicU8;
    use std::time::Instant;

    /// Starts a thread that serves the others until they tell it to end. All threads of the lock
    /// and the executor start here.
    pub(crate) fn serve(name: &str, service: impl FnOnce() + Send + 'static) -> io::Result<()> {
        #[cfg(test)]
        if super::refusal::is_on() {
            return Err(io::ErrorKind::WouldBlock.into());
        }
        // A name that the system cannot take is no reason to panic.
        std::thread::Builder::new().name(name.replace('\0', " ")).spawn(service).map(drop)
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

/// A system that has no more threads to give, on this thread.
#[cfg(all(test, not(model_check)))]
pub(crate) mod refusal {
    use std::cell::Cell;

    thread_local! {
        static ON: Cell<bool> = const { Cell::new(false) };
    }

    pub(crate) fn is_on() -> bool {
        ON.get()
    }

    /// Calls `code` while the system refuses the threads that this thread asks for.
    pub(crate) fn while_on<R>(code: impl FnOnce() -> R) -> R {
        set(true);
        let result = code();
        set(false);
        result
    }

    pub(crate) fn set(on: bool) {
        ON.set(on);
    }
}

#[cfg(model_check)]
mod modelled {
    pub(crate) use loom::sync::Arc;
    pub(crate) use loom::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
    use std::ops::{Deref, DerefMut};
    use std::time::Instant;

    #[derive(Debug)]
    pub(crate) struct Mutex<T>(loom::sync::Mutex<T>);

    pub(crate) struct MutexGuard<'m, T> {
        mutex: &'m Mutex<T>,
        /// Empty only while a condition variable has it.
        inner: Option<loom::sync::MutexGuard<'m, T>>,
    }

    impl<T> Mutex<T> {
        pub(crate) fn new(value: T) -> Self {
            Self(loom::sync::Mutex::new(value))
        }

        pub(crate) fn lock(&self) -> MutexGuard<'_, T> {
            let inner = self.0.lock().expect("no model panics under a lock");
            MutexGuard { mutex: self, inner: Some(inner) }
        }
    }

    impl<T> Deref for MutexGuard<'_, T> {
        type Target = T;

        fn deref(&self) -> &T {
            self.inner.as_ref().expect("the lock is held")
        }
    }

    impl<T> DerefMut for MutexGuard<'_, T> {
        fn deref_mut(&mut self) -> &mut T {
            self.inner.as_mut().expect("the lock is held")
        }
    }

    #[derive(Debug)]
    pub(crate) struct Condvar(loom::sync::Condvar);

    /// How a wait with a limit ended.
    pub(crate) struct TimedOut;

    impl TimedOut {
        pub(crate) fn timed_out(&self) -> bool {
            true
        }
    }

    impl Condvar {
        pub(crate) fn new() -> Self {
            Self(loom::sync::Condvar::new())
        }

        pub(crate) fn notify_one(&self) {
            self.0.notify_one();
        }

        pub(crate) fn notify_all(&self) {
            self.0.notify_all();
        }

        pub(crate) fn wait<T>(&self, guard: &mut MutexGuard<'_, T>) {
            let inner = guard.inner.take().expect("the lock is held");
            guard.inner = Some(self.0.wait(inner).expect("no model panics under a lock"));
        }

        /// Loom has no time: whatever the limit, it passes before anyone calls.
        pub(crate) fn wait_until<T>(
            &self,
            guard: &mut MutexGuard<'_, T>,
            _until: Instant,
        ) -> TimedOut {
            // No hint to yield, which would hide the orders in which nobody comes between.
            guard.inner = None;
            guard.inner = guard.mutex.lock().inner;
            TimedOut
        }
    }

    /// Services keep time, and loom has none: a model does their work itself.
    pub(crate) fn serve(_: &str, _service: impl FnOnce() + Send + 'static) -> std::io::Result<()> {
        Ok(())
    }

    /// Loom has no time: a wait with a limit ends when [`Parker::time_out`] says so.
    #[derive(Debug)]
    pub(crate) struct Parker {
        told: Mutex<Told>,
        changed: Condvar,
    }

    #[derive(Debug, Default)]
    struct Told {
        notified: bool,
        late: bool,
    }

    impl Parker {
        pub(crate) fn new() -> Self {
            Self { told: Mutex::new(Told::default()), changed: Condvar::new() }
        }

        /// Sleeps until woken (true) or, with a limit, until its time is over (false).
        pub(crate) fn park(&self, until: Option<Instant>) -> bool {
            let mut told = self.told.lock();
            while !(told.notified || told.late && until.is_some()) {
                self.changed.wait(&mut told);
            }
            let woken = std::mem::take(&mut told.notified);
            told.late &= woken;
            woken
        }

        pub(crate) fn unpark(&self) {
            self.told.lock().notified = true;
            self.changed.notify_one();
        }

        /// Ends the owner's wait with a limit, this one or the next.
        #[cfg(test)]
        pub(crate) fn time_out(&self) {
            self.told.lock().late = true;
            self.changed.notify_one();
        }
    }
}
