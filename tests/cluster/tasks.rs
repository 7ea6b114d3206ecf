//! Tasks and what comes of them.

use crate::trials;
use crate::watch::{leaves_nothing, pids, small, until};
use gvl_lab::cluster::{CallOptions, Cluster, Dispatch};
use gvl_lab::executor::{RejectedWhy, TaskError};
use std::collections::BTreeSet;
use std::time::Duration;

trials![
    bytes_go_and_come_back,
    values_go_as_json,
    a_handler_that_fails_says_why,
    a_panic_is_one_tasks_end,
    a_late_task_ends_at_its_deadline,
    a_cancelled_task_ends_at_its_checkpoint,
    a_task_that_waits_is_cancelled_without_a_worker,
    an_unknown_handler_is_refused,
    timings_are_in_order,
    every_way_of_dispatching_answers_everything,
    the_shared_queue_uses_every_worker,
    an_event_loop_serves_both_kinds_of_handlers,
    a_handle_can_be_awaited,
    then_is_called_with_the_outcome,
    reports_tell_of_every_worker,
    a_snapshot_has_every_process,
];

fn bytes_go_and_come_back() {
    leaves_nothing(|| {
        let cluster = small(2).build().unwrap();
        let handles: Vec<_> = (0..500_u32)
            .map(|n| cluster.submit("echo", n.to_le_bytes().to_vec()).unwrap())
            .collect();
        for (n, handle) in handles.into_iter().enumerate() {
            assert_eq!(handle.wait().unwrap().bytes, (n as u32).to_le_bytes()[..]);
        }
        assert_eq!(cluster.stats().counts.done, 500);
        let shutdown = cluster.shutdown(Duration::from_secs(10));
        assert!(shutdown.drained && shutdown.cancelled == 0);
    });
}

fn values_go_as_json() {
    let cluster = small(1).build().unwrap();
    let sum: i64 = cluster.call("add", &(40, 2)).unwrap().wait().unwrap();
    assert_eq!(sum, 42);
    let error = cluster.call::<_, i64>("add", &(i64::MAX, 1)).unwrap().wait().unwrap_err();
    assert_eq!(error, TaskError::Failed("too much".to_owned()));
    let error = cluster.call::<_, i64>("add", &"text").unwrap().wait().unwrap_err();
    assert!(error.to_string().starts_with("the task failed: its input: "), "{error}");
}

fn a_handler_that_fails_says_why() {
    let cluster = small(1).build().unwrap();
    let error = cluster.submit("fail", "so").unwrap().wait().unwrap_err();
    assert_eq!(error, TaskError::Failed("told to fail: so".to_owned()));
}

fn a_panic_is_one_tasks_end() {
    let cluster = small(1).build().unwrap();
    let before = pids(&cluster);
    let error = cluster.submit("panic", "so").unwrap().wait().unwrap_err();
    assert_eq!(error, TaskError::Panicked("told to panic: so".to_owned()));
    assert_eq!(cluster.submit("echo", "x").unwrap().wait().unwrap().bytes, "x");
    assert_eq!(pids(&cluster), before);
}

fn a_late_task_ends_at_its_deadline() {
    let cluster = small(1).build().unwrap();
    let options = || CallOptions::new().deadline(Duration::from_millis(20));
    let obeys = cluster.submit_with(options(), "obey", "").unwrap();
    // Behind it in the queue.
    let waits = cluster.submit_with(options(), "echo", "").unwrap();
    assert_eq!(obeys.wait().unwrap_err(), TaskError::TimedOut);
    // Late too, or just in time.
    let _ = waits.wait();
    assert_eq!(cluster.submit("echo", "x").unwrap().wait().unwrap().bytes, "x");
}

fn a_cancelled_task_ends_at_its_checkpoint() {
    let cluster = small(1).build().unwrap();
    let task = cluster.submit("obey", "").unwrap();
    until("it runs", || cluster.stats().running == 1);
    task.cancel();
    assert_eq!(task.wait().unwrap_err(), TaskError::Cancelled);
    // Its worker is free again.
    assert_eq!(cluster.submit("echo", "x").unwrap().wait().unwrap().bytes, "x");
    until("the worker told", || cluster.stats().running == 0);
}

fn a_task_that_waits_is_cancelled_without_a_worker() {
    let cluster = small(1).build().unwrap();
    let first = cluster.submit("obey", "").unwrap();
    let second = cluster.submit("echo", "").unwrap();
    until("one waits", || cluster.stats().queued == 1);
    second.cancel();
    assert_eq!(second.wait().unwrap_err(), TaskError::Cancelled);
    assert_eq!(cluster.stats().queued, 0);
    first.cancel();
}

fn an_unknown_handler_is_refused() {
    let cluster = small(1).build().unwrap();
    let rejected = cluster.submit("nobody", "payload").unwrap_err();
    assert_eq!((rejected.why, &rejected.task[..]), (RejectedWhy::NoHandler, &b"payload"[..]));
    let rejected = cluster.submit(&"n".repeat(300), "").unwrap_err();
    assert_eq!(rejected.why, RejectedWhy::NoHandler);
}

fn timings_are_in_order() {
    let cluster = small(1).build().unwrap();
    let reply = cluster.submit("sleep", "2").unwrap().wait().unwrap();
    let t = reply.timings;
    assert!(reply.submitted <= t.received && t.received <= t.started, "{reply:?}");
    assert!(t.started + 2_000_000 <= t.finished, "{reply:?}");
    assert!(t.cpu < Duration::from_nanos(t.finished - t.started), "{reply:?}");
    assert_eq!(vec![reply.pid], pids(&cluster));
}

