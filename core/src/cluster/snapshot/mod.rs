//! What the system knows of the pool's processes: threads, CPU time, memory.

/// The pool's processes at one moment.
#[derive(Debug, Clone)]
pub struct Snapshot {}
