//! Takes and frees a lock that nobody else wants.

use criterion::Criterion;
use gvl_lab::clock;
use gvl_lab::gvl::{Gvl, lock::Lock};
use parking_lot::FairMutex;
use std::hint::black_box;

pub fn measure(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("acquire");
    for (id, accounting) in [("ours, accounting off", false), ("ours, accounting on", true)] {
        let lock = Lock::builder(Gvl::cruby()).accounting(accounting).build();
        let member = lock.join("main");
        group.bench_function(id, |b| b.iter(|| drop(black_box(&member).acquire())));
    }
    let mutex = FairMutex::new(());
    group.bench_function("FairMutex", |b| b.iter(|| drop(black_box(&mutex).lock())));
    group.bench_function("two clock readings", |b| b.iter(|| (clock::now(), clock::now())));
    group.finish();
}
