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
#[cfg(all(test, not(model_check)))]
mod tests;
mod ticker;

use super::account::{Account, Phase, ThreadUsage, Usage};
use super::event::{Event, EventKind, Hook};
use super::policy::{Decision, Leave, Passed, Sched, Step, ThreadId};
use super::record::Gvl;
use crate::clock::{self, Nanos};
use crate::sync::{Arc, AtomicBool, AtomicU64, Condvar, Mutex, MutexGuard, Ordering, Parker};
use smallvec::SmallVec;
use std::cell::Cell;
use std::marker::PhantomData;
use ticker::Ticker;
use tracing::level_filters::LevelFilter;

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

/// A thread's membership of a [`Lock`]; it stays on the thread that joined.
#[derive(Debug)]
pub struct Member {
    /// What `_life` keeps, one step nearer: it is on the way of each acquisition.
    shared: Arc<Shared>,
    _life: Arc<Life>,
    seat: Arc<Seat>,
    id: ThreadId,
    inside: Cell<bool>,
    /// What the lock's word is after this thread freed it, if nobody came since: taking and
    /// freeing try it first, and need not read the word, which would wait for the last write.
    left: Cell<u64>,
    on_this_thread: PhantomData<*const ()>,
}

/// Holds the lock until it is dropped.
#[derive(Debug)]
#[must_use = "the lock is released when this is dropped"]
pub struct Held<'m> {
    member: &'m Member,
}

/// Kept by the lock and its members; with the last of them the timer thread ends.
#[derive(Debug)]
struct Life(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    /// `owner << OWNER | bits`; see the bits below.
    word: AtomicU64,
    /// Guards: the scheduler, the seats and the timer agree, and `SLOW` is set while they matter.
    state: Mutex<State>,
    /// Wakes the timer thread.
    rouse: Condvar,
    exclusive: bool,
    accounting: bool,
    hook: Option<Hook>,
    clock: fn() -> Nanos,
}

#[derive(Debug)]
struct State {
    sched: Sched,
    /// By thread; `None` where a thread left.
    seats: Vec<Option<Arc<Seat>>>,
    /// What threads used that have left.
    departed: Vec<ThreadUsage>,
    ticker: Ticker,
}

/// What others may touch of a member.
#[derive(Debug)]
struct Seat {
    name: String,
    parker: Parker,
    /// Set by whoever wants the thread to look at its next safepoint.
    interrupt: AtomicBool,
    account: Account,
}

/// The owner holds the lock.
const HELD: u64 = 1;
/// Someone waits: the scheduler decides, under `state`.
const SLOW: u64 = 2;
/// The lock passed to another thread since the scheduler last knew.
const SWITCHED: u64 = 4;
/// Somebody took the lock, which was free, since the scheduler last knew.
const TAKEN: u64 = 8;
/// The owner, or the last one, is in the bits from here on.
const OWNER: u32 = 8;
/// Nobody has had the lock yet.
const NOBODY: u64 = u32::MAX as u64;

/// How many departed threads' accounts are kept one by one; more are added up in the last.
const DEPARTED_MAX: usize = 256;

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
        let exclusive = self.gvl.exclusive;
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
            accounting: self.accounting,
            hook: self.hook,
            clock: self.clock,
        };
        Lock { life: Arc::new(Life(Arc::new(shared))) }
    }
}

