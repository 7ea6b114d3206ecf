//! Workers that end, in all the ways in which they can.

use crate::trials;
use crate::watch::{is_alive, leaves_nothing, pids, send, small, until};
use gvl_lab::cluster::{CallOptions, Cluster, Launcher};
use gvl_lab::executor::{Exit, RejectedWhy, TaskError};
use rustix::process::Signal;
use std::time::Duration;

trials![
    a_worker_that_exits_is_replaced,
    a_worker_that_aborts_is_replaced,
    a_worker_that_is_killed_is_replaced,
    an_idempotent_task_runs_again,
    a_task_that_kills_every_worker_ends,
    queued_tasks_survive_their_worker,
    a_worker_that_hangs_past_a_deadline_is_killed,
    a_stopped_worker_is_killed_at_a_deadline,
    a_worker_that_is_told_to_end_finishes_first,
    what_was_begun_is_not_sent_again,
    what_was_answered_before_the_end_counts,
    boots_that_all_fail_are_one_error,
    a_boot_without_an_end_is_a_failure,
    workers_that_all_fail_later_end_every_task,
    a_shutdown_drains,
    a_shutdown_without_patience_cancels,
    a_drop_leaves_nothing,
];

/// Waits until so many workers serve, none of them one of `before`.
fn replaced(cluster: &Cluster, workers: usize, before: &[u32]) {
    until("the worker is replaced", || {
        let now = pids(cluster);
        now.len() == workers && !now.iter().any(|pid| before.contains(pid))
    });
    assert_eq!(cluster.submit("echo", "x").unwrap().wait().unwrap().bytes, "x");
}

fn ends_as(handler: &str, payload: &str, exit: Exit) {
    leaves_nothing(|| {
        let cluster = small(1).build().unwrap();
        let before = pids(&cluster);
        let error = cluster.submit(handler, payload.to_owned()).unwrap().wait().unwrap_err();
        assert_eq!(error, TaskError::WorkerLost { pid: before[0], exit });
        replaced(&cluster, 1, &before);
        assert_eq!(cluster.stats().counts.workers_lost, 1);
    });
}

fn a_worker_that_exits_is_replaced() {
    ends_as("exit", "3", Exit::Status(3));
    ends_as("exit", "0", Exit::Status(0));
}

fn a_worker_that_aborts_is_replaced() {
    ends_as("abort", "", Exit::Signal(6));
}

fn a_worker_that_is_killed_is_replaced() {
    leaves_nothing(|| {
        let cluster = small(2).build().unwrap();
        let before = pids(&cluster);
        let tasks: Vec<_> = (0..2).map(|_| cluster.submit("hang", "").unwrap()).collect();
        until("both run", || cluster.stats().running == 2);
        for pid in &before {
            send(*pid, Signal::KILL);
        }
        for task in tasks {
            let error = task.wait().unwrap_err();
            let TaskError::WorkerLost { pid, exit } = error else { panic!("{error}") };
            assert!(before.contains(&pid) && exit == Exit::Signal(9));
        }
        replaced(&cluster, 2, &before);
    });
}

fn an_idempotent_task_runs_again() {
    let cluster = small(1).build().unwrap();
    let before = pids(&cluster);
    let task = cluster.submit_with(CallOptions::new().idempotent(), "sleep", "30").unwrap();
    until("it runs", || cluster.stats().running == 1);
    send(before[0], Signal::KILL);
    let reply = task.wait().unwrap();
    assert!(!before.contains(&reply.pid));
    assert_eq!(cluster.stats().counts.reruns, 1);
}

fn a_task_that_kills_every_worker_ends() {
    let cluster = small(1).build().unwrap();
    let task = cluster.submit_with(CallOptions::new().reruns(2), "exit", "9").unwrap();
    let error = task.wait().unwrap_err();
    assert!(matches!(error, TaskError::WorkerLost { exit: Exit::Status(9), .. }), "{error}");
    assert_eq!(cluster.stats().counts.reruns, 2);
    assert_eq!(cluster.submit("echo", "x").unwrap().wait().unwrap().bytes, "x");
}

