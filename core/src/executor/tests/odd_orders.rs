//! Panics, drops and ends where they are not expected.

use super::*;
use std::sync::atomic::AtomicBool;
use std::task::{Context as Poller, Poll, Wake};

/// Panics as it is dropped.
struct Bomb;

impl Drop for Bomb {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            panic!("a bomb");
        }
    }
}

/// A hook that waits at the events of `kind` until it is told to go on; and how to know that it
/// waits, and to tell it.
fn gate(kind: EventKind) -> (Hook, mpsc::Receiver<()>, mpsc::Sender<()>) {
    let (waits, waiting) = mpsc::channel();
    let (go, gone) = mpsc::channel::<()>();
    let gone = Mutex::new(gone);
    let hook = Hook::new(move |event| {
        if event.kind == kind {
            let _ = waits.send(());
            let _ = gone.lock().recv();
        }
    });
    (hook, waiting, go)
}

#[test]
fn a_value_that_panics_as_it_is_dropped_costs_no_thread() {
    let executor = pool(1);
    // Only a value that nobody waits for any more goes off in the pool.
    let (dropped, is_dropped) = mpsc::channel::<()>();
    let forsaken = executor.spawn(move |_| {
        let _ = is_dropped.recv();
        Bomb
    });
    drop(forsaken.unwrap());
    drop(dropped);
    let (began, has_begun) = mpsc::channel();
    let (tell, told) = mpsc::channel::<()>();
    let late = executor
        .spawn(move |_| {
            began.send(()).unwrap();
            let _ = told.recv();
            Bomb
        })
        .unwrap();
    has_begun.recv().unwrap();
    late.cancel();
    drop(tell);
    assert!(matches!(late.wait(), Err(TaskError::Cancelled)));
    assert_eq!(executor.spawn(|_| 1).unwrap().wait(), Ok(1));
    assert_eq!(executor.stats().threads, 1);
    assert!(executor.shutdown(LONG).drained);
}

#[test]
fn a_panic_whose_payload_panics_is_an_outcome() {
    let executor = pool(1);
    let handle = executor.spawn(|_| std::panic::panic_any(Bomb)).unwrap();
    let handle: JoinHandle<()> = handle;
    assert!(matches!(handle.wait(), Err(TaskError::Panicked(_))));
    assert_eq!(executor.spawn(|_| 1).unwrap().wait(), Ok(1));
}

#[test]
fn a_waker_that_panics_costs_no_thread() {
    struct Burst;
    impl Wake for Burst {
        fn wake(self: Arc<Self>) {
            panic!("a waker");
        }
    }
    let executor = pool(1);
    let (mut handle, tell) = blocked(&executor);
    let waker = Arc::new(Burst).into();
    let mut poller = Poller::from_waker(&waker);
    assert!(std::pin::Pin::new(&mut handle).poll(&mut poller).is_pending());
    drop(tell);
    assert_eq!(executor.spawn(|_| 1).unwrap().wait(), Ok(1));
    assert_eq!(std::pin::Pin::new(&mut handle).poll(&mut poller), Poll::Ready(Ok(())));
    assert_eq!(executor.stats().threads, 1);
}

#[test]
fn a_hook_that_panics_is_not_heard() {
    let executor =
        Executor::builder().threads(2, 2).hook(Hook::new(|_| panic!("a hook"))).build().unwrap();
    let handles: Vec<_> =
        (0..10).map(|n| executor.spawn(move |cx| cx.blocking(|| n)).unwrap()).collect();
    assert!(handles.into_iter().enumerate().all(|(n, h)| h.wait() == Ok(n)));
    assert!(executor.shutdown(LONG).drained);
}

#[test]
fn a_closure_that_panics_as_it_is_dropped_stops_no_other_deadline() {
    let executor = pool(1);
    let (first, tell) = blocked(&executor);
    let soon = TaskOptions::new().deadline(Duration::from_millis(1));
    for _ in 0..3 {
        let bomb = Bomb;
        let late = executor.spawn_with(soon.clone(), move |_| drop(bomb)).unwrap();
        assert_eq!(late.wait(), Err(TaskError::TimedOut));
    }
    drop(tell);
    first.wait().unwrap();
}

#[test]
fn a_shutdown_ends_the_others_when_a_closure_panics_as_it_is_dropped() {
    let executor = pool(1);
    let (first, tell) = blocked(&executor);
    let bombs: Vec<_> = (0..3)
        .map(|_| {
            let bomb = Bomb;
            executor.spawn(move |_| drop(bomb)).unwrap()
        })
        .collect();
    assert_eq!(executor.shutdown(Duration::ZERO).cancelled, 4);
    for bomb in bombs {
        assert_eq!(bomb.wait(), Err(TaskError::Cancelled));
    }
    drop(tell);
    assert_eq!(first.wait(), Err(TaskError::Cancelled));
}

