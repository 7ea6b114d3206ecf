//! Wakes a sleeping thread and lets it go on, one way.
//!
//! Two threads pass a baton. The one that has it rests for a while, so that the other one is
//! asleep for sure, then passes it; what is counted is the time from just before the pass to the
//! moment when the other thread goes on. With the lock the baton is the lock; bare, it is an
//! unpark. On two cores most of it is the core's own waking up; on one core it is a switch.

use criterion::Criterion;
use gvl_lab::clock;
use gvl_lab::gvl::{Gvl, lock::Lock};
use rustix::thread::{CpuSet, sched_setaffinity};
use std::hint::spin_loop;
use std::sync::atomic::{AtomicU64, Ordering::SeqCst};
use std::sync::mpsc;
use std::thread::{self, Thread};
use std::time::Duration;

pub fn measure(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("handoff");
    for (place, cores) in [("two cores", [0, 1]), ("one core", [0, 0])] {
        for (id, accounting) in [("ours, accounting off", false), ("ours, accounting on", true)] {
            group.bench_function(format!("{id}, {place}"), |b| {
                b.iter_custom(|turns| by_lock(turns, accounting, cores));
            });
        }
        group.bench_function(format!("park and unpark, {place}"), |b| {
            b.iter_custom(|turns| by_unpark(turns, cores));
        });
    }
    group.finish();
}

/// How long a thread keeps the baton: several times what it takes the other one to fall asleep.
const REST_NS: u64 = 20_000;

struct Relay {
    /// Who passed the baton last; nobody at first.
    last: AtomicU64,
    passed_at: AtomicU64,
    took_ns: AtomicU64,
    turns_left: AtomicU64,
}

/// `turns` handoffs of cruby-4.0's lock.
fn by_lock(turns: u64, accounting: bool, cores: [usize; 2]) -> Duration {
    let lock = Lock::builder(Gvl::cruby()).accounting(accounting).build();
    let relay = Relay::of(turns);
    let run = |me| {
        pin(cores[me as usize - 1]);
        let member = lock.join("runner");
        let mut held = member.acquire();
        while relay.goes_on(me) {
            relay.rest(me);
            // Leaves, which wakes the other one, and waits in line behind it.
            held.blocking(|| ());
        }
    };
    thread::scope(|scope| {
        scope.spawn(|| run(1));
        scope.spawn(|| run(2));
    });
    relay.took()
}

/// `turns` wake-ups without a lock.
fn by_unpark(turns: u64, cores: [usize; 2]) -> Duration {
    let relay = Relay::of(turns);
    let run = |me, other: Thread| {
        pin(cores[me as usize - 1]);
        while relay.goes_on(me) {
            relay.rest(me);
            other.unpark();
            while relay.last.load(SeqCst) == me && relay.turns_left.load(SeqCst) > 0 {
                thread::park();
            }
        }
        other.unpark();
    };
    thread::scope(|scope| {
        let (relay, run) = (&relay, &run);
        let (send, receive) = mpsc::channel();
        let second = scope.spawn(move || {
            let first = receive.recv().expect("the first thread is told below");
            while relay.last.load(SeqCst) == 0 {
                thread::park();
            }
            run(2, first);
        });
        let second = second.thread().clone();
        let first = scope.spawn(move || run(1, second));
        send.send(first.thread().clone()).expect("the second thread waits for it");
    });
    relay.took()
}

/// Keeps the calling thread on one core; where the system refuses, the figures are only noisier.
fn pin(core: usize) {
    let mut cores = CpuSet::new();
    cores.set(core);
    let _ = sched_setaffinity(None, &cores);
}

impl Relay {
    fn of(turns: u64) -> Self {
        let at = AtomicU64::new;
        Self { last: at(0), passed_at: at(0), took_ns: at(0), turns_left: at(turns) }
    }

    /// `me` has the baton: counts the pass, unless it comes from `me`; whether there are more.
    fn goes_on(&self, me: u64) -> bool {
        let last = self.last.load(SeqCst);
        let turns_left = self.turns_left.load(SeqCst);
        if turns_left > 0 && last != 0 && last != me {
            self.took_ns.fetch_add(clock::now() - self.passed_at.load(SeqCst), SeqCst);
            self.turns_left.store(turns_left - 1, SeqCst);
        }
        self.turns_left.load(SeqCst) > 0
    }

    /// Keeps the baton for a while; the pass begins when this returns.
    fn rest(&self, me: u64) {
        let until = clock::now() + REST_NS;
        while clock::now() < until {
            spin_loop();
        }
        self.last.store(me, SeqCst);
        self.passed_at.store(clock::now(), SeqCst);
    }

    fn took(&self) -> Duration {
        Duration::from_nanos(self.took_ns.load(SeqCst))
    }
}
