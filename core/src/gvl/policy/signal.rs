//! CRuby to 3.2, and CPython: a release frees the lock and signals a waiter; whoever runs first
//! takes it.
//!
//! CRuby v3_1_0 `thread_pthread.c`: `gvl_acquire_common`, `do_gvl_timer`, `gvl_release_common`,
//! `gvl_yield`. CPython 3.11 `Python/ceval_gil.h`: `take_gil`, `drop_gil`.

use super::{Charge, Decision, Nanos, Place, Sched, Step, Then, ThreadId, Timer};
use crate::gvl::record::ForcedSwitch;

/// A requester wins a switch only while it is still on its way to sleep: it was not beaten once
/// after waiting longer than this (measured on CPython 3.9 to 3.13).
const STEAL_WINDOW: Nanos = 200_000;

impl Sched {
    pub(super) fn signal_acquire(&mut self, thread: ThreadId, now: Nanos) -> Step {
        if self.running.is_none() {
            // Those who wait are not asked.
            self.timed_out = true;
            return self.take(thread, false, now);
        }
        self.wait_in_line(thread, now)
    }

    pub(super) fn signal_leave(&mut self, thread: ThreadId, now: Nanos) -> Step {
        let mut step = self.free_lock(thread, now);
        let forced = self.gvl.forced_switch == ForcedSwitch::IfRequested
            && std::mem::take(&mut self.at_mut(thread).interrupt);
        if forced && self.anyone_waits() {
            self.at_mut(thread).place = Place::Switching(Then::Leave);
            self.switching.push(thread);
            step.decision = Decision::Wait { until: None };
        } else {
            self.at_mut(thread).place = Place::Out;
        }
        step
    }

    pub(super) fn signal_yield(&mut self, thread: ThreadId, now: Nanos) -> Step {
        let mut step = self.free_lock(thread, now);
        let forced = self.gvl.forced_switch != ForcedSwitch::Never;
        if forced && self.anyone_waits() {
            self.at_mut(thread).place = Place::Switching(Then::Acquire);
            self.switching.push(thread);
            step.decision = Decision::Wait { until: None };
            return step;
        }
        if self.anyone_waits() {
            let wait = self.wait_in_line(thread, now);
            step.decision = wait.decision;
            return step;
        }
        self.signal_acquire(thread, now)
    }

    pub(super) fn signal_woken(&mut self, thread: ThreadId, timed_out: bool, now: Nanos) -> Step {
        match self.at(thread).place {
            Place::Switching(then) if !self.switching.contains(&thread) => match then {
                Then::Leave => self.go(thread, Place::Out),
                Then::Acquire => self.signal_acquire(thread, now),
            },
            Place::Queued | Place::Signalled if self.running.is_none() => {
                self.step_out_of_line(thread);
                if self.timekeeper == Some(thread) {
                    self.timekeeper = None;
                    self.timed_out = timed_out;
                }
                self.take(thread, true, now)
            }
            Place::Queued | Place::Signalled => self.wait_on(thread, timed_out, now),
            _ => Step::of(Decision::Wait { until: None }),
        }
    }

    /// Frees the lock of `thread` and signals one waiter.
    fn free_lock(&mut self, thread: ThreadId, now: Nanos) -> Step {
        self.account(thread, now);
        self.running = None;
        let Some(next) = self.whom_to_signal(now) else {
            return Step::of(Decision::Go);
        };
        if self.gvl.requeue {
            self.readyq.remove(next);
            self.at_mut(next).place = Place::Signalled;
            self.signalled += 1;
        }
        Step::of(Decision::Go).waking(next)
    }

    /// The first in turn, which is the longest waiter by default; or the one that asked, when it
    /// finds the signal before the first is up.
    fn whom_to_signal(&mut self, now: Nanos) -> Option<ThreadId> {
        let first = self.readyq.front()?;
        let Some(requester) = self.requester.take().filter(|t| *t != first) else {
            return Some(first);
        };
        let waits = self.at(requester).place == Place::Queued;
        let fresh = now.saturating_sub(self.at(requester).waiting_since.1) < STEAL_WINDOW;
        let steals = waits && fresh && self.chance.unit() < self.gvl.requester_steal;
        Some(if steals { requester } else { first })
    }

    /// Takes the free lock, out of the line or past it; lets those go on who waited for a switch.
    fn take(&mut self, thread: ThreadId, from_line: bool, now: Nanos) -> Step {
        let switched = match self.gvl.forced_switch {
            ForcedSwitch::Never => false,
            // Only one who waited lets a yielding thread go on: a passer-by does not.
            ForcedSwitch::AfterYield => from_line,
            ForcedSwitch::IfRequested => self.last != Some(thread),
        };
        self.switch_in(thread, now);
        if self.gvl.charge == Charge::OnRequest {
            self.at_mut(thread).interrupt = false;
        }
        let mut step = Step::of(Decision::Go);
        if switched {
            step.wake.extend(std::mem::take(&mut self.switching));
        }
        match self.gvl.timer {
            // The tail will wait longest: it becomes the timekeeper when it wakes.
            Timer::OneWaiter if self.timekeeper.is_none() => {
                step.wake.extend(self.readyq.back());
            }
            Timer::Thread if self.anyone_waits() => {
                self.next_tick.get_or_insert(now + self.tick);
            }
            _ => {}
        }
        step
    }

    /// A new wait, at the tail.
    fn wait_in_line(&mut self, thread: ThreadId, now: Nanos) -> Step {
        self.line_up(thread, now);
        let until = self.next_look(thread, now);
        Step::of(Decision::Wait { until })
    }

    /// A waiter woke, and the lock is taken.
    fn wait_on(&mut self, thread: ThreadId, timed_out: bool, now: Nanos) -> Step {
        let holder = self.running.filter(|t| self.at(*t).place == Place::Holding);
        match self.gvl.timer {
            Timer::EachWaiter => {
                let unchanged = self.at(thread).waiting_since.0 == self.switch_number;
                let asks = timed_out && unchanged;
                self.step_out_of_line(thread);
                let mut step = self.wait_in_line(thread, now);
                if asks {
                    self.requester = Some(thread);
                    step.interrupt = holder.and_then(|holder| self.interrupt(holder));
                }
                step
            }
            Timer::OneWaiter | Timer::Thread => {
                let mut interrupt = None;
                if self.timekeeper == Some(thread) {
                    self.timekeeper = None;
                    self.timed_out = timed_out;
                    interrupt = holder.and_then(|holder| self.interrupt(holder));
                }
                let until = self.next_look(thread, now);
                Step { interrupt, ..Step::of(Decision::Wait { until }) }
            }
        }
    }

    /// Until when a waiter sleeps, and what it remembers of the start of its wait.
    fn next_look(&mut self, thread: ThreadId, now: Nanos) -> Option<Nanos> {
        self.at_mut(thread).waiting_since = (self.switch_number, now);
        match self.gvl.timer {
            Timer::EachWaiter => Some(now + self.tick),
            Timer::OneWaiter if self.timekeeper.is_none() => {
                self.timekeeper = Some(thread);
                if self.timed_out {
                    self.deadline = now + self.tick;
                }
                Some(self.deadline)
            }
            Timer::OneWaiter => None,
            Timer::Thread => {
                self.next_tick.get_or_insert(now + self.tick);
                None
            }
        }
    }

    fn step_out_of_line(&mut self, thread: ThreadId) {
        if self.at(thread).place == Place::Signalled {
            self.signalled -= 1;
        } else {
            self.readyq.remove(thread);
        }
    }
}
