//! The promises of the pool and the loop, by counts and orders.

mod odd_orders;

use super::*;
use crate::gvl::{EventKind, Gvl, Hook};
use parking_lot::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::sync::{Arc, Barrier, mpsc};
use std::time::{Duration, Instant};

const LONG: Duration = Duration::from_secs(3600);

fn pool(threads: u32) -> Executor {
    Executor::builder().threads(threads, threads).build().unwrap()
}

/// A task that is inside a blocking region until told, and the way to tell it.
fn blocked(executor: &Executor) -> (JoinHandle<()>, mpsc::Sender<()>) {
    let (tell, told) = mpsc::channel::<()>();
    let (inside, is_inside) = mpsc::channel();
    let handle = executor
        .spawn(move |cx| {
            cx.blocking(|| {
                inside.send(()).unwrap();
                let _ = told.recv();
            });
        })
        .unwrap();
    is_inside.recv().unwrap();
    (handle, tell)
}

#[test]
fn what_cannot_be_built_is_named() {
    let check = |builder: ExecutorBuilder, expected: &str| {
        assert_eq!(builder.build().unwrap_err().to_string(), expected);
    };
    let builder = Executor::builder;
    check(builder().threads(0, 0), "threads.max: 0 is not allowed, expected 1..=1024");
    check(builder().threads(3, 2), "threads.min: 3 is not allowed, expected 0..=2, the maximum");
    check(builder().threads(1, 5000), "threads.max: 5000 is not allowed, expected 1..=1024");
    check(
        builder().queue(0, WhenFull::Wait),
        "queue.capacity: 0 is not allowed, expected at least 1",
    );
    check(
        builder().gvl(Gvl::cruby().with_quantum(Duration::ZERO)),
        "gvl.quantum: 0s is not allowed, expected a duration from 10us to 1h with a unit, \
         such as \"100ms\"",
    );
    let offload = EventLoop::builder().offload_threads(0).build().unwrap_err();
    assert_eq!(offload.to_string(), "offload_threads: 0 is not allowed, expected 1..=1024");
}

#[test]
fn one_thread_runs_tasks_in_order() {
    let executor = pool(1);
    let order = Arc::new(Mutex::new(Vec::new()));
    let handles: Vec<_> = (0..50)
        .map(|n| {
            let order = Arc::clone(&order);
            executor.spawn(move |_| order.lock().push(n)).unwrap()
        })
        .collect();
    for handle in handles {
        handle.wait().unwrap();
    }
    assert_eq!(*order.lock(), (0..50).collect::<Vec<_>>());
    assert_eq!(executor.stats().done, 50);
}

#[test]
fn a_panic_is_an_outcome_with_its_message() {
    let executor = pool(1);
    let handle = executor.spawn(|_| -> u32 { panic!("no {}", "luck") }).unwrap();
    assert_eq!(handle.wait(), Err(TaskError::Panicked("no luck".into())));
    // The thread lives on, and the lock is free.
    assert_eq!(executor.spawn(|_| 1).unwrap().wait(), Ok(1));
    assert_eq!((executor.stats().panicked, executor.stats().threads), (1, 1));
}

#[test]
fn threads_start_when_none_is_idle_and_leave_when_idle() {
    let executor = Executor::builder().threads(0, 3).idle_max(Duration::ZERO).build().unwrap();
    assert_eq!(executor.stats().threads, 0);
    let tasks: Vec<_> = (0..3).map(|_| blocked(&executor)).collect();
    assert_eq!(executor.stats().threads, 3);
    let fourth = executor.spawn(|_| 4).unwrap();
    assert_eq!((executor.stats().threads, executor.stats().queued), (3, 1));
    for (handle, tell) in tasks {
        drop(tell);
        handle.wait().unwrap();
    }
    assert_eq!(fourth.wait(), Ok(4));
    assert!(executor.shared_queue_empties());
}

