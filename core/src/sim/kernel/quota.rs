//! The CPU time that all threads may use together in each period, after Linux's bandwidth control of
//! the completely fair scheduler (Documentation/scheduler/sched-bwc.rst).
//!
//! The kernel of this simulator tells it whenever the number of threads that compute changes; it tells
//! when they will have used all of a period. Time is whole nanoseconds: what several cores use beyond
//! the quota in the last one is owed to the next period. Differs from Linux: the cores take from one
//! account and not in slices of 5 ms each, so none is throttled while another has time left over.

use super::thread::Tid;
use crate::clock::{Nanos, nanos};
use crate::machine::Machine;
use crate::measure::Throttled;
use std::time::Duration;

#[derive(Debug)]
pub(super) struct Quota {
    /// CPU time of a period, and its length. Periods follow each other from the start.
    budget: i128,
    period: Nanos,
    /// What was left of this period's when it was last counted; less than nought is owed.
    left: i128,
    since: Nanos,
    /// When nothing was left of it.
    spent_at: Option<Nanos>,
    /// When the calendar has the end of it.
    pub(super) due: Option<Nanos>,
    /// Who could run, had the server not used its time.
    held: Vec<Tid>,
    held_since: Nanos,
    throttled: Throttled,
}

impl Quota {
    /// The quota of a machine; none where it has none, or one that all its cores cannot use.
    pub(super) fn of(machine: &Machine) -> Option<Box<Self>> {
        let cpus = machine.binding_quota()?;
        let period = nanos(machine.quota_period());
        let budget = i128::from(machine.budget_of(cpus));
        let throttled = Throttled::default();
        let (left, held) = (budget, Vec::new());
        let [since, held_since] = [0; 2];
        let (spent_at, due) = (None, None);
        Some(Box::new(Self {
            budget,
            period,
            left,
            since,
            spent_at,
            due,
            held,
            held_since,
            throttled,
        }))
    }

    /// Counts what `running` threads used since the last time.
    pub(super) fn count(&mut self, now: Nanos, running: u32) {
        let used = |from: Nanos, to: Nanos| i128::from(to - from) * i128::from(running);
        let mut end = self.end_of(self.since);
        if end <= now {
            let owed = (self.left - used(self.since, end)).min(0);
            (self.left, self.since, self.spent_at) = (self.budget + owed, end, None);
            // None of the periods between was used up, or its end had been in the calendar.
            end = self.end_of(now) - self.period;
            if end > self.since {
                (self.left, self.since) = (self.budget, end);
            }
        }
        self.left -= used(self.since, now);
        self.since = now;
        self.look(now);
    }

    /// Takes the CPU time of a switch of threads.
    pub(super) fn charge(&mut self, now: Nanos, switch: Nanos) {
        self.left -= i128::from(switch);
        self.look(now);
    }

    fn look(&mut self, now: Nanos) {
        if self.left <= 0 {
            self.spent_at.get_or_insert(now);
        }
    }

    /// When `running` threads have used all of a period, from now on, where they ever do.
    pub(super) fn spent(&self, running: u32) -> Option<Nanos> {
        let running = i128::from(running);
        if running == 0 {
            return None;
        }
        if self.left <= 0 {
            return Some(self.since);
        }
        let takes = |left: i128| (left + running - 1) / running;
        let end = self.end_of(self.since);
        let now = takes(self.left);
        let rest = i128::from(end - self.since);
        if now < rest {
            return Some(self.since + now as Nanos);
        }
        // The next period is used from its start, and those after it alike.
        let owed = (self.left - rest * running).min(0);
        let then = takes(self.budget + owed);
        (then < i128::from(self.period)).then(|| end + then.max(0) as Nanos)
    }

    /// Whether a thread that would compute has to wait for the next period.
    pub(super) fn is_spent(&self) -> bool {
        self.left <= 0
    }

    /// Whether every thread has to wait, also one that would do something else: what ends in the same
    /// instant as the time does goes on.
    pub(super) fn is_over(&self) -> bool {
        self.spent_at.is_some_and(|at| at < self.since)
    }

    /// When the period ends that was counted last.
    pub(super) fn end(&self) -> Nanos {
        self.end_of(self.since)
    }

    /// Keeps a thread that could run until the next period, and tells when that is if it is the first.
    pub(super) fn hold(&mut self, tid: Tid) -> Option<Nanos> {
        self.held.push(tid);
        if self.held.len() > 1 {
            return None;
        }
        self.held_since = self.since;
        self.throttled.periods_throttled += 1;
        Some(self.end())
    }

    /// The next period has begun: gives whom it kept.
    pub(super) fn release(&mut self, now: Nanos) -> Vec<Tid> {
        self.throttled.time += Duration::from_nanos(now - self.held_since);
        std::mem::take(&mut self.held)
    }

    /// What it did until `end`.
    pub(super) fn throttled(&self, end: Nanos) -> Throttled {
        let open = if self.held.is_empty() { 0 } else { end.saturating_sub(self.held_since) };
        let time = self.throttled.time + Duration::from_nanos(open);
        Throttled { periods: end.div_ceil(self.period), time, ..self.throttled }
    }

    fn end_of(&self, at: Nanos) -> Nanos {
        (at / self.period + 1).saturating_mul(self.period)
    }
}
