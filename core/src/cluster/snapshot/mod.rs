//! What the system knows of the pool's processes: threads, CPU time, memory.

/// The pool's processes at one moment.
#[derive(Debug, Clone)]
pub struct Snapshot {}

/// x
#[derive(Debug, Clone, Copy)]
pub enum Role {
    /// x
    Master,
    /// x
    Template,
    /// x
    Worker(u32),
}
impl Snapshot {
    /// x
    pub fn of(_p: &[(u32, Role)]) -> Self {
        Self {}
    }
}
