//! Spawns tasks that yield once, from a task inside the loop, and awaits them all.

use criterion::{Criterion, SamplingMode, Throughput};
use gvl_lab::executor::EventLoop;
use gvl_lab::gvl::Gvl;
use std::sync::{Arc, mpsc};
use std::thread;

const TASKS: u64 = 50_000;
const SUM: u64 = TASKS * (TASKS - 1) / 2;

pub fn measure(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("event loop");
    group.sample_size(10).sampling_mode(SamplingMode::Flat).throughput(Throughput::Elements(TASKS));
    for (id, accounting) in [("ours, accounting off", false), ("ours, accounting on", true)] {
        group.bench_function(id, |b| {
            let event_loop = EventLoop::builder().gvl(Gvl::cpython()).accounting(accounting);
            let event_loop = Arc::new(event_loop.build().expect("the system gives a thread"));
            b.iter(|| {
                let inner = Arc::clone(&event_loop);
                let outer = event_loop.spawn_async(ours(inner)).expect("the loop accepts tasks");
                assert_eq!(outer.wait(), Ok(SUM));
            });
        });
    }
    group.bench_function("tokio, block_on", |b| {
        let runtime = current_thread();
        b.iter(|| {
            assert_eq!(runtime.block_on(async { tokio::spawn(alone()).await }).ok(), Some(SUM))
        });
    });
    group.bench_function("tokio, own thread", |b| {
        let runtime = current_thread();
        let handle = runtime.handle().clone();
        let (end, ended) = tokio::sync::oneshot::channel::<()>();
        let on_thread = thread::spawn(move || runtime.block_on(ended));
        b.iter(|| {
            let (send, receive) = mpsc::channel();
            handle.spawn(async move { send.send(alone().await) });
            assert_eq!(receive.recv(), Ok(SUM));
        });
        end.send(()).expect("the runtime waits for its end");
        on_thread.join().expect("the runtime does not panic").expect("it was told to end");
    });
    group.finish();
}

fn current_thread() -> tokio::runtime::Runtime {
    let mut builder = tokio::runtime::Builder::new_current_thread();
    builder.enable_all().build().expect("the system gives a selector")
}

async fn ours(event_loop: Arc<EventLoop>) -> u64 {
    let spawn = |n| event_loop.spawn_async(task(n)).expect("the loop accepts tasks");
    let handles: Vec<_> = (0..TASKS).map(spawn).collect();
    let mut sum = 0;
    for handle in handles {
        sum += handle.await.expect("no task fails");
    }
    sum
}

async fn alone() -> u64 {
    let handles: Vec<_> = (0..TASKS).map(|n| tokio::spawn(task(n))).collect();
    let mut sum = 0;
    for handle in handles {
        sum += handle.await.expect("no task fails");
    }
    sum
}

async fn task(n: u64) -> u64 {
    tokio::task::yield_now().await;
    n
}
