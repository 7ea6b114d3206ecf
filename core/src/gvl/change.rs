//! A lock that is not an interpreter's: the changes that code may make to a record.
//!
//! `table` makes the same from a document, and both are checked by it. A changed lock is named after
//! its base and what sets it apart, such as `cruby-4.0, barging, quantum 20ms`.

use super::record::{Charge, Fairness, ForcedSwitch, Gvl, Order, Release, Timer};
use std::time::Duration;

impl Gvl {
    /// The same lock with another quantum (CRuby's `RUBY_THREAD_TIMESLICE`, CPython's
    /// `sys.setswitchinterval`), 10 us to 1 h. Where a timer thread ticks, the quantum is rounded up to
    /// ticks, as CRuby does; elsewhere the tick becomes the quantum.
    #[must_use]
    pub fn with_quantum(mut self, quantum: Duration) -> Self {
        self.set_quantum(quantum);
        self.named_anew()
    }

    /// The same lock with another order of taking turns: `release`, and with it all that only one of
    /// the two can have.
    #[must_use]
    pub fn with_fairness(mut self, fairness: Fairness) -> Self {
        self.set_fairness(fairness);
        self.named_anew()
    }

    /// The same lock whose timer looks at other intervals, 10 us to 1 h.
    #[must_use]
    pub fn with_tick(mut self, tick: Duration) -> Self {
        self.tick = tick;
        self.named_anew()
    }

    /// The same lock with another timekeeper. A lock that is handed over needs [`Timer::Thread`].
    #[must_use]
    pub fn with_timer(mut self, timer: Timer) -> Self {
        self.timer = timer;
        self.named_anew()
    }

    /// The same lock with another price of a tick.
    #[must_use]
    pub fn with_charge(mut self, charge: Charge) -> Self {
        self.charge = charge;
        self.named_anew()
    }

    /// The same lock with another release, and nothing else changed: see [`Gvl::with_fairness`].
    #[must_use]
    pub fn with_release(mut self, release: Release) -> Self {
        self.release = release;
        self.named_anew()
    }

    /// Whether a thread back from a blocking region may take the lock from a successor that is still
    /// waking; where it is handed over.
    #[must_use]
    pub fn with_hot_steal(mut self, on: bool) -> Self {
        self.hot_steal = on;
        self.named_anew()
    }

    /// Whether a thread that enters a blocking region while others wait keeps the lock until the next
    /// tick (pull request 15529 of CRuby, "delayed hand-off"): back before, it goes on without a
    /// hand-off. Where it is handed over.
    #[must_use]
    pub fn with_delayed_handoff(mut self, on: bool) -> Self {
        self.delayed_handoff = on;
        self.named_anew()
    }

    /// Who of those that wait has the next turn.
    #[must_use]
    pub fn with_order(mut self, order: Order) -> Self {
        self.order = order;
        self.named_anew()
    }

    /// Whether a woken waiter that finds the lock taken goes to the tail; where each waiter keeps the
    /// time.
    #[must_use]
    pub fn with_requeue(mut self, on: bool) -> Self {
        self.requeue = on;
        self.named_anew()
    }

    /// How likely, 0 to 1, the thread that asked for a switch wins it over the first in line; where each
    /// waiter keeps the time.
    #[must_use]
    pub fn with_requester_steal(mut self, chance: f64) -> Self {
        self.requester_steal = chance;
        self.named_anew()
    }

    /// Whether a thread that gives the lock up waits until another one took it; where it is signalled.
    #[must_use]
    pub fn with_forced_switch(mut self, forced_switch: ForcedSwitch) -> Self {
        self.forced_switch = forced_switch;
        self.named_anew()
    }

    /// Whether a thread's priority doubles or halves its quantum.
    #[must_use]
    pub fn with_priorities(mut self, on: bool) -> Self {
        self.priorities = on;
        self.named_anew()
    }

    /// Whether the time charged to a holder is forgotten after each forced yield.
    #[must_use]
    pub fn with_always_reset(mut self, on: bool) -> Self {
        self.always_reset = on;
        self.named_anew()
    }

    /// The priority, -3 to 3, of the threads that serve requests (Ruby's `Thread#priority`), in a pool or
    /// a server's: each step up doubles the quantum, each step down halves it.
    #[must_use]
    pub fn with_priority(mut self, priority: i8) -> Self {
        self.priority = priority;
        self.named_anew()
    }

    pub(super) fn set_quantum(&mut self, quantum: Duration) {
        if quantum != self.quantum {
            self.quantum = quantum;
            if self.timer != Timer::Thread {
                self.tick = quantum;
            }
        }
    }

    pub(super) fn set_fairness(&mut self, fairness: Fairness) {
        match fairness {
            Fairness::Fifo => {
                (self.release, self.timer) = (Release::Handoff, Timer::Thread);
                self.charge = Charge::PerTick;
                self.forced_switch = ForcedSwitch::Never;
                self.requester_steal = 0.0;
                self.requeue = false;
            }
            Fairness::Barging => {
                self.release = Release::Signal;
                (self.hot_steal, self.delayed_handoff) = (false, false);
            }
        }
    }

    /// Named after its base and what sets it apart.
    pub(super) fn named_anew(self) -> Self {
        let mut name = self.base_name().to_owned();
        for (key, value) in self.changes() {
            let value = match value {
                crate::value::Value::Text(text) => text,
                other => other.to_string(),
            };
            name +=
                &if key == "fairness" { format!(", {value}") } else { format!(", {key} {value}") };
        }
        self.renamed(name)
    }
}