/// A job that a thread took, and for which it still waits for the global lock, is neither queued
/// nor forgotten.
#[test]
fn a_shutdown_cancels_a_task_that_waits_for_the_lock() {
    let (hook, waiting, go) = gate(EventKind::Ready);
    let executor = Executor::builder().threads(1, 1).hook(hook).build().unwrap();
    let handle = executor
        .spawn(|cx| -> u32 {
            loop {
                cx.checkpoint();
            }
        })
        .unwrap();
    waiting.recv().unwrap();
    let stats = executor.stats();
    assert_eq!((stats.queued, stats.running), (0, 1));
    let shutdown = executor.shutdown(Duration::ZERO);
    assert_eq!((shutdown.drained, shutdown.cancelled, shutdown.threads_left), (false, 1, 1));
    drop(go);
    assert_eq!(handle.wait(), Err(TaskError::Cancelled));
    assert!(executor.shutdown(LONG).drained);
}

/// A job that a thread took before the shutdown looked, and that came to its desk afterwards.
#[test]
fn a_task_that_a_shutdown_overlooks_is_cancelled_by_its_thread() {
    let executor = pool(1);
    executor.shared.cancelling.store(true, SeqCst);
    let ran = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&ran);
    let handle = executor.spawn(move |_| counted.fetch_add(1, SeqCst)).unwrap();
    assert_eq!((handle.wait(), ran.load(SeqCst)), (Err(TaskError::Cancelled), 0));
}

#[test]
fn a_task_with_an_outcome_runs_no_more() {
    let executor = pool(2);
    for n in 0..200 {
        executor.spawn(|_| ()).unwrap().wait().unwrap();
        let stats = executor.stats();
        assert_eq!((stats.queued, stats.running, stats.done), (0, 0, n + 1));
    }
}

#[test]
fn endless_durations_are_as_good_as_none() {
    let executor = Executor::builder()
        .threads(0, 2)
        .idle_max(Duration::MAX)
        .grace(Duration::MAX)
        .deadline(Duration::MAX)
        .build()
        .unwrap();
    for n in 0..3 {
        let handle = executor.spawn(move |cx| (cx.deadline().is_some(), n)).unwrap();
        assert_eq!(handle.wait_for(Duration::MAX).unwrap(), Ok((true, n)));
    }
    assert!(executor.shutdown(Duration::MAX).drained);
    let event_loop = EventLoop::builder()
        .long_poll(Duration::MAX)
        .grace(Duration::MAX)
        .deadline(Duration::MAX)
        .build()
        .unwrap();
    let handle = event_loop.spawn_async(async { tokio::task::yield_now().await }).unwrap();
    assert_eq!(handle.wait_for(Duration::MAX).unwrap(), Ok(()));
    assert!(event_loop.shutdown(Duration::MAX));
}

#[test]
fn ten_thousand_deadlines_are_kept() {
    let executor = pool(1);
    let (first, tell) = blocked(&executor);
    let after = |n: u64| TaskOptions::new().deadline(Duration::from_micros(n % 1000));
    let handles: Vec<_> =
        (0..10_000).map(|n| executor.spawn_with(after(n), |_| ()).unwrap()).collect();
    assert!(handles.into_iter().all(|h| h.wait() == Err(TaskError::TimedOut)));
    drop(tell);
    first.wait().unwrap();
    assert_eq!(executor.stats().timed_out, 10_000);
}

#[test]
fn a_wait_inside_a_task_releases_the_lock() {
    let executor = Arc::new(pool(2));
    let inner = Arc::clone(&executor);
    let outer = executor.spawn(move |_| {
        let waited = inner.spawn(|_| 1).unwrap().wait();
        let awaited = pollster::block_on(async { 2 });
        (waited, awaited)
    });
    assert_eq!(outer.unwrap().wait(), Ok((Ok(1), 2)));
}

#[test]
fn a_task_that_waits_for_room_in_a_pool_of_the_same_lock_releases_it() {
    let lock = Arc::new(crate::gvl::lock::Lock::new(Gvl::cruby()));
    let build = |capacity| {
        let builder = Executor::builder().threads(1, 1).lock(Arc::clone(&lock));
        builder.queue(capacity, WhenFull::Wait).build().unwrap()
    };
    let (outer, inner) = (build(usize::MAX), Arc::new(build(1)));
    let submitted = {
        let inner = Arc::clone(&inner);
        outer.spawn(move |_| (0..20).map(|n| inner.spawn(move |_| n).unwrap()).collect::<Vec<_>>())
    };
    let handles = submitted.unwrap().wait().unwrap();
    assert_eq!(handles.into_iter().map(|h| h.wait().unwrap()).sum::<u32>(), 190);
    // Its end is waited for with the lock released, too.
    let ended = outer.spawn(move |_| {
        let last = inner.spawn(|cx| cx.blocking(|| 1)).unwrap();
        (inner.shutdown(LONG).drained, last.wait())
    });
    assert_eq!(ended.unwrap().wait(), Ok((true, Ok(1))));
}

