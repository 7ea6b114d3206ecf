//! A thread's life under the lock, told as CRuby tells it (`RUBY_INTERNAL_THREAD_EVENT_*`).

use super::policy::ThreadId;
use crate::clock::Nanos;
use crate::contain::contain;
use std::fmt;
use std::sync::Arc;

/// One step in a thread's life under the lock.
#[derive(Debug, Clone, Copy)]
pub struct Event<'a> {
    /// What happened.
    pub kind: EventKind,
    /// To which thread of the lock.
    pub thread: ThreadId,
    /// That thread's name.
    pub name: &'a str,
    /// When, on the lock's clock.
    pub at: Nanos,
    /// With [`EventKind::Resumed`]: how long the thread had waited since it was ready, in
    /// nanoseconds; nought where it took a free lock.
    pub waited_ns: Nanos,
}

/// The kinds of [`Event`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EventKind {
    /// The thread joined the lock.
    Started,
    /// It asks for the lock, which it does not hold.
    Ready,
    /// It got the lock.
    Resumed,
    /// It gave the lock up: for a blocking region, or because its quantum was over.
    Suspended,
    /// It left the lock for good.
    Exited,
}

/// Code called at each [`Event`], on the thread it happens to, after the lock's own state is
/// released: it may not use the same lock. A panic in it is logged and goes no further.
#[derive(Clone)]
pub struct Hook(Arc<dyn Fn(&Event<'_>) + Send + Sync>);

impl Hook {
    /// Makes a hook of a closure.
    pub fn new(hook: impl Fn(&Event<'_>) + Send + Sync + 'static) -> Self {
        Self(Arc::new(hook))
    }

    pub(super) fn call(&self, event: &Event<'_>) {
        contain(|| (self.0)(event));
    }
}

impl fmt::Debug for Hook {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Hook")
    }
}
