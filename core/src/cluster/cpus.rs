//! How many processors this process may use: affinity and CPU quota.

use std::thread::available_parallelism;

/// The processors of this process.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Cpus {
    /// Processors that the machine has on.
    pub online: u32,
    /// Those that this process may run on.
    pub affinity: u32,
    /// How many processors' time it may use, where that is bounded.
    pub quota: Option<f64>,
    /// What it can use at once, at least 1.
    pub available: u32,
}

impl Cpus {
    /// Asks the system.
    pub fn here() -> Self {
        let available = available_parallelism().map_or(1, |n| n.get() as u32);
        Self { online: available, affinity: available, quota: None, available }
    }

    /// What Puma's `workers :auto` makes of them: whole processors, 0 where the quota is less.
    pub fn puma_auto(&self) -> u32 {
        let affinity = f64::from(self.affinity);
        self.quota.map_or(affinity, |quota| quota.min(affinity)).floor() as u32
    }
}
