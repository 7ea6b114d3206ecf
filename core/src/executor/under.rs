//! Which global lock an executor's threads are under: what both builders can be told of it.

use crate::error::Error;
use crate::gvl::lock::Lock;
use crate::gvl::{Gvl, Hook};
use std::sync::Arc;

/// The lock to be made, or one that is there.
#[derive(Debug, Clone)]
pub(super) struct Under {
    pub(super) gvl: Gvl,
    pub(super) accounting: bool,
    pub(super) hook: Option<Hook>,
    /// Another executor's lock, instead of one of its own.
    pub(super) shared: Option<Arc<Lock>>,
}

impl Under {
    pub(super) fn new(gvl: Gvl) -> Self {
        Self { gvl, accounting: true, hook: None, shared: None }
    }

    /// The lock.
    ///
    /// # Errors
    /// A quantum that is out of range.
    pub(super) fn build(self) -> Result<Arc<Lock>, Error> {
        if let Some(lock) = self.shared {
            return Ok(lock);
        }
        self.gvl.check()?;
        let builder = Lock::builder(self.gvl).accounting(self.accounting);
        let builder = match self.hook {
            Some(hook) => builder.hook(hook),
            None => builder,
        };
        Ok(Arc::new(builder.build()))
    }
}

/// The setters of a builder whose field `under` is an [`Under`].
macro_rules! under_setters {
    () => {
        /// The global lock.
        #[must_use]
        pub fn gvl(mut self, gvl: Gvl) -> Self {
            self.under.gvl = gvl;
            self
        }

        /// Shares a lock with others, instead of one of its own.
        #[must_use]
        pub fn lock(mut self, lock: Arc<Lock>) -> Self {
            self.under.shared = Some(lock);
            self
        }

        /// Keeps accounts of the lock (on): two readings of the clock each time that it is taken.
        #[must_use]
        pub fn accounting(mut self, on: bool) -> Self {
            self.under.accounting = on;
            self
        }

        /// Calls `hook` at each event in a thread's life under the lock.
        #[must_use]
        pub fn hook(mut self, hook: Hook) -> Self {
            self.under.hook = Some(hook);
            self
        }

        /// What the threads are called: this and a number.
        #[must_use]
        pub fn name(mut self, name: impl Into<String>) -> Self {
            self.name = name.into();
            self
        }

        /// The deadline of tasks that have none of their own (none).
        #[must_use]
        pub fn deadline(mut self, after: Duration) -> Self {
            self.deadline = Some(after);
            self
        }

        /// How long a drop waits for the tasks (30 s).
        #[must_use]
        pub fn grace(mut self, grace: Duration) -> Self {
            self.grace = grace;
            self
        }
    };
}

pub(super) use under_setters;
