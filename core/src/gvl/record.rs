//! One lock as data: every way in which the interpreters' locks differ is a field here.
//!
//! `policies` fills one record a version, `policy` reads it. An experiment names a record or gives
//! a table that starts from one (`table`), code has the `with_` methods (`change`).

use super::policies;
use crate::error::{Error, Mistake};
use std::borrow::Cow;
use std::time::Duration;

/// Describes a global lock: its quantum, its fairness and how it passes from thread to thread.
///
/// ```
/// use gvl_lab::gvl::{Fairness, Gvl};
/// use std::time::Duration;
///
/// let hasty = Gvl::cruby().with_quantum(Duration::from_millis(20));
/// assert_eq!(hasty.quantum(), Some(Duration::from_millis(20)));
/// assert_eq!(Gvl::none().quantum(), None);
/// let unfair = Gvl::cruby().with_fairness(Fairness::Barging);
/// assert_ne!(unfair, Gvl::cruby());
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Gvl {
    pub(crate) name: Cow<'static, str>,
    /// False for no lock at all: every acquire is granted at once.
    pub(crate) exclusive: bool,
    /// How long a holder may keep the lock while others wait.
    pub(crate) quantum: Duration,
    /// How often the timer looks while someone waits.
    pub(crate) tick: Duration,
    pub(crate) timer: Timer,
    pub(crate) charge: Charge,
    pub(crate) release: Release,
    /// A thread back from a blocking region may take the lock from a successor still waking.
    pub(crate) hot_steal: bool,
    /// A woken waiter that finds the lock taken goes to the tail instead of keeping its place.
    pub(crate) requeue: bool,
    /// How likely the thread that asked for the switch wins it over the longest waiter.
    pub(crate) requester_steal: f64,
    pub(crate) forced_switch: ForcedSwitch,
    /// A thread's priority doubles or halves its quantum.
    pub(crate) priorities: bool,
    /// The time charged to a holder is forgotten after each forced yield.
    pub(crate) always_reset: bool,
    /// Who of those that wait has the next turn.
    pub(crate) order: Order,
    /// A thread in a blocking region keeps the lock until the next tick.
    pub(crate) delayed_handoff: bool,
    /// The priority of the threads that serve requests.
    pub(crate) priority: i8,
}

/// Who keeps the time of a holder's quantum.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Timer {
    /// A timer thread that ticks only while someone waits (CRuby since 3.3).
    Thread,
    /// One of the waiters, which waits with a time-out (CRuby to 3.2).
    OneWaiter,
    /// Each waiter, for itself (CPython).
    EachWaiter,
}

/// What a tick costs the holder.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Charge {
    /// A whole tick is added to the holder's time, whoever ran before; at the quantum it yields.
    PerTick,
    /// Nothing is added: being asked is reason enough to yield.
    OnRequest,
}

/// What a release does for the next thread.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Release {
    /// The head of the queue owns the lock at once, while it is still asleep: no barging.
    Handoff,
    /// The lock is free and a waiter is signalled: whoever comes first takes it.
    Signal,
}

/// Whether a thread that gives the lock up waits until another one took it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ForcedSwitch {
    /// It goes on at once.
    Never,
    /// After a forced yield, when someone waits (CRuby to 3.2).
    AfterYield,
    /// After any release, when a waiter had asked for the lock (CPython).
    IfRequested,
}

/// Who of those that wait has the next turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Order {
    /// Who waits longest.
    Fifo,
    /// Who held the lock least lately, while others waited; a candidate, of no interpreter so far.
    ///
    /// A waiter stands as if it had come later by 16 times what it used; use is halved for each quantum
    /// that passes, and two quanta count at most. A thread's priority halves or doubles the weight.
    /// The holder keeps the lock for its quantum as ever. No waiter is passed by those who ask more
    /// than 32 quanta after it (256, if its priority is -3), unless waiters queue anew each time
    /// ([`Timer::EachWaiter`]), which bounds nothing in any order.
    Priority,
}

/// The choice of [`Gvl::with_fairness`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fairness {
    /// First come, first served: the lock is handed to the longest waiter.
    Fifo,
    /// The lock is freed and the longest waiter woken; a running thread may overtake it.
    Barging,
}

impl Gvl {
    /// The lock of the newest CRuby release (4.0).
    pub fn cruby() -> Self {
        policies::CRUBY_4_0
    }

    /// The lock of the newest CPython release that has one (3.14).
    pub fn cpython() -> Self {
        policies::CPYTHON.renamed("cpython-3.14")
    }

    /// No lock: threads run side by side (free-threaded CPython, or plain Rust).
    pub fn none() -> Self {
        policies::NONE
    }

    /// The lock called `name`, such as `cruby-3.3` or `cpython-3.11`.
    ///
    /// # Errors
    /// An unknown name; the message lists the known ones.
    pub fn named(name: &str) -> Result<Self, Error> {
        policies::find(name)
            .ok_or_else(|| Error::invalid("gvl", format!("\"{name}\""), Self::allowed()))
    }

    /// The lock of CRuby `version`, such as `"4.0.5"`.
    ///
    /// # Errors
    /// A version before 3.1, or text that is no version.
    pub fn of_ruby(version: &str) -> Result<Self, Mistake> {
        policies::of_ruby(version)
    }

    /// The lock of CPython `version`, such as `"3.13"`; a trailing `t` means free-threaded.
    ///
    /// # Errors
    /// A version outside 3.8 to 3.14, or text that is no version.
    pub fn of_python(version: &str) -> Result<Self, Mistake> {
        policies::of_python(version)
    }

    /// The name, such as `cruby-4.0`.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// How long a holder may keep the lock while others wait; `None` where there is no lock.
    pub fn quantum(&self) -> Option<Duration> {
        self.exclusive.then_some(self.quantum)
    }

    /// Whether at most one thread runs locked code at once.
    pub fn is_exclusive(&self) -> bool {
        self.exclusive
    }

    pub(super) fn renamed(mut self, name: impl Into<Cow<'static, str>>) -> Self {
        self.name = name.into();
        self
    }

    pub(super) fn allowed() -> String {
        format!("one of {}, or a table with a base", policies::NAMES.join(", "))
    }
}