#[test]
fn an_executor_dropped_by_its_own_task_runs_what_it_accepted() {
    let executor = Arc::new(pool(1));
    let (tell, told) = mpsc::channel::<()>();
    let own = Arc::clone(&executor);
    let first = executor
        .spawn(move |cx| {
            cx.blocking(|| told.recv().unwrap_err());
            drop(own);
        })
        .unwrap();
    let second = executor.spawn(|_| 2).unwrap();
    drop(executor);
    drop(tell);
    assert_eq!((first.wait(), second.wait()), (Ok(()), Ok(2)));
}

#[test]
fn a_shutdown_from_inside_a_task_is_the_beginning_of_the_end() {
    let executor = Arc::new(pool(1));
    let own = Arc::clone(&executor);
    let first = executor.spawn(move |_| (own.shutdown(LONG).drained, own.spawn(|_| ()).is_err()));
    assert_eq!(first.unwrap().wait(), Ok((false, true)));
    assert!(executor.shutdown(LONG).drained);
}

#[test]
fn a_loop_dropped_by_its_own_task_lets_offloaded_calls_end() {
    let event_loop = Arc::new(EventLoop::builder().grace(LONG).build().unwrap());
    let (tell, told) = mpsc::channel::<()>();
    let offloaded = event_loop.offload(move |cx| cx.blocking(|| told.recv().is_err())).unwrap();
    let (last, is_last) = tokio::sync::oneshot::channel::<Arc<EventLoop>>();
    let task = event_loop
        .spawn_async(async move {
            drop(is_last.await.unwrap());
            drop(tell);
        })
        .unwrap();
    last.send(event_loop).unwrap();
    assert_eq!((task.wait(), offloaded.wait()), (Ok(()), Ok(true)));
}

#[test]
fn a_loop_without_a_limit_waits_for_offloaded_calls() {
    let event_loop = event_loop();
    let (tell, told) = mpsc::channel::<()>();
    let (inside, is_inside) = mpsc::channel();
    let offloaded = event_loop.offload(move |cx| {
        cx.blocking(|| {
            inside.send(()).unwrap();
            told.recv().is_err()
        })
    });
    is_inside.recv().unwrap();
    std::thread::scope(|scope| {
        let ender = scope.spawn(|| event_loop.shutdown(Duration::MAX));
        // The loop has ended: what is left is the offloaded call.
        while event_loop.spawn_async(async {}).is_ok() || !event_loop.has_ended() {
            std::thread::yield_now();
        }
        while event_loop.offload(|_| ()).is_ok() {
            std::thread::yield_now();
        }
        drop(tell);
        assert!(ender.join().unwrap());
    });
    assert_eq!(offloaded.unwrap().wait(), Ok(true));
}

#[test]
fn an_offloaded_call_that_ends_its_loop_does_not_wait_for_itself() {
    let event_loop = Arc::new(event_loop());
    let own = Arc::clone(&event_loop);
    let offloaded = event_loop
        .offload(move |_| {
            // In flight until the loop drops it.
            let left = own.spawn_async(std::future::pending::<()>()).unwrap();
            (own.shutdown(LONG), left.wait())
        })
        .unwrap();
    assert_eq!(offloaded.wait(), Ok((false, Err(TaskError::Cancelled))));
}

#[test]
fn a_blocking_call_of_the_runtime_does_not_keep_the_loop() {
    let event_loop = event_loop();
    let (tell, told) = mpsc::channel::<()>();
    let started = event_loop.spawn_async(async move {
        drop(tokio::task::spawn_blocking(move || told.recv()));
    });
    started.unwrap().wait().unwrap();
    assert!(event_loop.shutdown(LONG));
    while !event_loop.has_ended() {
        std::thread::yield_now();
    }
    drop(tell);
}

/// Accepted or refused: what is accepted is never lost, and a drained loop dropped nothing.
#[test]
fn a_loop_that_is_shut_down_while_tasks_come_loses_none() {
    for _ in 0..50 {
        let event_loop = event_loop();
        let stop = AtomicBool::new(false);
        std::thread::scope(|scope| {
            let submitter = scope.spawn(|| {
                let mut accepted = Vec::new();
                while !stop.load(SeqCst) {
                    match event_loop.spawn_async(async {}) {
                        Ok(handle) => accepted.push(handle),
                        Err(_) => break,
                    }
                }
                accepted
            });
            assert!(event_loop.shutdown(LONG));
            stop.store(true, SeqCst);
            let accepted = submitter.join().unwrap();
            assert!(accepted.into_iter().all(|h| h.wait() == Ok(())));
        });
        assert_eq!(event_loop.stats().tasks.cancelled, 0);
    }
}

