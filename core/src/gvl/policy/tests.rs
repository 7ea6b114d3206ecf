//! The promises of the scheduler, tried on random lives of threads in virtual time.

mod steps;

use super::*;
use crate::gvl::policies;
use proptest::prelude::*;
use std::collections::BTreeMap;

const MS: Nanos = 1_000_000;
/// How often a holder looks for an interrupt.
const SAFEPOINT: Nanos = MS / 2;

/// One thing a thread does: compute under the lock, then leave it for a while.
#[derive(Debug, Clone)]
struct Turn {
    compute: Nanos,
    outside: Nanos,
    how: Leave,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Due {
    Woken { timed_out: bool },
    Ask,
    Safepoint,
    Tick,
}

struct Life {
    turns: Vec<Turn>,
    left: Nanos,
    asked_at: Option<Nanos>,
    /// The wake-up that is on its way, or the time-out.
    alarm: Option<u64>,
}

/// Drives a [`Sched`] as real threads would, with a wake-up latency of its own for each wake.
struct World {
    sched: Sched,
    lives: Vec<Life>,
    agenda: BTreeMap<(Nanos, u64), (ThreadId, Due)>,
    seq: u64,
    now: Nanos,
    wake_latency: Nanos,
    tick_at: Option<Nanos>,
    inside: Option<ThreadId>,
    /// Who began to wait, and who got the lock after waiting, in order.
    lined_up: Vec<ThreadId>,
    granted: Vec<ThreadId>,
    waits: Vec<Nanos>,
}

impl World {
    fn new(gvl: Gvl, lives: Vec<Vec<Turn>>, wake_latency: Nanos) -> Self {
        let mut world = Self {
            sched: Sched::new(gvl, 1),
            lives: Vec::new(),
            agenda: BTreeMap::new(),
            seq: 0,
            now: 0,
            wake_latency,
            tick_at: None,
            inside: None,
            lined_up: Vec::new(),
            granted: Vec::new(),
            waits: Vec::new(),
        };
        for (n, mut turns) in lives.into_iter().enumerate() {
            turns.reverse();
            let id = world.sched.join(world.sched.gvl.priority);
            world.lives.push(Life { turns, left: 0, asked_at: None, alarm: None });
            world.at(n as Nanos * 1000, id, Due::Ask);
        }
        world
    }

    fn at(&mut self, when: Nanos, thread: ThreadId, due: Due) -> u64 {
        self.seq += 1;
        self.agenda.insert((when, self.seq), (thread, due));
        self.seq
    }

    fn run(&mut self) {
        let mut steps = 0;
        while let Some(((now, seq), (thread, due))) = self.agenda.pop_first() {
            steps += 1;
            assert!(steps < 2_000_000, "the threads never finish");
            self.now = now;
            let life = &mut self.lives[thread.0 as usize];
            match due {
                Due::Woken { timed_out } => {
                    if life.alarm != Some(seq) {
                        continue;
                    }
                    life.alarm = None;
                    let step = self.sched.woken(thread, timed_out, now);
                    self.follow(thread, step);
                }
                Due::Ask => {
                    let Some(turn) = life.turns.last() else { continue };
                    life.left = turn.compute;
                    life.asked_at = Some(now);
                    let step = self.sched.acquire(thread, now);
                    self.follow(thread, step);
                }
                Due::Safepoint => self.compute(thread),
                Due::Tick => {
                    self.tick_at = None;
                    let step = self.sched.tick(now);
                    self.act(&step);
                }
            }
            let next = self.sched.next_tick();
            if let (None, Some(at)) = (self.tick_at, next) {
                self.tick_at = Some(at);
                self.at(at.max(now), ThreadId(0), Due::Tick);
            }
        }
        for (n, life) in self.lives.iter().enumerate() {
            assert!(life.turns.is_empty(), "thread {n} was never woken again");
        }
        assert!(self.sched.is_quiet());
    }

    fn compute(&mut self, thread: ThreadId) {
        assert_eq!(self.inside, Some(thread), "runs without the lock");
        let slice = self.lives[thread.0 as usize].left.min(SAFEPOINT);
        self.lives[thread.0 as usize].left -= slice;
        if self.lives[thread.0 as usize].left == 0 {
            let turn = self.lives[thread.0 as usize].turns.pop().expect("a turn is running");
            self.inside = None;
            let step = self.sched.leave(thread, turn.how, self.now);
            // A thread held back by a forced switch comes back no earlier than it is let go.
            let back = self.now + turn.outside;
            self.act(&step);
            match step.decision {
                Decision::Go => drop(self.at(back, thread, Due::Ask)),
                Decision::Wait { until } => self.sleep(thread, until),
            }
            return;
        }
        let step = self.sched.safepoint(thread, self.now);
        if step.decision != Decision::Go {
            self.inside = None;
            self.lives[thread.0 as usize].asked_at = Some(self.now);
        }
        self.follow(thread, step);
    }

