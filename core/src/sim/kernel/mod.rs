//! The simulated machine: threads that compute, sleep and wait for their process's lock.
//!
//! Roles (`sim::server`) ask for one thing at a time: compute so long, sleep, wait to be woken, take
//! the lock, leave it. What can be had at once is [`Done::Now`]; else the thread asks its role again
//! when it is done. Locks are decided by `gvl::policy`, the same that the real lock is driven by;
//! cores by `cores`. Invariant: a thread is on one core at most, and only there does it run.

mod cores;
mod quota;
mod record;
mod thread;

pub(super) use record::Record;
pub(super) use thread::{Burst, Tid};

use self::cores::Cores;
use self::quota::Quota;
use self::thread::{Next, Place, Thread};
use super::calendar::Calendar;
use crate::clock::{Nanos, nanos};
use crate::gvl::policy::{Decision, Leave, Sched, Step, ThreadId};
use crate::gvl::{Gvl, Phase, Usage};
use crate::machine::Machine;
use crate::measure::{Histogram, Throttled, Waits};
use crate::random::Stream;
use crate::workload::Dist;
use std::collections::VecDeque;
use std::time::Duration;

/// The lock of a simulated process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct LockId(pub(super) u32);

/// Whether a thread may go on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[must_use = "a thread that has to wait must not go on"]
pub(super) enum Done {
    /// At once.
    Now,
    /// It asks its role again.
    Later,
}

/// What the roles hear of.
#[derive(Debug)]
pub(super) enum Happening<T> {
    /// A thread is on a core and wants to know what to do.
    Step(Tid),
    /// A time that a role asked for has come.
    Timer(T),
}

/// The machine; `T` is what roles ask to be reminded of.
#[derive(Debug)]
pub(super) struct Kernel<T> {
    calendar: Calendar<Event<T>>,
    wake: Dist,
    chance: Stream,
    switch: Nanos,
    slice: Nanos,
    /// How fast a core is while all compute; 1 alone.
    together: f64,
    /// How many bursts run, and how fast each does.
    running: u32,
    speed: f64,
    cores: Cores,
    /// What all threads may use together, where that is bounded.
    quota: Option<Box<Quota>>,
    threads: Vec<Thread>,
    /// Threads that ended.
    spare: Vec<Tid>,
    locks: Vec<Lock>,
    /// Threads on a core that are about to run.
    line: VecDeque<Tid>,
    /// Where the run's timeline is recorded.
    pub(super) record: Option<Box<Record>>,
}

#[derive(Debug)]
struct Lock {
    sched: Sched,
    /// The threads, by their numbers in `sched`.
    members: Vec<Tid>,
    /// When the calendar has its timer look.
    tick_at: Option<Nanos>,
    waits: Histogram,
    cpu: Nanos,
    /// What threads used that ended.
    ended: Usage,
}

#[derive(Debug)]
enum Event<T> {
    /// A thread that sleeps is ready.
    Wake(Tid, u32),
    /// A wait for the lock runs out.
    Deadline(Tid, u32),
    /// A thread whose core has been switched to it runs.
    Run(Tid, u32),
    /// A burst ends.
    BurstEnd(Tid, u32),
    /// A slice on a core ends.
    Slice(u32, u32),
    /// A lock's timer looks.
    Tick(LockId),
    /// The threads that run have used the quota of CPU time.
    Spent,
    /// A period begins, and with it those go on that had to wait for it.
    Period,
    Timer(T),
}

impl<T> Kernel<T> {
    pub(super) fn new(machine: &Machine, seed: u64) -> Self {
        Self {
            calendar: Calendar::new(),
            wake: machine.wake(),
            chance: Stream::new(seed, "wake", 0),
            switch: nanos(machine.switch()),
            slice: nanos(machine.slice()),
            together: machine.together(),
            running: 0,
            speed: 1.0,
            cores: Cores::new(machine.cores()),
            quota: Quota::of(machine),
            threads: Vec::new(),
            spare: Vec::new(),
            locks: Vec::new(),
            line: VecDeque::new(),
            record: None,
        }
    }

    /// Adds a process, which has a lock.
    pub(super) fn add_lock(&mut self, gvl: &Gvl, seed: u64) -> LockId {
        self.locks.push(Lock {
            sched: Sched::new(gvl.clone(), seed),
            members: Vec::new(),
            tick_at: None,
            waits: Histogram::new(),
            cpu: 0,
            ended: Usage::default(),
        });
        LockId(self.locks.len() as u32 - 1)
    }