fn queued_tasks_survive_their_worker() {
    for dispatch in crate::tasks::every_dispatch() {
        let cluster = small(3).dispatch(dispatch).build().unwrap();
        let before = pids(&cluster);
        let blockers: Vec<_> = (0..3).map(|_| cluster.submit("hang", "").unwrap()).collect();
        // A worker that accepts may take more than it can run at once, which are lost with it.
        let options = || CallOptions::new().idempotent();
        let waiting: Vec<_> =
            (0..60).map(|_| cluster.submit_with(options(), "echo", "x").unwrap()).collect();
        for pid in before {
            send(pid, Signal::KILL);
        }
        for handle in blockers {
            // The kernel may have given two of them to one worker: the second then runs later.
            handle.cancel();
            assert!(handle.wait().is_err());
        }
        // A worker may have begun one at the last moment: it has to go for the others to be answered.
        let (mut done, mut looks) = (0, 0);
        until("all are answered", || {
            looks += 1;
            let stats = cluster.stats();
            if std::mem::replace(&mut done, stats.counts.done) != done {
                looks = 0;
            }
            if looks == 2000 {
                looks = 0;
                let busy = stats.workers.iter().filter(|worker| worker.running > 0);
                busy.for_each(|worker| send(worker.pid, Signal::KILL));
            }
            waiting.iter().all(|handle| handle.is_finished())
        });
        for handle in waiting {
            assert_eq!(handle.wait().unwrap().bytes, "x", "{dispatch:?}");
        }
    }
}

fn a_worker_that_hangs_past_a_deadline_is_killed() {
    leaves_nothing(|| {
        let cluster = small(1).hang_max(Duration::from_millis(20)).build().unwrap();
        let before = pids(&cluster);
        let options = CallOptions::new().deadline(Duration::from_millis(20));
        let task = cluster.submit_with(options, "hang", "").unwrap();
        assert_eq!(task.wait().unwrap_err(), TaskError::TimedOut);
        replaced(&cluster, 1, &before);
        assert!(!is_alive(before[0]));
    });
}

fn a_stopped_worker_is_killed_at_a_deadline() {
    let cluster = small(1).hang_max(Duration::from_millis(20)).build().unwrap();
    let before = pids(&cluster);
    send(before[0], Signal::STOP);
    let options = CallOptions::new().deadline(Duration::from_millis(20));
    let task = cluster.submit_with(options, "echo", "").unwrap();
    assert_eq!(task.wait().unwrap_err(), TaskError::TimedOut);
    replaced(&cluster, 1, &before);
}

fn a_worker_that_is_told_to_end_finishes_first() {
    for dispatch in crate::tasks::every_dispatch() {
        let cluster = small(1).dispatch(dispatch).build().unwrap();
        let before = pids(&cluster);
        let task = cluster.submit("sleep", "50").unwrap();
        until("it runs", || cluster.stats().running == 1);
        send(before[0], Signal::TERM);
        assert!(task.wait().is_ok(), "{dispatch:?}");
        replaced(&cluster, 1, &before);
        assert_eq!(cluster.stats().counts.workers_lost, 0, "{dispatch:?}");
    }
}

fn what_was_begun_is_not_sent_again() {
    for dispatch in crate::tasks::every_dispatch() {
        let notes = tempfile::NamedTempFile::new().unwrap();
        let cluster = small(2).dispatch(dispatch).build().unwrap();
        let payload = format!("{} 1", notes.path().display());
        let error = cluster.submit("note and exit", payload).unwrap().wait().unwrap_err();
        assert!(matches!(error, TaskError::WorkerLost { exit: Exit::Status(5), .. }), "{error}");
        until("it is replaced", || pids(&cluster).len() == 2);
        assert_eq!(cluster.submit("echo", "x").unwrap().wait().unwrap().bytes, "x");
        assert_eq!(std::fs::read_to_string(notes.path()).unwrap(), "1\n", "{dispatch:?}");
    }
}

