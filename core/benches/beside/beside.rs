//! How much of the machine something else used while an experiment ran.

use procfs::CurrentSI;

/// A look at what all processors have done since the machine started, in ticks.
pub struct Look {
    busy: u64,
    all: u64,
}

impl Look {
    /// Looks now; `None` where the system does not tell.
    pub fn now() -> Option<Self> {
        let total = procfs::KernelStats::current().ok()?.total;
        let idle = total.idle + total.iowait.unwrap_or(0);
        // What the host took away is as good as used.
        let rest = [total.user, total.nice, total.system];
        let more = [total.irq, total.softirq, total.steal].map(|ticks| ticks.unwrap_or(0));
        let busy = rest.into_iter().chain(more).sum();
        Some(Self { busy, all: busy + idle })
    }

    /// The share of the processors that was used since, from 0 to 1.
    pub fn used_since(&self) -> Option<f64> {
        let now = Self::now()?;
        let all = now.all.checked_sub(self.all).filter(|ticks| *ticks > 0)?;
        Some(now.busy.saturating_sub(self.busy) as f64 / all as f64)
    }
}