    /// Adds a thread to a process, with a priority at its lock: asleep, and outside the lock.
    pub(super) fn add_thread(&mut self, lock: LockId, priority: i8) -> Tid {
        let now = self.now();
        let id = self.locks[lock.0 as usize].sched.join(priority);
        let stamp = self.spare.last().map_or(0, |tid| self.at(*tid).stamp);
        let thread = Thread { stamp, ..Thread::new(lock, id, now) };
        let tid = match self.spare.pop() {
            Some(tid) => {
                *self.at_mut(tid) = thread;
                tid
            }
            None => {
                self.threads.push(thread);
                Tid(self.threads.len() as u32 - 1)
            }
        };
        let members = &mut self.locks[lock.0 as usize].members;
        match members.get_mut(id.0 as usize) {
            Some(place) => *place = tid,
            None => members.push(tid),
        }
        tid
    }

    /// Ends the thread that runs; it has left the lock.
    pub(super) fn end_thread(&mut self, tid: Tid) {
        self.block(tid);
        let usage = self.usage(tid, self.now());
        let (lock, id) = (self.at(tid).lock, self.at(tid).id);
        let lock = &mut self.locks[lock.0 as usize];
        lock.sched.part(id);
        lock.ended = lock.ended + usage;
        self.spare.push(tid);
        let now = self.now();
        if let Some(record) = &mut self.record {
            record.ends(tid, now);
        }
    }

    pub(super) fn now(&self) -> Nanos {
        self.calendar.now()
    }

    /// Goes on until a role is asked something; `None` where nothing more happens until `end`.
    pub(super) fn next(&mut self, end: Nanos) -> Option<Happening<T>> {
        loop {
            while let Some(tid) = self.line.pop_front() {
                if self.run(tid) {
                    return Some(Happening::Step(tid));
                }
            }
            match self.calendar.next(end)? {
                Event::Timer(timer) => return Some(Happening::Timer(timer)),
                Event::BurstEnd(tid, stamp) if self.at(tid).stamp == stamp => {
                    self.pause(tid);
                    self.at_mut(tid).next = Next::Step;
                    self.line.push_back(tid);
                }
                Event::Wake(tid, stamp) if self.at(tid).stamp == stamp => self.ready(tid),
                Event::Run(tid, stamp) if self.at(tid).stamp == stamp => self.line.push_back(tid),
                Event::Deadline(tid, stamp) if self.at(tid).stamp == stamp => {
                    self.at_mut(tid).timed_out = true;
                    self.rouse(tid);
                }
                Event::Slice(core, stamp) => self.slice_over(core, stamp),
                Event::Tick(lock) => self.tick(lock),
                Event::Spent => self.spent(),
                Event::Period => self.period(),
                _ => {}
            }
        }
    }

    /// Reminds the roles at `at`.
    pub(super) fn remind(&mut self, at: Nanos, timer: T) {
        self.calendar.enter(at, Event::Timer(timer));
    }

    /// The thread that runs uses the CPU for `length`.
    pub(super) fn burn(&mut self, tid: Tid, length: Nanos, burst: Burst) -> Done {
        if length == 0 {
            return Done::Now;
        }
        let thread = self.at_mut(tid);
        (thread.burst, thread.left, thread.next) = (burst, length, Next::Burst);
        self.line.push_back(tid);
        Done::Later
    }

    /// The thread that runs sleeps for `length`. Nobody else may wake it.
    pub(super) fn sleep(&mut self, tid: Tid, length: Nanos) -> Done {
        if length == 0 {
            return Done::Now;
        }
        self.block(tid);
        let at = self.now().saturating_add(length).saturating_add(self.wake_latency());
        self.calendar.enter(at, Event::Wake(tid, self.at(tid).stamp));
        Done::Later
    }

    /// The thread that runs gives its core up, and sleeps until [`Kernel::wake`].
    pub(super) fn block(&mut self, tid: Tid) {
        let thread = self.at_mut(tid);
        let Place::On(core) = thread.place else {
            unreachable!("only a thread that runs goes to sleep");
        };
        thread.place = Place::Asleep;
        thread.stamp = thread.stamp.wrapping_add(1);
        self.pass_on(core);
    }