impl Member {
    /// Takes the lock, waiting for its turn.
    ///
    /// # Panics
    /// When this thread holds it already.
    #[inline]
    pub fn acquire(&self) -> Held<'_> {
        self.enter();
        Held { member: self }
    }

    /// This thread's account so far.
    pub fn usage(&self) -> Usage {
        self.seat.account.usage(self.shared().now())
    }

    /// The thread's number in its lock.
    pub fn id(&self) -> ThreadId {
        self.id
    }

    /// Takes the lock; [`Member::exit`] gives it back. Gives the time when holding began, nought
    /// where neither accounts nor hooks want it.
    #[inline]
    pub(crate) fn enter(&self) -> Nanos {
        assert!(!self.inside.replace(true), "the thread holds its lock already");
        let shared = self.shared();
        let observed = self.is_observed();
        let asked = if shared.accounting || observed { self.ask(observed) } else { 0 };
        if shared.exclusive && !shared.try_take(self.id, &self.left) {
            return self.enter_late(asked);
        }
        // The lock was free: holding begins when it was asked for, without a look at the clock.
        if shared.accounting {
            self.seat.account.enter(Phase::Holding, asked);
            self.seat.account.count_acquisition(false);
        }
        if observed {
            self.tell(EventKind::Resumed, asked, 0);
        }
        asked
    }

    /// The lock was not free: waits for its turn.
    #[cold]
    fn enter_late(&self, asked: Nanos) -> Nanos {
        if self.shared().accounting {
            self.seat.account.enter(Phase::Waiting, asked);
        }
        self.wait_for_turn(|state, id, now| state.sched.acquire(id, now));
        self.resume(asked)
    }

    /// Gives the lock back, and the time when holding ended as [`Member::enter`] does.
    #[inline]
    pub(crate) fn exit(&self, how: Leave) -> Nanos {
        assert!(self.inside.replace(false), "the thread does not hold its lock");
        let now = self.mark(Phase::Blocked, EventKind::Suspended, 0);
        if self.shared().exclusive && !self.shared().try_leave(self.id, &self.left) {
            self.wait_for_turn(|state, id, now| state.sched.leave(id, how, now));
        }
        now
    }

    /// Runs `region` with the lock released; takes it again afterwards, also when it panics.
    pub(crate) fn blocking<R>(&self, region: impl FnOnce() -> R) -> R {
        struct Back<'m>(&'m Member);
        impl Drop for Back<'_> {
            fn drop(&mut self) {
                self.0.enter();
            }
        }
        self.exit(Leave::Region);
        let _back = Back(self);
        region()
    }

    /// Gives way if the thread was asked to and its quantum is over; whether it did.
    #[inline]
    pub(crate) fn safepoint(&self) -> bool {
        self.seat.interrupt.load(Ordering::Relaxed) && self.obey()
    }

    #[inline]
    fn shared(&self) -> &Arc<Shared> {
        &self.shared
    }

    pub(crate) fn is_inside(&self) -> bool {
        self.inside.get()
    }

    /// An interrupt came: the scheduler says whether the quantum is over.
    #[cold]
    fn obey(&self) -> bool {
        assert!(self.inside.get(), "a safepoint is inside the lock");
        let shared = self.shared();
        let mut state = shared.open();
        self.seat.interrupt.store(false, Ordering::Relaxed);
        let now = shared.now();
        let step = state.sched.safepoint(self.id, now);
        let yields = step.decision != Decision::Go;
        if yields {
            if shared.accounting {
                self.seat.account.enter(Phase::Waiting, now);
            }
            self.seat.account.count_forced_yield();
        }
        if yields && self.is_observed() {
            // The successor is woken first: hooks run while it does.
            Shared::carry_out(shared, state, &step);
            self.tell(EventKind::Suspended, now, 0);
            self.tell(EventKind::Ready, now, 0);
            self.sleep_until_go(step.decision);
        } else {
            self.follow(state, step);
        }
        if yields {
            self.resume(now);
        }
        yields
    }

    /// Asks the scheduler, under its lock, and does what it says until the thread may go on.
    #[cold]
    fn wait_for_turn(&self, ask: impl FnOnce(&mut State, ThreadId, Nanos) -> Step) {
        let mut state = self.shared().open();
        let step = ask(&mut state, self.id, self.shared().now());
        self.follow(state, step);
    }

    fn follow(&self, state: MutexGuard<'_, State>, step: Step) {
        Shared::carry_out(self.shared(), state, &step);
        self.sleep_until_go(step.decision);
    }

    fn sleep_until_go(&self, mut decision: Decision) {
        while let Decision::Wait { until } = decision {
            let woken = self.seat.parker.park(until.map(clock::instant));
            let mut state = self.shared().open();
            let step = state.sched.woken(self.id, !woken, self.shared().now());
            Shared::carry_out(self.shared(), state, &step);
            decision = step.decision;
        }
    }

    /// The lock was got after a wait.
    fn resume(&self, asked: Nanos) -> Nanos {
        let now = self.mark(Phase::Holding, EventKind::Resumed, asked);
        if self.shared().accounting {
            self.seat.account.count_acquisition(true);
        }
        now
    }

    /// Notes when the lock was asked for.
    #[inline]
    fn ask(&self, observed: bool) -> Nanos {
        let now = self.shared().now();
        if observed {
            self.tell(EventKind::Ready, now, 0);
        }
        now
    }

    /// Reads the clock and begins a phase, where anyone wants to know; gives the time.
    #[inline]
    fn mark(&self, phase: Phase, kind: EventKind, asked: Nanos) -> Nanos {
        let observed = self.is_observed();
        if !self.shared().accounting && !observed {
            return 0;
        }
        let now = self.shared().now();
        if self.shared().accounting {
            self.seat.account.enter(phase, now);
        }
        if observed {
            let waited = if kind == EventKind::Resumed { now.saturating_sub(asked) } else { 0 };
            self.tell(kind, now, waited);
        }
        now
    }

    #[inline]
    fn is_observed(&self) -> bool {
        self.shared().hook.is_some() || LevelFilter::current() >= LevelFilter::TRACE
    }

    #[cold]
    fn tell(&self, kind: EventKind, at: Nanos, waited_ns: Nanos) {
        let name = self.seat.name.as_str();
        tracing::trace!(target: "gvl_lab::gvl", thread = %self.id, name, waited_ns, "{kind:?}");
        if let Some(hook) = &self.shared().hook {
            hook.call(&Event { kind, thread: self.id, name, at, waited_ns });
        }
    }
}

