//! CRuby since 3.3: the releaser makes the head of the queue the owner while it is still asleep.
//!
//! `thread_pthread.c`, v3_3_0 to v4.0.5: `thread_sched_to_ready_common`,
//! `thread_sched_wakeup_next_thread`, `thread_sched_wait_running_turn`, `thread_sched_yield`.
//! The stealing "hot" thread is master's (commit 25c1df0a95). The delayed hand-off is that of pull
//! request 15529, which was closed: `thread_sched_to_waiting_common` leaves `running` as it is, a
//! thread that is back takes no switch, and the timer gives the lock of one that is still away to the
//! next. Differs from it: where nobody waits, the lock is free at once.

use super::{Decision, Leave, Nanos, Place, Sched, Step, ThreadId};

impl Sched {
    pub(super) fn handoff_acquire(&mut self, thread: ThreadId, now: Nanos) -> Step {
        let Some(owner) = self.running.filter(|owner| *owner != thread) else {
            // Free, or its own still: the hand-off was delayed, and it is back before the tick.
            self.take_over(thread, now);
            return Step::of(Decision::Go);
        };
        if self.hot == Some(thread) && self.at(owner).place == Place::Granted {
            // The successor has not woken yet: it goes back to the front, and no switch happened.
            self.at_mut(owner).place = Place::Queued;
            self.readyq.push_front(owner);
            self.take_over(thread, now);
            return Step::of(Decision::Go);
        }
        self.line_up(thread, now);
        if self.at(owner).place == Place::Holding {
            self.watch(now);
        }
        Step::of(Decision::Wait { until: None })
    }

    pub(super) fn handoff_leave(&mut self, thread: ThreadId, how: Leave, now: Nanos) -> Step {
        self.account(thread, now);
        if self.gvl.delayed_handoff && how == Leave::Region && !self.readyq.is_empty() {
            self.at_mut(thread).place = Place::Away;
            self.watch(now);
            return Step::of(Decision::Go);
        }
        self.at_mut(thread).place = Place::Out;
        let step = self.hand_over();
        let may_steal = self.gvl.hot_steal && how == Leave::Region && self.running.is_some();
        self.hot = may_steal.then_some(thread);
        step
    }

    pub(super) fn handoff_woken(&mut self, thread: ThreadId, now: Nanos) -> Step {
        if self.at(thread).place != Place::Granted {
            return Step::of(Decision::Wait { until: None });
        }
        self.take_over(thread, now);
        Step::of(Decision::Go)
    }

    pub(super) fn handoff_yield(&mut self, thread: ThreadId, now: Nanos) -> Step {
        if self.readyq.is_empty() {
            return Step::of(Decision::Go);
        }
        self.account(thread, now);
        let mut step = self.hand_over();
        self.line_up(thread, now);
        step.decision = Decision::Wait { until: None };
        step
    }

    /// Makes the head of the queue the owner and wakes it.
    pub(super) fn hand_over(&mut self) -> Step {
        self.running = self.readyq.pop_front();
        match self.running {
            Some(next) => {
                self.at_mut(next).place = Place::Granted;
                Step::of(Decision::Go).waking(next)
            }
            None => Step::of(Decision::Go),
        }
    }

    /// Completes a take-over: the window for stealing closes, the timer watches the new slice.
    fn take_over(&mut self, thread: ThreadId, now: Nanos) {
        self.switch_in(thread, now);
        self.hot = None;
        if !self.readyq.is_empty() {
            self.watch(now);
        }
    }

    /// Starts the timer, unless it is ticking already: then its phase stays.
    fn watch(&mut self, now: Nanos) {
        self.next_tick.get_or_insert(now + self.tick);
    }
}
