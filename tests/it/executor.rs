//! The executor as an embedder has it: each task has one outcome, and each thread's life under the
//! lock goes by the rules.

use gvl_lab::executor::{EventLoop, Executor, RejectedWhy, Stats, TaskError, WhenFull};
use gvl_lab::gvl::{EventKind, Gvl, Hook, NAMES};
use proptest::prelude::*;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, mpsc};
use std::time::Duration;

/// What a task of the property does.
#[derive(Debug, Clone, Copy)]
enum Kind {
    Value,
    Blocks,
    Panics,
    Yields,
}

fn kind() -> impl Strategy<Value = Kind> {
    prop_oneof![Just(Kind::Value), Just(Kind::Blocks), Just(Kind::Panics), Just(Kind::Yields)]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 30, ..Default::default() })]

    #[test]
    fn each_task_has_one_outcome(
        kinds in prop::collection::vec(kind(), 0..40),
        (min, max) in (0..3_u32, 1..4_u32).prop_map(|(min, max)| (min.min(max), max)),
        lock in prop::sample::select(NAMES),
    ) {
        let gvl = Gvl::named(lock).expect("a known name");
        let executor = Executor::builder().threads(min, max).gvl(gvl).build().expect("a pool");
        let handles: Vec<_> = kinds.iter().enumerate().map(|(n, kind)| {
            let kind = *kind;
            executor.spawn(move |cx| {
                match kind {
                    Kind::Value => {}
                    Kind::Blocks => cx.blocking(std::thread::yield_now),
                    Kind::Panics => std::panic::resume_unwind(Box::new("on purpose")),
                    Kind::Yields => (0..100).for_each(|_| cx.checkpoint()),
                }
                n
            }).expect("a queue without an end")
        }).collect();
        let mut panicked = 0;
        for (n, (handle, kind)) in handles.into_iter().zip(&kinds).enumerate() {
            match (handle.wait(), kind) {
                (Err(TaskError::Panicked(message)), Kind::Panics) => {
                    panicked += 1;
                    prop_assert_eq!(message, "on purpose");
                }
                (outcome, kind) => prop_assert_eq!(outcome, Ok(n), "{:?}", kind),
            }
        }
        let shutdown = executor.shutdown(Duration::from_secs(60));
        prop_assert!(shutdown.drained && shutdown.cancelled == 0 && shutdown.threads_left == 0);
        let Stats { done, panicked: counted, queued, running, .. } = executor.stats();
        prop_assert_eq!((queued, running, counted), (0, 0, panicked));
        prop_assert_eq!(done + counted, kinds.len() as u64);
    }
}

#[test]
fn each_thread_lives_by_the_rules_of_the_lock() {
    for lock in NAMES {
        let lives: Arc<Mutex<BTreeMap<String, Vec<EventKind>>>> = Arc::default();
        let written = Arc::clone(&lives);
        let hook = Hook::new(move |event| {
            let mut lives = written.lock().expect("no hook panics");
            lives.entry(event.name.to_owned()).or_default().push(event.kind);
        });
        let gvl = Gvl::named(lock).expect("a known name");
        let executor = Executor::builder().threads(3, 3).gvl(gvl).hook(hook).build();
        let executor = executor.expect("a pool");
        let handles: Vec<_> = (0..30)
            .map(|_| executor.spawn(|cx| cx.blocking(std::thread::yield_now)).expect("room"))
            .collect();
        handles.into_iter().for_each(|handle| handle.wait().expect("a value"));
        drop(executor);
        let lives = lives.lock().expect("no hook panics");
        assert_eq!(lives.len(), 3, "{lock}");
        for (name, life) in lives.iter() {
            let first_and_last = (life.first(), life.last());
            let whole = (Some(&EventKind::Started), Some(&EventKind::Exited));
            assert_eq!(first_and_last, whole, "{lock}, {name}");
            assert!(life.windows(2).all(|pair| may_follow(pair[0], pair[1])), "{lock}: {life:?}");
        }
    }
}

fn may_follow(before: EventKind, after: EventKind) -> bool {
    use EventKind::{Exited, Ready, Resumed, Started, Suspended};
    matches!(
        (before, after),
        (Started | Suspended, Ready | Exited) | (Ready, Resumed) | (Resumed, Suspended)
    )
}

#[test]
fn a_refused_task_comes_back() {
    let executor = Executor::builder().threads(1, 1).queue(1, WhenFull::Reject).build();
    let executor = executor.expect("a pool");
    let (go, gate) = mpsc::channel::<()>();
    let (started, is_started) = mpsc::channel();
    let running = executor.spawn(move |cx| {
        started.send(()).expect("the test waits");
        cx.blocking(|| gate.recv().expect("the test lets go"));
    });
    let running = running.expect("an idle thread");
    is_started.recv().expect("the task starts");
    let queued = executor.spawn(|_| 1).expect("room for one");
    let refused = executor.spawn(|_| 2).expect_err("no room for two");
    assert_eq!(refused.why, RejectedWhy::Full);
    go.send(()).expect("the task waits");
    assert_eq!((running.wait(), queued.wait()), (Ok(()), Ok(1)));
    assert_eq!(executor.spawn(refused.task).expect("room again").wait(), Ok(2));
    assert_eq!(executor.stats().rejected, 1);
    executor.shutdown(Duration::from_secs(60));
    let late = executor.spawn(|_| 3).expect_err("a pool that was shut down");
    assert_eq!(late.why, RejectedWhy::ShutDown);
}

#[test]
fn a_loop_counts_what_keeps_it_and_ends_what_is_left() {
    let event_loop = EventLoop::builder().long_poll(Duration::from_nanos(1)).build();
    let event_loop = event_loop.expect("a loop");
    let (answer, asked) = tokio_free_pair(&event_loop);
    assert_eq!((answer, asked), (Ok(42), Ok("offloaded")));
    let stats = event_loop.stats();
    assert!(stats.polls >= 1 && !stats.long_polls.is_empty(), "{stats:?}");
    let endless = event_loop.spawn_async(std::future::pending::<()>()).expect("a loop that runs");
    assert!(!event_loop.shutdown(Duration::ZERO), "one task was left");
    assert_eq!(endless.wait(), Err(TaskError::Cancelled));
}

type Outcomes = (Result<i32, TaskError>, Result<&'static str, TaskError>);

/// A future of the loop and a closure beside it.
fn tokio_free_pair(event_loop: &EventLoop) -> Outcomes {
    let answer = event_loop.spawn_async(async { 42 }).expect("a loop that runs");
    let asked = event_loop.offload(|cx| cx.blocking(|| "offloaded")).expect("a loop that runs");
    (answer.wait(), asked.wait())
}