impl Drop for Member {
    fn drop(&mut self) {
        if self.inside.get() {
            self.exit(Leave::Idle);
        }
        let shared = self.shared();
        let mut state = shared.open();
        state.sched.part(self.id);
        let seat = state.seats[self.id.0 as usize].take().expect("a member has a seat");
        let usage = seat.account.usage(shared.now());
        match state.departed.get_mut(DEPARTED_MAX - 1) {
            Some(last) => {
                last.name = "others".to_owned();
                last.usage = last.usage + usage;
            }
            None => state.departed.push(ThreadUsage { name: seat.name.clone(), usage }),
        }
        shared.close(&state);
        drop(state);
        self.tell(EventKind::Exited, shared.now(), 0);
    }
}

impl Held<'_> {
    /// Runs `region` with the lock released, and takes its turn again afterwards, also when
    /// `region` panics.
    pub fn blocking<R>(&mut self, region: impl FnOnce() -> R) -> R {
        self.member.blocking(region)
    }

    /// Gives way if the quantum is over and someone waits; whether it did.
    #[inline]
    pub fn safepoint(&mut self) -> bool {
        self.member.safepoint()
    }
}

impl Drop for Held<'_> {
    #[inline]
    fn drop(&mut self) {
        self.member.exit(Leave::Idle);
    }
}

impl Shared {
    #[inline]
    fn now(&self) -> Nanos {
        (self.clock)()
    }

    /// Takes the lock if it is free and nobody waits.
    #[inline]
    fn try_take(&self, id: ThreadId, left: &Cell<u64>) -> bool {
        let guess = left.get();
        // ORDERING: Acquire; pairs with Release in `try_leave` and in `close`: the new holder sees
        // what the last one wrote. Failure goes a slower way.
        self.word
            .compare_exchange(guess, guess | HELD, Ordering::Acquire, Ordering::Relaxed)
            .is_ok()
            || self.try_take_from(id, left)
    }