#[test]
fn a_full_queue_rejects_or_waits() {
    let executor = Executor::builder().threads(1, 1).queue(1, WhenFull::Reject).build().unwrap();
    let (first, tell) = blocked(&executor);
    let second = executor.spawn(|_| 2).unwrap();
    let rejected = executor.spawn(|_| 3).unwrap_err();
    assert_eq!(rejected.why, RejectedWhy::Full);
    assert_eq!(executor.stats().rejected, 1);
    drop(tell);
    first.wait().unwrap();
    assert_eq!(second.wait(), Ok(2));
    // The closure came back whole.
    assert_eq!(executor.spawn(rejected.task).unwrap().wait(), Ok(3));

    let waiting = Executor::builder().threads(1, 1).queue(1, WhenFull::Wait).build().unwrap();
    let sum: u64 = std::thread::scope(|scope| {
        let submitter = scope
            .spawn(|| (0..100).map(|n| waiting.spawn(move |_| n).unwrap()).collect::<Vec<_>>());
        submitter.join().unwrap().into_iter().map(|h| h.wait().unwrap()).sum()
    });
    assert_eq!(sum, 4950);
}

#[test]
fn a_thread_that_would_wait_for_itself_is_refused() {
    let executor =
        Arc::new(Executor::builder().threads(1, 1).queue(1, WhenFull::Wait).build().unwrap());
    let inner = Arc::clone(&executor);
    let outcome = executor.spawn(move |_| {
        let _queued = inner.spawn(|_| ()).unwrap();
        inner.spawn(|_| ()).map(|_| ()).map_err(|r| r.why)
    });
    assert_eq!(outcome.unwrap().wait(), Ok(Err(RejectedWhy::WouldDeadlock)));
}

#[test]
fn a_cancelled_task_does_not_run_or_stops_at_its_next_checkpoint() {
    let executor = pool(1);
    let (first, tell) = blocked(&executor);
    let ran = Arc::new(AtomicUsize::new(0));
    let queued = {
        let ran = Arc::clone(&ran);
        executor.spawn(move |_| ran.fetch_add(1, SeqCst)).unwrap()
    };
    queued.cancel();
    assert_eq!(queued.wait(), Err(TaskError::Cancelled));
    drop(tell);
    first.wait().unwrap();

    let (began, has_begun) = mpsc::channel();
    let (dropped, was_dropped) = mpsc::channel::<()>();
    let running = executor
        .spawn(move |cx| -> u32 {
            let _dropped = dropped;
            began.send(()).unwrap();
            loop {
                cx.checkpoint();
            }
        })
        .unwrap();
    has_begun.recv().unwrap();
    running.cancel();
    assert_eq!(running.wait(), Err(TaskError::Cancelled));
    // It is unwound: its values are dropped.
    assert!(was_dropped.recv().is_err());
    assert_eq!(ran.load(SeqCst), 0);
    assert_eq!(executor.stats().cancelled, 2);
}

#[test]
fn a_deadline_ends_a_task_that_waits_or_runs() {
    let executor = pool(1);
    let (first, tell) = blocked(&executor);
    let soon = TaskOptions::new().deadline(Duration::from_millis(1));
    let queued = executor.spawn_with(soon.clone(), |_| 1).unwrap();
    assert_eq!(queued.wait(), Err(TaskError::TimedOut));
    drop(tell);
    first.wait().unwrap();
    let running = executor
        .spawn_with(soon, |cx| -> u32 {
            loop {
                cx.checkpoint();
            }
        })
        .unwrap();
    assert_eq!(running.wait(), Err(TaskError::TimedOut));
    let far = executor.spawn_with(TaskOptions::new().deadline(LONG), |cx| {
        cx.deadline().is_some_and(|at| at > Instant::now())
    });
    assert_eq!(far.unwrap().wait(), Ok(true));
    assert_eq!((executor.stats().timed_out, executor.stats().done), (2, 2));
}