/// How many threads of this process have names that begin so.
#[cfg(target_os = "linux")]
fn threads_called(start: &str) -> usize {
    let threads = std::fs::read_dir("/proc/self/task").unwrap();
    let name = |t: std::fs::DirEntry| std::fs::read_to_string(t.path().join("comm")).ok();
    threads.filter_map(|t| name(t.ok()?)).filter(|name| name.starts_with(start)).count()
}

#[test]
#[cfg(target_os = "linux")]
fn no_thread_is_left() {
    for _ in 0..30 {
        let executor = Executor::builder().name("leak p").threads(1, 3).build().unwrap();
        let handles: Vec<_> = (0..10).map(|n| executor.spawn(move |_| n).unwrap()).collect();
        drop(handles);
        let event_loop = EventLoop::builder().name("leak l").build().unwrap();
        drop(event_loop.spawn_async(async {}).unwrap());
        event_loop.offload(|_| ()).unwrap().wait().unwrap();
    }
    // Their last breath comes after their last word.
    while threads_called("leak") > 0 {
        std::thread::yield_now();
    }
}

/// Calls `code` while the system refuses the threads that this one asks for.
fn without_threads<R>(code: impl FnOnce() -> R) -> R {
    crate::sync::refusal::while_on(code)
}

#[test]
fn a_system_without_threads_builds_nothing() {
    let error = without_threads(|| Executor::builder().build().unwrap_err());
    assert!(!error.is_invalid() && error.to_string().starts_with("executor: "), "{error}");
    let error = without_threads(|| EventLoop::builder().build().unwrap_err());
    assert!(!error.is_invalid() && error.to_string().starts_with("event loop: "), "{error}");
}

#[test]
fn a_task_that_finds_no_thread_comes_back() {
    let executor = Executor::builder().threads(0, 2).build().unwrap();
    let rejected = without_threads(|| executor.spawn(|_| 1).unwrap_err());
    assert_eq!(rejected.why, RejectedWhy::NoThread);
    let stats = executor.stats();
    assert_eq!((stats.queued, stats.threads, stats.rejected), (0, 0, 1));
    // The closure came back whole, and the next one gets its thread.
    assert_eq!(executor.spawn(rejected.task).unwrap().wait(), Ok(1));
    // A second thread that does not start leaves its job to the first.
    let executor = Executor::builder().threads(0, 2).build().unwrap();
    let (first, tell) = blocked(&executor);
    let second = without_threads(|| executor.spawn(|_| 2).unwrap());
    assert_eq!((executor.stats().queued, executor.stats().threads), (1, 1));
    drop(tell);
    assert_eq!((first.wait(), second.wait()), (Ok(()), Ok(2)));
    assert!(executor.shutdown(LONG).drained);
}

#[test]
fn a_deadline_that_nobody_can_keep_is_refused() {
    let executor = pool(1);
    let soon = TaskOptions::new().deadline(Duration::from_millis(1));
    let rejected = without_threads(|| executor.spawn_with(soon.clone(), |_| 1).unwrap_err());
    assert_eq!(rejected.why, RejectedWhy::NoThread);
    let (first, tell) = blocked(&executor);
    let late = executor.spawn_with(soon, rejected.task).unwrap();
    assert_eq!(late.wait(), Err(TaskError::TimedOut));
    drop(tell);
    first.wait().unwrap();
}

/// The last thread leaves, and the system gives no other: what is queued has an outcome.
#[test]
fn tasks_that_no_thread_is_left_for_are_cancelled() {
    let executor =
        Arc::new(Executor::builder().threads(0, 1).thread_per_task(true).build().unwrap());
    let (tell, told) = mpsc::channel::<()>();
    let first = executor
        .spawn(move |cx| {
            cx.blocking(|| told.recv().unwrap_err());
            // From here on, for this thread.
            crate::sync::refusal::set(true);
        })
        .unwrap();
    let second = executor.spawn(|_| 2).unwrap();
    drop(tell);
    assert_eq!((first.wait(), second.wait()), (Ok(()), Err(TaskError::Cancelled)));
    assert_eq!(executor.spawn(|_| 3).unwrap().wait(), Ok(3));
}

#[test]
fn a_name_that_no_system_takes_is_changed() {
    let executor = Executor::builder().name("nul\0").threads(1, 1).build().unwrap();
    assert_eq!(executor.spawn(|_| 1).unwrap().wait(), Ok(1));
}