    fn follow(&mut self, thread: ThreadId, step: Step) {
        match step.decision {
            Decision::Wait { until } => {
                if self.sched.at(thread).place == Place::Queued && !self.lined_up.contains(&thread)
                {
                    self.lined_up.push(thread);
                }
                self.sleep(thread, until);
            }
            Decision::Go if self.sched.at(thread).place == Place::Out => {
                self.at(self.now, thread, Due::Ask);
            }
            Decision::Go => {
                if self.inside != Some(thread) {
                    assert_eq!(self.inside, None, "two holders");
                    self.inside = Some(thread);
                    if let Some(place) = self.lined_up.iter().position(|t| *t == thread) {
                        self.check_rank(thread);
                        if place > 0 {
                            self.granted.push(thread);
                        }
                        self.lined_up.remove(place);
                    }
                    if let Some(asked) = self.lives[thread.0 as usize].asked_at.take() {
                        self.waits.push(self.now - asked);
                    }
                }
                let slice = self.lives[thread.0 as usize].left.min(SAFEPOINT);
                self.at(self.now + slice, thread, Due::Safepoint);
            }
        }
        self.act(&step);
    }

    /// No waiter that asked much earlier is passed, whatever it used.
    fn check_rank(&self, thread: ThreadId) {
        let gvl = &self.sched.gvl;
        if gvl.order != Order::Priority || gvl.release != Release::Handoff || gvl.hot_steal {
            return;
        }
        let asked = |t: &ThreadId| self.lives[t.0 as usize].asked_at.expect("it waits");
        // 16 x 2 quanta, by the weight of the lowest priority.
        let bound = 32 * 8 * nanos(gvl.quantum);
        let first = self.lined_up.iter().map(asked).min().expect("it is in line");
        assert!(asked(&thread) <= first + bound, "starved since {first}");
    }

    fn sleep(&mut self, thread: ThreadId, until: Option<Nanos>) {
        if let Some(until) = until {
            let alarm = self.at(until.max(self.now), thread, Due::Woken { timed_out: true });
            self.lives[thread.0 as usize].alarm = Some(alarm);
        }
    }