    /// As `try_take`, where another thread may have had the lock.
    #[cold]
    fn try_take_from(&self, id: ThreadId, left: &Cell<u64>) -> bool {
        let word = self.word.load(Ordering::Relaxed);
        if word & (HELD | SLOW) != 0 {
            return false;
        }
        let me = u64::from(id.0);
        let switched = if word >> OWNER == me { word & SWITCHED } else { SWITCHED };
        let free = (me << OWNER) | switched | TAKEN;
        left.set(free);
        // ORDERING: as in `try_take`. Failure goes through the mutex.
        self.word.compare_exchange(word, free | HELD, Ordering::Acquire, Ordering::Relaxed).is_ok()
    }

    /// Frees the lock if nobody waits.
    #[inline]
    fn try_leave(&self, id: ThreadId, left: &Cell<u64>) -> bool {
        let guess = left.get();
        // ORDERING: Release; pairs with Acquire in `try_take`. Failure goes a slower way.
        self.word
            .compare_exchange(guess | HELD, guess, Ordering::Release, Ordering::Relaxed)
            .is_ok()
            || self.try_leave_to(id, left)
    }

    /// As `try_leave`, where the lock was got through the scheduler.
    #[cold]
    fn try_leave_to(&self, id: ThreadId, left: &Cell<u64>) -> bool {
        let word = self.word.load(Ordering::Relaxed);
        if word & SLOW != 0 {
            return false;
        }
        debug_assert_eq!(word >> OWNER, u64::from(id.0));
        // A word that was not taken yet is no guess for one that is: the next to take it tells.
        left.set((word & !HELD) | TAKEN);
        // ORDERING: as in `try_leave`. Failure goes through the mutex.
        self.word.compare_exchange(word, word & !HELD, Ordering::Release, Ordering::Relaxed).is_ok()
    }

    /// Locks the state and makes every other transition come here, too: sets `SLOW`, and tells the
    /// scheduler what it missed.
    fn open(&self) -> MutexGuard<'_, State> {
        let mut state = self.state.lock();
        // ORDERING: Acquire pairs with Release in `try_leave`, for a lock found free and taken by
        // the scheduler's decision.
        let word = self.word.fetch_or(SLOW, Ordering::Acquire);
        if word & SLOW == 0 {
            let last = word >> OWNER;
            let last = (last != NOBODY).then_some(ThreadId(last as u32));
            let holder = last.filter(|_| word & HELD != 0);
            let passed = match word & (SWITCHED | TAKEN) {
                0 => Passed::Not,
                TAKEN => Passed::Taken,
                _ => Passed::Switched,
            };
            state.sched.observe(holder, last, passed);
        }
        state
    }

    /// Lets the fast way be used again, if nobody waits; starts the timer, if somebody does.
    fn close(&self, state: &MutexGuard<'_, State>) {
        if state.sched.is_quiet() {
            let (holder, last) = state.sched.running();
            let owner = last.map_or(NOBODY, |t| u64::from(t.0));
            let held = if holder.is_some() { HELD } else { 0 };
            // ORDERING: Release pairs with Acquire in `try_take`.
            self.word.store((owner << OWNER) | held, Ordering::Release);
        }
    }

    /// Does what a step asks for, with the state released: interrupts, wake-ups, the timer.
    fn carry_out(this: &Arc<Self>, mut state: MutexGuard<'_, State>, step: &Step) {
        this.close(&state);
        if let Some(seat) = step.interrupt.and_then(|t| state.seats[t.0 as usize].as_ref()) {
            seat.interrupt.store(true, Ordering::Relaxed);
        }
        let wake: SmallVec<[Arc<Seat>; 2]> =
            step.wake.iter().filter_map(|t| state.seats[t.0 as usize].clone()).collect();
        ticker::watch(this, &mut state);
        drop(state);
        for seat in wake {
            seat.parker.unpark();
        }
    }
}

impl Drop for Life {
    fn drop(&mut self) {
        ticker::end(&self.0);
    }
}
