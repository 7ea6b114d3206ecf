//! Submits small closures to two threads and collects their values.

use criterion::{Criterion, SamplingMode, Throughput};
use gvl_lab::executor::Executor;
use gvl_lab::gvl::Gvl;
use std::hint::black_box;
use std::sync::mpsc;

const TASKS: u64 = 200_000;
const SUM: u64 = TASKS * (TASKS - 1) / 2;

pub fn measure(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("spawn");
    group.sample_size(10).sampling_mode(SamplingMode::Flat).throughput(Throughput::Elements(TASKS));
    group.bench_function("ours", |b| {
        let executor = Executor::builder()
            .threads(2, 2)
            .gvl(Gvl::none())
            .build()
            .expect("two threads are allowed");
        b.iter(|| ours(&executor));
    });
    group.bench_function("tokio", |b| {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .max_blocking_threads(2)
            .build()
            .expect("a runtime without drivers needs nothing");
        b.iter(|| tokio_blocking(&runtime));
    });
    group.bench_function("rayon", |b| {
        let pool =
            rayon::ThreadPoolBuilder::new().num_threads(2).build().expect("two threads start");
        b.iter(|| by_channel(|n, send| pool.spawn(move || answer(n, &send))));
    });
    group.bench_function("threadpool", |b| {
        let pool = threadpool::ThreadPool::new(2);
        b.iter(|| by_channel(|n, send| pool.execute(move || answer(n, &send))));
    });
    group.finish();
}

fn ours(executor: &Executor) {
    let handles: Vec<_> = (0..TASKS)
        .map(|n| executor.spawn(move |_| black_box(n)).expect("the queue is endless"))
        .collect();
    let sum: u64 = handles.into_iter().map(|h| h.wait().expect("no task fails")).sum();
    assert_eq!(sum, SUM);
}

fn tokio_blocking(runtime: &tokio::runtime::Runtime) {
    let sum = runtime.block_on(async {
        let handles: Vec<_> =
            (0..TASKS).map(|n| tokio::task::spawn_blocking(move || black_box(n))).collect();
        let mut sum = 0;
        for handle in handles {
            sum += handle.await.expect("no task fails");
        }
        sum
    });
    assert_eq!(sum, SUM);
}

/// Peers whose tasks have no handle send their values.
fn by_channel(spawn: impl Fn(u64, mpsc::Sender<u64>)) {
    let (send, receive) = mpsc::channel();
    for n in 0..TASKS {
        spawn(n, send.clone());
    }
    drop(send);
    assert_eq!(receive.iter().sum::<u64>(), SUM);
}

fn answer(n: u64, send: &mpsc::Sender<u64>) {
    send.send(black_box(n)).expect("the receiver waits for all senders");
}