fn every_way_of_dispatching_answers_everything() {
    for dispatch in every_dispatch() {
        leaves_nothing(|| {
            let cluster = small(3).dispatch(dispatch).build().unwrap();
            let handles: Vec<_> =
                (0..300).map(|n: u32| cluster.submit("echo", n.to_string()).unwrap()).collect();
            for (n, handle) in handles.into_iter().enumerate() {
                assert_eq!(handle.wait().unwrap().bytes, n.to_string(), "{dispatch:?}");
            }
            let answered: u64 = cluster.stats().workers.iter().map(|worker| worker.ok).sum();
            assert_eq!(answered, 300, "{dispatch:?}");
        });
    }
}

/// All ways, kernel accept as each server does it.
pub fn every_dispatch() -> Vec<Dispatch> {
    use gvl_lab::model::{self, Model, Mpm, apache, puma, unicorn, uvicorn};
    let models: [Model; 8] = [
        puma().workers(3).threads(1).into(),
        puma().workers(3).threads(1).version("6.6.1").into(),
        puma().workers(3).threads(1).version("7.0.0").into(),
        unicorn().workers(3).into(),
        uvicorn().workers(3).into(),
        apache().mpm(Mpm::Event).into(),
        apache().mpm(Mpm::Worker).into(),
        apache().mpm(Mpm::Prefork).into(),
    ];
    let accepts = models.iter().map(|model| match model.topology().dispatch {
        model::Dispatch::Accept(accept) => Dispatch::KernelAccept(accept),
        other => panic!("{other:?}"),
    });
    [Dispatch::SharedQueue, Dispatch::LeastBusy, Dispatch::RoundRobin]
        .into_iter()
        .chain(accepts)
        .collect()
}

fn the_shared_queue_uses_every_worker() {
    let cluster = small(3).build().unwrap();
    let handles: Vec<_> = (0..30).map(|_| cluster.submit("sleep", "5").unwrap()).collect();
    let used: BTreeSet<u32> = handles.into_iter().map(|h| h.wait().unwrap().pid).collect();
    assert_eq!(used.into_iter().collect::<Vec<_>>(), {
        let mut pids = pids(&cluster);
        pids.sort_unstable();
        pids
    });
}

fn an_event_loop_serves_both_kinds_of_handlers() {
    leaves_nothing(|| {
        let cluster = small(2).event_loop(4).app("loop").build().unwrap();
        let both: Vec<_> = (0..200)
            .map(|n| {
                let handler = if n % 2 == 0 { "echo" } else { "async echo" };
                cluster.submit(handler, n.to_string()).unwrap()
            })
            .collect();
        for (n, handle) in both.into_iter().enumerate() {
            assert_eq!(handle.wait().unwrap().bytes, n.to_string());
        }
        let options = CallOptions::new().deadline(Duration::from_millis(5));
        let late = cluster.submit_with(options, "async hour", "").unwrap();
        assert_eq!(late.wait().unwrap_err(), TaskError::TimedOut);
        let cancelled = cluster.submit("async hour", "").unwrap();
        until("it runs", || cluster.stats().running == 1);
        cancelled.cancel();
        assert_eq!(cancelled.wait().unwrap_err(), TaskError::Cancelled);
        until("the worker told", || cluster.stats().running == 0);
    });
}

fn a_handle_can_be_awaited() {
    let cluster = small(1).build().unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let sum = runtime.block_on(async { cluster.call::<_, i64>("add", &(1, 2)).unwrap().await });
    assert_eq!(sum, Ok(3));
    // Inside of a runtime too.
    runtime.block_on(async { cluster.shutdown(Duration::from_secs(1)) });
}

fn then_is_called_with_the_outcome() {
    let cluster = small(1).build().unwrap();
    let (tell, told) = std::sync::mpsc::channel();
    for handler in ["echo", "panic"] {
        let tell = tell.clone();
        let then = move |outcome| tell.send(outcome).unwrap();
        cluster.submit_then(CallOptions::new(), handler, "x", then).unwrap();
    }
    assert_eq!(told.recv().unwrap().unwrap().bytes, "x");
    assert!(matches!(told.recv().unwrap(), Err(TaskError::Panicked(_))));
}

fn reports_tell_of_every_worker() {
    let cluster = small(2).build().unwrap();
    for _ in 0..10 {
        cluster.submit("echo", "x").unwrap().wait().unwrap();
    }
    let reports = cluster.reports(Duration::from_secs(30));
    let numbers: Vec<_> = reports.iter().map(|(number, pid, _)| (*number, *pid)).collect();
    assert_eq!(numbers.iter().map(|(_, pid)| *pid).collect::<Vec<_>>(), pids(&cluster));
    let answered: u64 = reports.iter().flat_map(|(.., report)| report.ended.get("ok")).sum();
    assert_eq!(answered, 10);
    for (_, pid, report) in reports {
        // The threads of one that has answered nothing may be about to begin.
        let has_threads = !report.gvl.is_empty() || report.ended.is_empty();
        assert!(report.cpu_ns > 0 && has_threads, "{report:?}");
        assert_eq!(report.app["loaded"], pid);
    }
}

fn a_snapshot_has_every_process() {
    let cluster: Cluster = small(2).build().unwrap();
    let snapshot = cluster.snapshot();
    let processes: Vec<_> = snapshot.processes.iter().map(|process| process.pid).collect();
    assert_eq!(processes, [vec![std::process::id()], pids(&cluster)].concat());
    for worker in &snapshot.processes[1..] {
        assert_eq!(worker.ppid, std::process::id());
        assert_eq!(worker.nlwp as usize, worker.threads.len());
        assert!(worker.memory.is_some());
    }
}