#[test]
fn a_shutdown_drains_first() {
    let executor = pool(2);
    let handles: Vec<_> = (0..100).map(|n| executor.spawn(move |_| n).unwrap()).collect();
    let shutdown = executor.shutdown(LONG);
    assert_eq!(shutdown, Shutdown { drained: true, cancelled: 0, threads_left: 0 });
    assert!(handles.into_iter().enumerate().all(|(n, h)| h.wait() == Ok(n)));
    assert_eq!(executor.spawn(|_| 1).unwrap_err().why, RejectedWhy::ShutDown);
    assert!(executor.shutdown(LONG).drained);
}

#[test]
fn a_shutdown_out_of_patience_cancels_the_rest() {
    let executor = pool(1);
    let running = executor
        .spawn(|cx| -> u32 {
            loop {
                cx.checkpoint();
            }
        })
        .unwrap();
    let queued = executor.spawn(|_| 1).unwrap();
    let shutdown = executor.shutdown(Duration::ZERO);
    assert_eq!((shutdown.drained, shutdown.cancelled), (false, 2));
    assert_eq!(running.wait(), Err(TaskError::Cancelled));
    assert_eq!(queued.wait(), Err(TaskError::Cancelled));
}

#[test]
fn a_submitter_that_waits_for_room_is_told_of_the_shutdown() {
    let executor = Executor::builder().threads(1, 1).queue(1, WhenFull::Wait).build().unwrap();
    let (first, tell) = blocked(&executor);
    let _second = executor.spawn(|_| ()).unwrap();
    std::thread::scope(|scope| {
        let submitter = scope.spawn(|| executor.spawn(|_| ()).map(|_| ()).map_err(|r| r.why));
        let ender = scope.spawn(|| executor.shutdown(LONG));
        // Whether it waited already or comes later: it is refused either way.
        assert_eq!(submitter.join().unwrap(), Err(RejectedWhy::ShutDown));
        drop(tell);
        assert!(ender.join().unwrap().drained);
    });
    first.wait().unwrap();
}

#[test]
fn a_handle_is_a_future_too() {
    let executor = pool(1);
    let (first, tell) = blocked(&executor);
    let handle = executor.spawn(|_| 7).unwrap();
    let handle = handle.wait_for(Duration::ZERO).unwrap_err();
    assert!(!handle.is_finished());
    drop(tell);
    assert_eq!(pollster::block_on(async { (first.await, handle.await) }), (Ok(()), Ok(7)));
}

#[test]
fn a_thread_per_task_leaves_with_its_task() {
    let exits = Arc::new(AtomicUsize::new(0));
    let hook = {
        let exits = Arc::clone(&exits);
        Hook::new(move |event| {
            if event.kind == EventKind::Exited {
                exits.fetch_add(1, SeqCst);
            }
        })
    };
    let executor =
        Executor::builder().threads(0, 2).thread_per_task(true).hook(hook).build().unwrap();
    let handles: Vec<_> = (0..20).map(|n| executor.spawn(move |_| n).unwrap()).collect();
    assert!(handles.into_iter().enumerate().all(|(n, h)| h.wait() == Ok(n)));
    assert!(executor.shutdown(LONG).drained);
    // A thread that comes too late for its task leaves without one.
    assert!(exits.load(SeqCst) >= 20);
}

#[test]
fn two_tasks_without_a_lock_run_side_by_side() {
    let executor = Executor::builder().threads(2, 2).gvl(Gvl::none()).build().unwrap();
    let together = Arc::new(Barrier::new(2));
    let spawn = |together: Arc<Barrier>| {
        let wait = move |_: &mut Context<'_>| {
            together.wait();
        };
        executor.spawn(wait).unwrap()
    };
    let (a, b) = (spawn(Arc::clone(&together)), spawn(together));
    assert_eq!((a.wait(), b.wait()), (Ok(()), Ok(())));
}

fn event_loop() -> EventLoop {
    EventLoop::builder().build().unwrap()
}

