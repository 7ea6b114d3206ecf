//! The real lock: threads take turns as `policy` decides.
//!
//! Called by the executor; embedders may use it alone. While nobody waits, acquiring and releasing
//! is one compare-and-swap on `word`; with the first waiter every transition goes through the
//! scheduler under `state`. The README beside this file says how the two hand over to each other.
//!
//! Lock order: `state` is the only lock; wake-ups, hooks and the code of blocking regions run
//! without it. Invariant: while `word` has no `SLOW` bit, the scheduler is quiet and `word` alone
//! tells who holds the lock.

#[cfg(all(test, model_check))]
mod loom_tests;
mod member;
mod shared;
#[cfg(all(test, not(model_check)))]
mod tests;
mod ticker;

use super::account::{Account, ThreadUsage};
use super::event::{EventKind, Hook};
use super::policy::Sched;
use super::record::Gvl;
use crate::clock::{self, Nanos};
use crate::sync::{Arc, AtomicBool, AtomicU64, Condvar, Mutex, Parker};
use shared::{Life, NOBODY, OWNER, Seat, Shared, State, TAKEN};
use std::cell::Cell;
use std::marker::PhantomData;
use ticker::Ticker;

pub use member::{Held, Member};

/// A global lock that real threads share.
///
/// ```
/// use gvl_lab::gvl::{Gvl, lock::Lock};
///
/// let lock = Lock::new(Gvl::cruby());
/// let thread = lock.join("main");
/// let mut held = thread.acquire();
/// let answer = held.blocking(|| 6 * 7); // other threads may run meanwhile
/// held.safepoint(); // gives way if the quantum is over
/// drop(held);
/// assert_eq!((answer, thread.usage().acquisitions), (42, 2));
/// ```
#[derive(Debug)]
pub struct Lock {
    life: Arc<Life>,
}

/// Sets up a [`Lock`].
#[derive(Debug)]
pub struct Builder {
    gvl: Gvl,
    accounting: bool,
    hook: Option<Hook>,
    seed: u64,
    clock: fn() -> Nanos,
}

impl Lock {
    /// A lock with accounting on and no hook.
    pub fn new(gvl: Gvl) -> Self {
        Self::builder(gvl).build()
    }

    /// A lock to set up.
    pub fn builder(gvl: Gvl) -> Builder {
        Builder { gvl, accounting: true, hook: None, seed: 0, clock: clock::now }
    }

    /// Makes the calling thread a member, called `name`.
    pub fn join(&self, name: impl Into<String>) -> Member {
        self.join_with_priority(name, 0)
    }

    /// Makes the calling thread a member with a priority of -3 to 3, which CRuby's locks heed:
    /// each step up doubles its quantum, each step down halves it.
    pub fn join_with_priority(&self, name: impl Into<String>, priority: i8) -> Member {
        let shared = &self.life.0;
        let seat = Arc::new(Seat {
            name: name.into(),
            parker: Parker::new(),
            interrupt: AtomicBool::new(false),
            account: Account::new(shared.now()),
        });
        let mut state = shared.open();
        let id = state.sched.join(priority);
        let index = id.0 as usize;
        if state.seats.len() <= index {
            state.seats.resize_with(index + 1, || None);
        }
        state.seats[index] = Some(Arc::clone(&seat));
        shared.close(&state);
        drop(state);
        let member = Member {
            shared: Arc::clone(shared),
            _life: Arc::clone(&self.life),
            seat,
            id,
            inside: Cell::new(false),
            left: Cell::new((u64::from(id.0) << OWNER) | TAKEN),
            on_this_thread: PhantomData,
        };
        member.tell(EventKind::Started, shared.now(), 0);
        member
    }

    /// Makes the calling thread a member that serves requests, with the priority that the lock's record
    /// has for such.
    pub(crate) fn join_to_serve(&self, name: impl Into<String>) -> Member {
        self.join_with_priority(name, self.life.0.priority)
    }

    /// The account of each thread, those that left included (the first 256 of them one by one,
    /// the others added up).
    pub fn usage(&self) -> Vec<ThreadUsage> {
        let shared = &self.life.0;
        let state = shared.state.lock();
        let now = shared.now();
        let present = state
            .seats
            .iter()
            .flatten()
            .map(|seat| ThreadUsage { name: seat.name.clone(), usage: seat.account.usage(now) });
        present.chain(state.departed.iter().cloned()).collect()
    }
}

impl Builder {
    /// Keeps accounts (on by default), at the price of two readings of the clock for each time
    /// that the lock is taken.
    #[must_use]
    pub fn accounting(mut self, on: bool) -> Self {
        self.accounting = on;
        self
    }

    /// Calls `hook` at each event in a thread's life.
    #[must_use]
    pub fn hook(mut self, hook: Hook) -> Self {
        self.hook = Some(hook);
        self
    }

    /// Decides what the lock leaves to chance (nought by default).
    #[must_use]
    pub fn seed(mut self, seed: u64) -> Self {
        self.seed = seed;
        self
    }

    /// A lock, free and without threads.
    pub fn build(self) -> Lock {
        let (exclusive, priority) = (self.gvl.exclusive, self.gvl.priority);
        let state = State {
            sched: Sched::new(self.gvl, self.seed),
            seats: vec![],
            departed: vec![],
            ticker: Ticker::Unborn,
        };
        let shared = Shared {
            word: AtomicU64::new(NOBODY << OWNER),
            state: Mutex::new(state),
            rouse: Condvar::new(),
            exclusive,
            priority,
            accounting: self.accounting,
            hook: self.hook,
            clock: self.clock,
        };
        Lock { life: Arc::new(Life(Arc::new(shared))) }
    }
}