    fn act(&mut self, step: &Step) {
        for &thread in &step.wake {
            self.seq += 1;
            let latency = self.wake_latency * (1 + self.seq % 3) / 3;
            let alarm = self.at(self.now + latency, thread, Due::Woken { timed_out: false });
            self.lives[thread.0 as usize].alarm = Some(alarm);
        }
    }
}

fn turns() -> impl Strategy<Value = Vec<Turn>> {
    let turn = (1..250_u64, 0..40_u64, any::<bool>()).prop_map(|(compute, outside, region)| Turn {
        compute: compute * MS,
        outside: outside * MS / 4,
        how: if region { Leave::Region } else { Leave::Idle },
    });
    proptest::collection::vec(turn, 1..6)
}

/// A lock of any interpreter, or with any behaviours that go together.
fn exclusive() -> impl Strategy<Value = Gvl> {
    prop_oneof![of_an_interpreter(), crate::gvl::table::tests::locks()]
}

fn of_an_interpreter() -> impl Strategy<Value = Gvl> {
    let names: Vec<&str> = policies::NAMES.iter().copied().filter(|n| *n != "none").collect();
    (proptest::sample::select(names), proptest::option::of(1..80_u64), 0..3_u8).prop_map(
        |(name, quantum, fairness)| {
            let mut gvl = policies::find(name).unwrap();
            if fairness > 0 {
                gvl = gvl.with_fairness(
                    [super::super::Fairness::Fifo, super::super::Fairness::Barging]
                        [usize::from(fairness - 1)],
                );
            }
            if let Some(ms) = quantum {
                gvl = gvl.with_quantum(std::time::Duration::from_millis(ms));
            }
            gvl
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(192))]

    /// Never two holders, no lost wake-up, and everyone finishes: `World` asserts it as it goes.
    #[test]
    fn one_holder_and_no_lost_wake_up(
        gvl in exclusive(),
        lives in proptest::collection::vec(turns(), 1..6),
        latency in 0..200_000_u64,
    ) {
        World::new(gvl, lives, latency).run();
    }

    /// Handed from one to the next, the lock is granted in the order of asking, and a waiter gets
    /// it within waiters x quantum (rounded up to ticks), safepoints and wake-ups added.
    #[test]
    fn first_come_first_served_within_waiters_times_quantum(
        name in proptest::sample::select(vec!["cruby-3.3", "cruby-3.4", "cruby-4.0"]),
        quantum in 1..120_u64,
        lives in proptest::collection::vec(turns(), 2..6),
        latency in 0..200_000_u64,
    ) {
        let gvl = policies::find(name).unwrap()
            .with_quantum(std::time::Duration::from_millis(quantum));
        let (quantum, tick) = (nanos(gvl.quantum), nanos(gvl.tick));
        let threads = lives.len() as u64;
        let mut world = World::new(gvl, lives, latency);
        world.run();
        prop_assert_eq!(&world.granted, &[] as &[ThreadId], "overtaken");
        let slice = quantum.div_ceil(tick) * tick + tick + 2 * SAFEPOINT + latency;
        let longest = world.waits.iter().copied().max().unwrap_or(0);
        prop_assert!(longest <= (threads - 1) * slice + latency, "{longest} ns");
    }

    /// What the driver saves itself while nobody waits makes no difference, whatever was before.
    #[test]
    fn a_quiet_lock_observed_is_a_lock_asked(
        gvl in exclusive(),
        contended in any::<bool>(),
        timed_out in any::<bool>(),
        holders in proptest::collection::vec(0..3_u32, 0..20),
        asker in 0..3_u32,
    ) {
        let mut asked = Sched::new(gvl, 1);
        for _ in 0..3 {
            let _ = asked.join(0);
        }
        if contended {
            pass_on(&mut asked, timed_out);
        } else {
            prop_assert_eq!(asked.acquire(ThreadId(1), 0), Step::of(Decision::Go));
        }
        let mut observed = asked.clone();
        let (mut last, mut passed) = (ThreadId(1), Passed::Not);
        for holder in holders {
            let id = ThreadId(holder);
            prop_assert_eq!(asked.leave(last, Leave::Region, 40 * MS), Step::of(Decision::Go));
            prop_assert_eq!(asked.acquire(id, 40 * MS), Step::of(Decision::Go));
            passed = match passed {
                Passed::Switched => Passed::Switched,
                _ if last != id => Passed::Switched,
                _ => Passed::Taken,
            };
            last = id;
        }
        observed.observe(Some(last), Some(last), passed);
        prop_assert_eq!(asked.running(), observed.running());
        prop_assume!(asker != last.0);
        let ask = |s: &mut Sched| s.acquire(ThreadId(asker), 50 * MS);
        prop_assert_eq!(ask(&mut asked), ask(&mut observed));
        prop_assert_eq!(asked.next_tick(), observed.next_tick());
        let tire = |s: &mut Sched| (s.woken(ThreadId(asker), true, 500 * MS), s.safepoint(last, 501 * MS));
        prop_assert_eq!(tire(&mut asked), tire(&mut observed));
    }
}

/// Thread 0 takes the lock, thread 1 waits, perhaps for its time, and gets it; nobody waits then.
fn pass_on(sched: &mut Sched, timed_out: bool) {
    let (first, second) = (ThreadId(0), ThreadId(1));
    let _ = sched.acquire(first, 0);
    let _ = sched.acquire(second, 0);
    if timed_out {
        let _ = sched.woken(second, true, 20 * MS);
    }
    let mut woken = sched.leave(first, Leave::Region, 30 * MS).wake;
    if woken.is_empty() {
        // Away, it keeps the lock until the tick.
        woken = sched.tick(30 * MS).wake;
    }
    while let Some(thread) = woken.pop() {
        let step = sched.woken(thread, false, 30 * MS);
        assert_eq!(step.decision, Decision::Go);
        woken.extend(step.wake);
    }
    assert_eq!(sched.running().0, Some(second));
    assert!(sched.is_quiet());
}

/// Two CPU-bound threads, one of which asks while the other computes: how long it waits.
fn wait_beside_a_computing_thread(name: &str, priority: i8) -> Nanos {
    let mut world = World::new(
        policies::find(name).unwrap(),
        vec![
            vec![Turn { compute: 2000 * MS, outside: 0, how: Leave::Idle }],
            vec![Turn { compute: MS, outside: 0, how: Leave::Idle }],
        ],
        50_000,
    );
    world.sched.threads[0].priority = priority;
    world.run();
    world.waits.iter().copied().max().unwrap()
}

#[test]
fn the_wait_beside_one_computing_thread_is_one_quantum() {
    let check = |name, priority, expected: std::ops::RangeInclusive<Nanos>| {
        let wait = wait_beside_a_computing_thread(name, priority) / MS;
        assert!(expected.contains(&wait), "{name} {priority}: {wait} ms");
    };
    check("cruby-3.1", 0, 100..=101);
    check("cruby-3.3", 0, 100..=101);
    check("cpython-3.11", 0, 5..=6);
    // Ticks of 10 ms: 12.5 ms are two of them (SEMANTICS 2.2, GoodJob's priority).
    check("cruby-3.4", -3, 20..=21);
    check("cruby-3.4", -1, 50..=51);
    check("cruby-3.4", 3, 800..=801);
}

#[test]
fn a_hot_thread_takes_the_lock_back_from_a_sleeping_successor() {
    let mut sched = Sched::new(policies::find("cruby-master").unwrap(), 1);
    let (a, b) = (sched.join(0), sched.join(0));
    let _ = sched.acquire(a, 0);
    let _ = sched.acquire(b, 1);
    assert_eq!(sched.leave(a, Leave::Region, 2).wake.as_slice(), [b]);
    assert_eq!(sched.acquire(a, 3).decision, Decision::Go);
    // The successor wakes in vain and keeps its place at the front.
    assert_eq!(sched.woken(b, false, 4).decision, Decision::Wait { until: None });
    assert_eq!(sched.leave(a, Leave::Idle, 5).wake.as_slice(), [b]);
    assert!(matches!(sched.acquire(a, 6).decision, Decision::Wait { .. }));
    assert_eq!(sched.woken(b, false, 7).decision, Decision::Go);
}

#[test]
fn cpython_holds_a_releasing_thread_back_until_the_switch() {
    let mut sched = Sched::new(policies::find("cpython-3.11").unwrap(), 1);
    let (a, b) = (sched.join(0), sched.join(0));
    let _ = sched.acquire(a, 0);
    assert_eq!(sched.acquire(b, 0).decision, Decision::Wait { until: Some(5 * MS) });
    let asked = sched.woken(b, true, 5 * MS);
    assert_eq!(asked.interrupt, Some(a));
    let left = sched.leave(a, Leave::Region, 5 * MS + 1);
    assert_eq!((left.decision, left.wake.as_slice()), (Decision::Wait { until: None }, &[b][..]));
    let taken = sched.woken(b, false, 5 * MS + 2);
    assert_eq!((taken.decision, taken.wake.as_slice()), (Decision::Go, &[a][..]));
    assert_eq!(sched.woken(a, false, 5 * MS + 3).decision, Decision::Go);
    assert_eq!(sched.running().0, Some(b));
}

/// CRuby 3.1 keeps the period of its tick: a thread back at the lock that was passed on waits for
/// the rest of it, not for a new one (SEMANTICS 2.1, step 2a and consequences).
#[test]
fn a_tick_is_a_period_of_contention() {
    let mut sched = Sched::new(policies::find("cruby-3.1").unwrap(), 1);
    let _ = (sched.join(0), sched.join(0));
    pass_on(&mut sched, false);
    sched.observe(Some(ThreadId(1)), Some(ThreadId(1)), Passed::Not);
    let until = Some(100 * MS);
    assert_eq!(sched.acquire(ThreadId(0), 40 * MS).decision, Decision::Wait { until });
}

#[test]
fn a_hot_thread_that_parted_leaves_no_privilege() {
    let mut sched = Sched::new(policies::find("cruby-master").unwrap(), 1);
    let (a, b) = (sched.join(0), sched.join(0));
    let _ = sched.acquire(a, 0);
    let _ = sched.acquire(b, 1);
    let _ = sched.leave(a, Leave::Region, 2);
    sched.part(a);
    let newcomer = sched.join(0);
    assert_eq!(newcomer, a);
    assert!(matches!(sched.acquire(newcomer, 3).decision, Decision::Wait { .. }));
}

#[test]
fn without_a_lock_everyone_goes() {
    let mut sched = Sched::new(Gvl::none(), 1);
    let (a, b) = (sched.join(0), sched.join(0));
    assert_eq!(sched.acquire(a, 0).decision, Decision::Go);
    assert_eq!(sched.acquire(b, 0).decision, Decision::Go);
    assert!(sched.is_quiet());
}