#[test]
fn timers_and_sockets_work_inside_the_loop() {
    let event_loop = event_loop();
    let echoed = event_loop.spawn_async(async {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let (client, server) =
            tokio::join!(tokio::net::TcpStream::connect(address), listener.accept());
        tokio::time::sleep(Duration::from_millis(1)).await;
        client.unwrap().peer_addr().unwrap() == server.unwrap().0.local_addr().unwrap()
    });
    assert_eq!(echoed.unwrap().wait(), Ok(true));
}

#[test]
fn each_poll_holds_the_lock_and_offloaded_calls_share_it() {
    let event_loop = event_loop();
    let handle = event_loop.spawn_async(async {
        let inside = Context::current(|cx| cx.blocking(|| 1));
        tokio::task::yield_now().await;
        (inside, Context::current(|_| 2))
    });
    assert_eq!(handle.unwrap().wait(), Ok((Some(1), Some(2))));
    assert_eq!(event_loop.offload(|cx| cx.blocking(|| 3)).unwrap().wait(), Ok(3));
    let stats = event_loop.stats();
    // Two polls, one of which took the lock twice; the offloaded call twice, too.
    let of = |name: &str| {
        let thread = stats.tasks.gvl.iter().find(|t| t.name == name).unwrap();
        thread.usage.acquisitions
    };
    assert_eq!((stats.polls, of("loop"), of("loop off 0")), (2, 3, 2));
    assert_eq!(Context::current(|_| ()), None);
}

#[test]
fn a_task_of_the_loop_has_one_outcome_whatever_happens() {
    let event_loop = event_loop();
    let panicked = event_loop.spawn_async(async { panic!("in a future") }).unwrap();
    assert_eq!(panicked.wait(), Err::<(), _>(TaskError::Panicked("in a future".into())));
    let late = TaskOptions::new().deadline(Duration::from_millis(1));
    let late = event_loop.spawn_async_with(late, std::future::pending::<()>()).unwrap();
    assert_eq!(late.wait(), Err(TaskError::TimedOut));
    let cancelled = event_loop.spawn_async(std::future::pending::<()>()).unwrap();
    cancelled.cancel();
    assert_eq!(cancelled.wait(), Err(TaskError::Cancelled));
    let left = event_loop.spawn_async(std::future::pending::<()>()).unwrap();
    assert!(!event_loop.shutdown(Duration::ZERO));
    assert_eq!(left.wait(), Err(TaskError::Cancelled));
    let after = event_loop.spawn_async(async {});
    assert_eq!(after.unwrap_err().why, RejectedWhy::ShutDown);
    let tasks = event_loop.stats().tasks;
    assert_eq!((tasks.panicked, tasks.timed_out, tasks.cancelled, tasks.rejected), (1, 1, 2, 1));
    assert_eq!(tasks.running, 0);
}

#[test]
fn a_loop_drains_before_it_ends() {
    let event_loop = event_loop();
    let handle = event_loop
        .spawn_async(async {
            tokio::time::sleep(Duration::from_millis(2)).await;
            5
        })
        .unwrap();
    assert!(event_loop.shutdown(LONG));
    assert_eq!(handle.wait(), Ok(5));
}

#[test]
fn a_long_poll_is_counted_under_its_name() {
    let event_loop = EventLoop::builder().long_poll(Duration::from_millis(2)).build().unwrap();
    let named = TaskOptions::new().name("report");
    let long = event_loop.spawn_async_with(named, async {
        Context::current(|cx| cx.blocking(|| std::thread::sleep(Duration::from_millis(3))));
    });
    long.unwrap().wait().unwrap();
    let long_polls = event_loop.stats().long_polls;
    assert_eq!(long_polls.len(), 1);
    assert_eq!((long_polls[0].task.as_str(), long_polls[0].count), ("report", 1));
    assert!(long_polls[0].max >= Duration::from_millis(3));
}

impl EventLoop {
    /// Whether the loop's thread has ended.
    fn has_ended(&self) -> bool {
        *self.shared.ended.lock()
    }
}

impl Executor {
    /// Waits until all threads above the minimum left.
    fn shared_queue_empties(&self) -> bool {
        while self.stats().threads > 0 {
            std::thread::yield_now();
        }
        true
    }
}