    /// Wakes a thread that blocked, or that is new; it asks its role.
    pub(super) fn wake(&mut self, tid: Tid) {
        self.wake_as(tid, 0);
    }

    /// Wakes as [`Kernel::wake`], as the `place`th of several that are woken by one: whoever wakes
    /// them has had as many others to wake before, each of which took it as long as a switch.
    pub(super) fn wake_as(&mut self, tid: Tid, place: usize) {
        let thread = self.at(tid);
        if thread.place == Place::Asleep && !thread.at_lock {
            self.rouse_after(tid, self.switch.saturating_mul(place as Nanos));
        }
    }

    /// The thread that runs asks for the lock.
    pub(super) fn acquire(&mut self, tid: Tid) -> Done {
        let now = self.now();
        let (lock, id) = (self.at(tid).lock, self.at(tid).id);
        let step = self.locks[lock.0 as usize].sched.acquire(id, now);
        if step.decision == Decision::Go {
            self.at_mut(tid).used.acquisitions += 1;
            self.enter(tid, Phase::Holding, now);
        } else {
            self.enter(tid, Phase::Waiting, now);
        }
        self.told(tid, step)
    }

    /// The thread that runs gives the lock up.
    pub(super) fn leave(&mut self, tid: Tid, how: Leave) -> Done {
        let now = self.now();
        let (lock, id) = (self.at(tid).lock, self.at(tid).id);
        let step = self.locks[lock.0 as usize].sched.leave(id, how, now);
        self.enter(tid, Phase::Blocked, now);
        self.told(tid, step)
    }

    /// Takes the waits for the lock that the thread had since it was last asked.
    pub(super) fn take_waits(&mut self, tid: Tid) -> Waits {
        std::mem::take(&mut self.at_mut(tid).waits)
    }

    /// What a thread used of the lock until `at`.
    pub(super) fn usage(&self, tid: Tid, at: Nanos) -> Usage {
        self.at(tid).usage_at(at)
    }

    /// What threads of the process used that ended, each wait for its lock, and its CPU time.
    pub(super) fn totals(&self, lock: LockId) -> (Usage, Histogram, Duration) {
        let lock = &self.locks[lock.0 as usize];
        (lock.ended, lock.waits.clone(), Duration::from_nanos(lock.cpu))
    }

    /// Has a thread on a core do what it is there for; true where it asks its role.
    fn run(&mut self, tid: Tid) -> bool {
        if self.quota.is_some() && self.is_stopped(tid, false) {
            return false;
        }
        if self.at(tid).at_lock && self.woken(tid) == Done::Later {
            return false;
        }
        let thread = self.at(tid);
        let looks = thread.interrupted && thread.phase == Phase::Holding;
        if looks && self.safepoint(tid) == Done::Later {
            return false;
        }
        if self.at(tid).next == Next::Burst {
            if self.quota.is_some() && self.at(tid).left > 0 && self.is_stopped(tid, true) {
                return false;
            }
            let now = self.now();
            let thread = self.at_mut(tid);
            (thread.runs, thread.since) = (true, now);
            self.now_run(self.running + 1);
            self.repace(tid);
            self.enter_end(tid);
            return false;
        }
        true
    }

    /// A thread that the lock told to wait woke up, and asks whether it may go on.
    fn woken(&mut self, tid: Tid) -> Done {
        let now = self.now();
        let thread = self.at_mut(tid);
        thread.at_lock = false;
        let timed_out = std::mem::take(&mut thread.timed_out);
        let (lock, id) = (thread.lock, thread.id);
        let step = self.locks[lock.0 as usize].sched.woken(id, timed_out, now);
        // One that is not waiting for it had left it, and waited for another one to take it.
        if step.decision == Decision::Go && self.at(tid).phase == Phase::Waiting {
            let waited = self.enter(tid, Phase::Holding, now);
            let thread = self.at_mut(tid);
            thread.used.acquisitions += 1;
            thread.used.handoffs += 1;
            thread.waits.add(Waits { count: 1, total: waited });
            self.locks[lock.0 as usize].waits.record(waited);
        }
        self.told(tid, step)
    }

