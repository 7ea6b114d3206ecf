//! What one task of a cluster is told.

use std::time::Duration;

/// How often a task that may run again does so at most.
const RERUNS: u32 = 8;

/// What one task is told.
#[derive(Debug, Clone, Default)]
pub struct CallOptions {
    pub(super) deadline: Option<Duration>,
    pub(super) reruns: Option<u32>,
    pub(super) connection: Option<u64>,
}

impl CallOptions {
    /// No deadline; runs once.
    pub fn new() -> Self {
        Self::default()
    }

    /// Ends the task as timed out this long after its submission, the time in the queue included.
    #[must_use]
    pub fn deadline(mut self, after: Duration) -> Self {
        self.deadline = Some(after);
        self
    }

    /// Lets the task run again where its worker is lost, up to 8 times: running twice does no harm.
    #[must_use]
    pub fn idempotent(self) -> Self {
        self.reruns(RERUNS)
    }

    /// Lets the task run again where its worker is lost, up to `n` times.
    #[must_use]
    pub fn reruns(mut self, n: u32) -> Self {
        self.reruns = Some(n);
        self
    }

    /// Sends the task over the connection `key`, which is kept open for its next task: where
    /// workers accept, all of these go to the same worker, one after the other.
    #[must_use]
    pub fn connection(mut self, key: u64) -> Self {
        self.connection = Some(key);
        self
    }
}