fn what_was_answered_before_the_end_counts() {
    let cluster = small(1).build().unwrap();
    // Tasks so short that the next is sent before the last is answered.
    let short: Vec<_> = (0..100).map(|_| cluster.submit("echo", "x").unwrap()).collect();
    short.into_iter().for_each(|task| assert!(task.wait().is_ok()));
    let worker = pids(&cluster)[0];
    // The cluster's thread hears nothing until it is let go.
    let (tell, told) = std::sync::mpsc::channel();
    let (go, gone) = std::sync::mpsc::channel::<()>();
    let then = move |_| {
        tell.send(()).unwrap();
        let _ = gone.recv();
    };
    cluster.submit_then(CallOptions::new(), "echo", "x", then).unwrap();
    told.recv().unwrap();
    let first = cluster.submit("echo", "first").unwrap();
    let last = cluster.submit("exit", "3").unwrap();
    let were_sent = cluster.stats().running == 2;
    until("the worker has ended", || !were_sent || !is_alive(worker));
    drop(go);
    assert_eq!(first.wait().unwrap().bytes, "first");
    assert_eq!(
        last.wait().unwrap_err(),
        TaskError::WorkerLost { pid: worker, exit: Exit::Status(3) }
    );
}

fn a_boot_without_an_end_is_a_failure() {
    for launcher in [Launcher::exec(), Launcher::fork()] {
        leaves_nothing(|| {
            let builder = small(2).app("never").boot_max(Duration::from_millis(50));
            let error = builder.launcher(launcher).build().unwrap_err();
            assert!(error.to_string().contains("within 50ms"), "{error}");
        });
    }
}

fn boots_that_all_fail_are_one_error() {
    for (app, why) in [
        ("refuse", "this application does not want to be loaded"),
        ("exit", "exit status 7"),
        ("panic", "the application panics as it is loaded"),
    ] {
        leaves_nothing(|| {
            let error = small(3).app(app).build().unwrap_err();
            assert!(error.to_string().starts_with("workers: "), "{error}");
            assert!(error.to_string().contains(why), "{error}");
            assert_eq!(error.to_string().lines().count(), 1);
        });
    }
}

fn workers_that_all_fail_later_end_every_task() {
    // The program of the workers goes away while they serve.
    let folder = tempfile::tempdir().unwrap();
    let program = folder.path().join("worker");
    std::os::unix::fs::symlink(std::env::current_exe().unwrap(), &program).unwrap();
    let launcher = gvl_lab::cluster::Launcher::command(&program);
    let cluster = small(1).launcher(launcher).build().unwrap();
    std::fs::remove_file(&program).unwrap();
    send(pids(&cluster)[0], Signal::KILL);
    until("the worker is gone", || pids(&cluster).is_empty());
    let error = match cluster.submit("echo", "x") {
        Ok(handle) => handle.wait().unwrap_err(),
        Err(rejected) => {
            assert_eq!(rejected.why, RejectedWhy::NoWorkers);
            return;
        }
    };
    assert!(matches!(error, TaskError::NoWorkers(_)), "{error}");
    assert_eq!(cluster.submit("echo", "x").unwrap_err().why, RejectedWhy::NoWorkers);
}

fn a_shutdown_drains() {
    for dispatch in crate::tasks::every_dispatch() {
        leaves_nothing(|| {
            let cluster = small(2).dispatch(dispatch).build().unwrap();
            let handles: Vec<_> = (0..40).map(|_| cluster.submit("sleep", "1").unwrap()).collect();
            let shutdown = cluster.shutdown(Duration::from_secs(60));
            assert!(shutdown.drained && shutdown.cancelled == 0, "{dispatch:?}: {shutdown:?}");
            assert!(handles.iter().all(|handle| handle.is_finished()));
            handles.into_iter().for_each(|handle| assert!(handle.wait().is_ok()));
            assert_eq!(cluster.submit("echo", "").unwrap_err().why, RejectedWhy::ShutDown);
            assert_eq!(cluster.shutdown(Duration::ZERO).cancelled, 0);
        });
    }
}

fn a_shutdown_without_patience_cancels() {
    leaves_nothing(|| {
        let cluster = small(2).build().unwrap();
        let handles: Vec<_> = (0..5).map(|_| cluster.submit("hang", "").unwrap()).collect();
        let workers = pids(&cluster);
        let shutdown = cluster.shutdown(Duration::ZERO);
        assert!(!shutdown.drained && shutdown.cancelled == 5, "{shutdown:?}");
        for handle in handles {
            assert_eq!(handle.wait().unwrap_err(), TaskError::Cancelled);
        }
        assert!(!workers.into_iter().any(is_alive));
    });
}

fn a_drop_leaves_nothing() {
    leaves_nothing(|| {
        for _ in 0..5 {
            let cluster = small(2).grace(Duration::ZERO).build().unwrap();
            let _task = cluster.submit("obey", "").unwrap();
        }
    });
}