    /// A thread that holds the lock looks whether its quantum is over.
    fn safepoint(&mut self, tid: Tid) -> Done {
        let now = self.now();
        let thread = self.at_mut(tid);
        thread.interrupted = false;
        let (lock, id) = (thread.lock, thread.id);
        let step = self.locks[lock.0 as usize].sched.safepoint(id, now);
        if step.decision != Decision::Go {
            self.at_mut(tid).used.forced_yields += 1;
            self.enter(tid, Phase::Waiting, now);
        }
        self.told(tid, step)
    }

    /// Does what the lock decided after an event of this thread.
    fn told(&mut self, tid: Tid, step: Step) -> Done {
        let done = match step.decision {
            Decision::Go => Done::Now,
            Decision::Wait { until } => {
                self.at_mut(tid).at_lock = true;
                self.block(tid);
                if let Some(until) = until {
                    self.calendar.enter(until, Event::Deadline(tid, self.at(tid).stamp));
                }
                Done::Later
            }
        };
        let lock = self.at(tid).lock;
        self.act(lock, &step);
        done
    }

    /// Wakes and interrupts whom the lock names.
    fn act(&mut self, lock: LockId, step: &Step) {
        for id in &step.wake {
            let tid = self.thread_of(lock, *id);
            if self.at(tid).place == Place::Asleep && self.at(tid).at_lock {
                self.rouse(tid);
            }
        }
        if let Some(id) = step.interrupt {
            let tid = self.thread_of(lock, id);
            self.at_mut(tid).interrupted = true;
            if self.at(tid).runs && self.at(tid).burst == Burst::Locked {
                self.pause(tid);
                self.line.push_back(tid);
            }
        }
        let now = self.now();
        let state = &mut self.locks[lock.0 as usize];
        // A look that had to wait for the quota is due at once.
        let next = state.sched.next_tick().map(|at| at.max(now));
        if next != state.tick_at {
            state.tick_at = next;
            if let Some(at) = next {
                self.calendar.enter(at, Event::Tick(lock));
            }
        }
    }

    fn tick(&mut self, lock: LockId) {
        let now = self.now();
        let state = &mut self.locks[lock.0 as usize];
        if state.tick_at != Some(now) {
            return;
        }
        if let Some(quota) = &mut self.quota {
            quota.count(now, self.running);
            if quota.is_over() {
                // The timer is a thread of the process, and has to wait like the others.
                state.tick_at = Some(quota.end());
                return self.calendar.enter(quota.end(), Event::Tick(lock));
            }
        }
        state.tick_at = None;
        let step = state.sched.tick(now);
        self.act(lock, &step);
    }

    /// A sleeping thread will be ready after the time that waking takes.
    fn rouse(&mut self, tid: Tid) {
        self.rouse_after(tid, 0);
    }

    fn rouse_after(&mut self, tid: Tid, late: Nanos) {
        let thread = self.at_mut(tid);
        thread.place = Place::Waking;
        thread.stamp = thread.stamp.wrapping_add(1);
        let latency = self.wake_latency().saturating_add(late);
        if latency == 0 {
            return self.ready(tid);
        }
        let event = Event::Wake(tid, self.at(tid).stamp);
        self.calendar.enter(self.now().saturating_add(latency), event);
    }

    fn wake_latency(&mut self) -> Nanos {
        nanos(self.wake.draw(&mut self.chance))
    }

    /// A thread wants a core.
    fn ready(&mut self, tid: Tid) {
        let now = self.now();
        if let Some(core) = self.cores.take_idle(tid, self.at(tid).core, now) {
            let thread = self.at_mut(tid);
            (thread.place, thread.core) = (Place::On(core), core);
            self.line.push_back(tid);
            if let Some(record) = &mut self.record {
                record.on(tid, core, now);
            }
            return;
        }
        if let Some(least) = self.cores.busy().map(|(_, tid)| self.had(tid)).min() {
            self.cores.pass(least);
        }
        let vruntime = self.cores.after_sleep(self.at(tid).vruntime, self.slice);
        let thread = self.at_mut(tid);
        (thread.vruntime, thread.place) = (vruntime, Place::Queued);
        let first = !self.cores.anyone_waits();
        self.cores.line_up(tid, vruntime);
        if first {
            (0..self.cores.len()).for_each(|core| self.watch(core));
        }
        if let Some(core) = self.whom_to_preempt(vruntime) {
            self.preempt(core);
        }
    }

