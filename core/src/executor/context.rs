//! What a running task can ask for: a blocking region, a checkpoint, its deadline.

use super::error::TaskError;
use super::task::Job;
use crate::clock::{self, Nanos};
use crate::gvl::Usage;
use crate::gvl::lock::Member;
use std::cell::RefCell;
use std::rc::Rc;
use std::time::Instant;

/// Handed to each task: the way to the global lock and to the task's own state.
pub struct Context<'a> {
    member: &'a Member,
    job: Option<&'a dyn Job>,
}

/// Why a task is told to stop.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum Stop {
    /// Its handle cancelled it, or its executor stops.
    Cancelled = 1,
    /// Its deadline passed.
    TimedOut = 2,
}

thread_local! {
    /// This thread's membership, on the threads of a pool or an event loop.
    static MEMBER: RefCell<Option<Rc<Member>>> = const { RefCell::new(None) };
}

impl<'a> Context<'a> {
    pub(super) fn new(member: &'a Member, job: Option<&'a dyn Job>) -> Self {
        Self { member, job }
    }

    /// Runs `region` with the global lock released; others may run locked code meanwhile.
    pub fn blocking<R>(&mut self, region: impl FnOnce() -> R) -> R {
        self.member.blocking(region)
    }

    /// Gives way if the quantum is over, and stops here if the task was told to.
    ///
    /// A task that was cancelled or whose deadline passed is unwound from here: destructors run,
    /// the panic hook does not. Code that must not be unwound asks [`Context::stop_requested`]
    /// and calls [`Context::safepoint`].
    pub fn checkpoint(&mut self) {
        self.safepoint();
        if let Some(stop) = self.stop_requested() {
            std::panic::resume_unwind(Box::new(stop));
        }
    }

    /// Gives way if the quantum is over and someone waits; whether it did.
    #[inline]
    pub fn safepoint(&mut self) -> bool {
        self.member.safepoint()
    }

    /// Whether the task should stop, and why.
    pub fn stop_requested(&self) -> Option<Stop> {
        let job = self.job?;
        let passed = || job.deadline().is_some_and(|at| at <= clock::now());
        job.stop().or_else(|| passed().then_some(Stop::TimedOut))
    }

    /// The time now, on the clock that deadlines are told by.
    pub fn now(&self) -> Instant {
        Instant::now()
    }

    /// When the task has to have ended.
    pub fn deadline(&self) -> Option<Instant> {
        self.job.and_then(Job::deadline).map(clock::instant)
    }

    /// What this thread used of the global lock so far.
    pub fn usage(&self) -> Usage {
        self.member.usage()
    }

    /// Runs `code` with the context of the running poll or task, where only a future or a deep
    /// callee stands: it can block or reach a safepoint, and knows no task.
    ///
    /// Gives `None` on a thread that holds no global lock of an executor.
    pub fn current<R>(code: impl FnOnce(&mut Context<'_>) -> R) -> Option<R> {
        let member = MEMBER.with_borrow(Clone::clone)?;
        member.is_inside().then(|| code(&mut Context::new(&member, None)))
    }
}

impl Stop {
    pub(super) fn of(error: &TaskError) -> Self {
        if *error == TaskError::TimedOut { Self::TimedOut } else { Self::Cancelled }
    }

    pub(super) fn from_bits(bits: u8) -> Option<Self> {
        match bits {
            1 => Some(Self::Cancelled),
            2 => Some(Self::TimedOut),
            _ => None,
        }
    }

    pub(super) fn error(self) -> TaskError {
        match self {
            Self::Cancelled => TaskError::Cancelled,
            Self::TimedOut => TaskError::TimedOut,
        }
    }
}

/// Calls `code` with this thread's membership.
///
/// # Panics
/// On a thread of no executor: futures of a loop are polled by its thread alone.
#[inline]
pub(super) fn with_member<R>(code: impl FnOnce(&Member) -> R) -> R {
    MEMBER.with_borrow(|member| code(member.as_ref().expect("a loop polls on its own thread")))
}

/// Runs `wait` with the global lock released, where this thread holds it: whoever is waited for may
/// need it.
pub(crate) fn released<R>(wait: impl FnOnce() -> R) -> R {
    // A destructor may wait after the thread's own membership is gone.
    let member = MEMBER.try_with(|member| member.borrow().clone()).ok().flatten();
    match member {
        Some(member) if member.is_inside() => member.blocking(wait),
        _ => wait(),
    }
}

/// Makes `member` this thread's, until the guard is dropped.
pub(super) fn enlist(member: &Rc<Member>) -> Enlisted {
    MEMBER.set(Some(Rc::clone(member)));
    Enlisted
}

pub(super) struct Enlisted;

impl Drop for Enlisted {
    fn drop(&mut self) {
        MEMBER.set(None);
    }
}

/// The deadline of a task submitted now.
pub(super) fn deadline_after(after: Option<std::time::Duration>) -> Option<Nanos> {
    after.map(|after| clock::now().saturating_add(clock::nanos(after)))
}