    /// The core of the thread that had the most CPU time, if a woken one had much less.
    fn whom_to_preempt(&self, vruntime: Nanos) -> Option<u32> {
        let running = self.cores.busy().filter(|(_, tid)| self.at(*tid).runs);
        let (most, core) = running.map(|(core, tid)| (self.had(tid), core)).max()?;
        (vruntime + self.slice / 3 < most).then_some(core)
    }

    /// The CPU time of a thread until now.
    fn had(&self, tid: Tid) -> Nanos {
        let thread = self.at(tid);
        let open = if thread.runs { self.now() - thread.since } else { 0 };
        thread.vruntime + open
    }

    /// Sees to it that the thread on a core gives way after its slice.
    fn watch(&mut self, core: u32) {
        let slice = self.slice;
        let state = self.cores.core(core);
        if state.on.is_none() || std::mem::replace(&mut state.watched, true) {
            return;
        }
        let (at, event) = (state.since.saturating_add(slice), Event::Slice(core, state.stamp));
        self.calendar.enter(at, event);
    }

    fn slice_over(&mut self, core: u32, stamp: u32) {
        let state = self.cores.core(core);
        let Some(tid) = state.on.filter(|_| state.stamp == stamp) else { return };
        state.watched = false;
        if !self.cores.anyone_waits() {
            return;
        }
        if self.at(tid).runs {
            self.preempt(core);
        } else {
            // It has not begun: another slice.
            self.cores.core(core).since = self.now();
            self.watch(core);
        }
    }

    /// Puts the thread whose burst runs on a core back in line.
    fn preempt(&mut self, core: u32) {
        let Some(tid) = self.cores.core(core).on else { return };
        self.pause(tid);
        self.at_mut(tid).place = Place::Queued;
        let vruntime = self.at(tid).vruntime;
        self.cores.line_up(tid, vruntime);
        self.pass_on(core);
    }

    /// Gives a core to the next in line.
    fn pass_on(&mut self, core: u32) {
        let now = self.now();
        if let (Some(record), Some(last)) = (&mut self.record, self.cores.core(core).on) {
            record.off(last, now);
        }
        self.cores.clear(core);
        let Some(next) = self.cores.pop() else {
            return self.cores.leave_idle(core);
        };
        let switch = self.switch;
        if let Some(record) = &mut self.record {
            record.on(next, core, now);
        }
        // Its slice begins when it runs.
        self.cores.put(core, next, now.saturating_add(switch));
        let thread = self.at_mut(next);
        (thread.place, thread.core) = (Place::On(core), core);
        if switch == 0 {
            self.line.push_back(next);
        } else {
            let (lock, event) = (thread.lock, Event::Run(next, thread.stamp));
            self.locks[lock.0 as usize].cpu += switch;
            self.calendar.enter(now.saturating_add(switch), event);
            if let Some(quota) = &mut self.quota {
                quota.count(now, self.running);
                quota.charge(now, switch);
                self.watch_quota();
            }
        }
        if self.cores.anyone_waits() {
            self.watch(core);
        }
    }

    /// Stops the burst that runs, and counts what was used.
    fn pause(&mut self, tid: Tid) {
        self.settle(tid);
        self.at_mut(tid).runs = false;
        self.now_run(self.running - 1);
        self.repace(tid);
    }

    /// So many bursts run from now on.
    fn now_run(&mut self, running: u32) {
        if let Some(quota) = &mut self.quota {
            quota.count(self.calendar.now(), self.running);
        }
        self.running = running;
        if self.quota.is_some() {
            self.watch_quota();
        }
    }

    /// Sees to it that the threads that run stop when they have used the quota.
    fn watch_quota(&mut self) {
        let Some(quota) = &mut self.quota else { return };
        let spent = quota.spent(self.running);
        if spent != quota.due {
            quota.due = spent;
            if let Some(at) = spent {
                self.calendar.enter(at, Event::Spent);
            }
        }
    }

    /// Whether a thread that could run has to wait for the next period; it may have come to compute.
    fn is_stopped(&mut self, tid: Tid, to_compute: bool) -> bool {
        let now = self.calendar.now();
        let Some(quota) = &mut self.quota else { return false };
        quota.count(now, self.running);
        let stops = if to_compute { quota.is_spent() } else { quota.is_over() };
        if stops {
            self.hold(tid);
        }
        stops
    }

    fn hold(&mut self, tid: Tid) {
        let now = self.now();
        if let Some(record) = &mut self.record {
            record.off(tid, now);
        }
        if let Some(at) = self.quota.as_mut().and_then(|quota| quota.hold(tid)) {
            self.calendar.enter(at, Event::Period);
        }
    }

    /// The quota is used up: whoever has more to compute stops where it is, on its core.
    fn spent(&mut self) {
        let now = self.now();
        let Some(quota) = self.quota.as_mut().filter(|quota| quota.due == Some(now)) else {
            return;
        };
        quota.due = None;
        quota.count(now, self.running);
        let speed = self.speed;
        let goes_on = |thread: &Thread| {
            let ran = now - thread.since;
            thread.runs && thread.left > if speed == 1.0 { ran } else { scaled(ran, speed) }
        };
        let running = self.cores.busy().map(|(_, tid)| tid);
        let stopped: Vec<Tid> = running.filter(|tid| goes_on(self.at(*tid))).collect();
        for tid in stopped {
            self.pause(tid);
            self.hold(tid);
        }
    }

    /// A period begins that threads waited for.
    fn period(&mut self) {
        let now = self.now();
        let Some(quota) = &mut self.quota else { return };
        for tid in quota.release(now) {
            self.line.push_back(tid);
            let core = self.at(tid).core;
            if let Some(record) = &mut self.record {
                record.on(tid, core, now);
            }
        }
    }

    /// How the quota bound the threads until `end`, where there is one.
    pub(super) fn throttled(&self, end: Nanos) -> Option<Throttled> {
        self.quota.as_ref().map(|quota| quota.throttled(end))
    }

    /// The bursts that run, but for one that begins or stops, go on at the speed of so many.
    fn repace(&mut self, but: Tid) {
        if self.together == 1.0 {
            return;
        }
        let others = f64::from(self.running.saturating_sub(1));
        let most = f64::from(self.cores.len().saturating_sub(1)).max(1.0);
        let speed = 1.0 - (1.0 - self.together) * others / most;
        if speed == self.speed {
            return;
        }
        let others = self.cores.busy().map(|(_, tid)| tid);
        let running: Vec<Tid> = others.filter(|tid| *tid != but && self.at(*tid).runs).collect();
        running.iter().for_each(|tid| self.settle(*tid));
        self.speed = speed;
        running.iter().for_each(|tid| self.enter_end(*tid));
    }

    /// Enters when the burst that runs will be done.
    fn enter_end(&mut self, tid: Tid) {
        let thread = self.at(tid);
        let left =
            if self.speed == 1.0 { thread.left } else { scaled(thread.left, 1.0 / self.speed) };
        let event = Event::BurstEnd(tid, thread.stamp);
        self.calendar.enter(self.now().saturating_add(left), event);
    }

    /// Counts what the burst that runs has used, and what it has done.
    fn settle(&mut self, tid: Tid) {
        let (now, speed) = (self.now(), self.speed);
        let thread = self.at_mut(tid);
        let ran = now - thread.since;
        let done = if speed == 1.0 { ran } else { scaled(ran, speed) };
        thread.since = now;
        thread.stamp = thread.stamp.wrapping_add(1);
        thread.left = thread.left.saturating_sub(done);
        thread.vruntime += ran;
        let lock = thread.lock;
        self.locks[lock.0 as usize].cpu += ran;
    }

    /// Begins a phase of a thread, and tells how long the last one was.
    fn enter(&mut self, tid: Tid, phase: Phase, now: Nanos) -> Duration {
        if let Some(record) = &mut self.record {
            record.enters(tid, phase, now);
        }
        Duration::from_nanos(self.at_mut(tid).enter(phase, now))
    }

    fn thread_of(&self, lock: LockId, id: ThreadId) -> Tid {
        self.locks[lock.0 as usize].members[id.0 as usize]
    }

    fn at(&self, tid: Tid) -> &Thread {
        &self.threads[tid.0 as usize]
    }

    fn at_mut(&mut self, tid: Tid) -> &mut Thread {
        &mut self.threads[tid.0 as usize]
    }
}

/// A length of time at another speed, to the nearest nanosecond.
fn scaled(length: Nanos, by: f64) -> Nanos {
    (length as f64 * by).round() as Nanos
}
