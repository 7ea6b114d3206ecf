//! What nobody should do, and somebody does.

use crate::tasks::every_dispatch;
use crate::trials;
use crate::watch::{is_alive, leaves_nothing, pids, send, small, until};
use gvl_lab::cluster::{CallOptions, Cluster, ClusterBuilder, Dispatch, Launcher};
use gvl_lab::executor::{RejectedWhy, TaskError, WhenFull};
use rustix::process::{Resource, Rlimit, Signal, getrlimit, setrlimit};
use std::process::{Command, Stdio};
use std::sync::mpsc::channel;
use std::sync::{Arc, Mutex};
use std::time::Duration;

trials![
    a_cancelled_task_ends_whoever_has_it,
    a_task_that_is_cancelled_at_once_keeps_no_thread,
    a_late_task_keeps_no_worker,
    a_grandchild_that_keeps_the_socket_holds_nobody_up,
    a_handler_that_closes_everything_costs_its_worker,
    a_handler_may_write_and_read,
    a_stopped_worker_is_replaced_in_a_restart,
    huge_figures_are_as_good_as_none,
    a_name_may_be_anything,
    a_callback_may_submit,
    a_callback_may_drop_its_cluster,
    a_callback_waits_for_nothing,
    shutdowns_from_many_threads_are_one,
    a_cluster_may_live_inside_a_runtime,
    a_short_grace_ends_a_long_one,
    few_descriptors_are_an_error_and_no_end,
    a_worker_of_few_descriptors_takes_one_connection_after_the_other,
    a_backlog_is_a_queue_too,
    what_a_worker_says_of_itself_may_be_longer_than_payloads,
    a_restart_does_not_wait_for_a_pause,
    workers_that_come_back_are_used,
];

const LONG: Duration = Duration::from_secs(60);

fn answers(cluster: &Cluster) {
    let task = cluster.submit("echo", "x").unwrap();
    let Ok(outcome) = task.wait_for(LONG) else { panic!("no answer: {:?}", cluster.stats()) };
    assert_eq!(outcome.unwrap().bytes, "x");
}

fn a_cancelled_task_ends_whoever_has_it() {
    for (dispatch, builder) in every_server(1) {
        let cluster = builder.build().unwrap();
        println!("{dispatch:?}");
        let task = cluster.submit("obey", "").unwrap();
        until("it runs", || cluster.stats().running == 1);
        task.cancel();
        assert_eq!(task.wait().unwrap_err(), TaskError::Cancelled);
        answers(&cluster);
        until("the worker told", || cluster.stats().running == 0);
        assert_eq!(cluster.stats().bytes, 0);
    }
}

fn a_task_that_is_cancelled_at_once_keeps_no_thread() {
    for (dispatch, builder) in every_server(2) {
        leaves_nothing(|| {
            let cluster = builder.build().unwrap();
            println!("{dispatch:?}");
            for n in 0..200 {
                let task = cluster.submit("obey", vec![0; 100]).unwrap();
                (0..n).for_each(|_| std::thread::yield_now());
                task.cancel();
                assert_eq!(task.wait().unwrap_err(), TaskError::Cancelled);
            }
            (0..4).for_each(|_| answers(&cluster));
            until("the workers told", || {
                let stats = cluster.stats();
                (stats.queued, stats.running, stats.bytes) == (0, 0, 0)
            });
        });
    }
}

fn a_late_task_keeps_no_worker() {
    for (dispatch, builder) in every_server(1) {
        let cluster = builder.hang_max(Duration::from_millis(50)).build().unwrap();
        println!("{dispatch:?}");
        let options = || CallOptions::new().deadline(Duration::from_millis(20));
        let hangs = cluster.submit_with(options(), "hang", "").unwrap();
        assert_eq!(hangs.wait().unwrap_err(), TaskError::TimedOut);
        answers(&cluster);
        assert!(cluster.stats().counts.workers_lost <= 1);
    }
}

fn a_grandchild_that_keeps_the_socket_holds_nobody_up() {
    for dispatch in every_dispatch() {
        let cluster = small(1).dispatch(dispatch).build().unwrap();
        println!("{dispatch:?}");
        let before = pids(&cluster);
        let reply = cluster.submit("grandchild", "").unwrap().wait().unwrap();
        let grandchild = String::from_utf8_lossy(&reply.bytes).parse().unwrap();
        let hangs = cluster.submit("hang", "").unwrap();
        until("it runs", || cluster.stats().running == 1);
        send(before[0], Signal::KILL);
        assert!(matches!(hangs.wait().unwrap_err(), TaskError::WorkerLost { .. }));
        until("it is replaced", || pids(&cluster).iter().any(|pid| !before.contains(pid)));
        assert!(is_alive(grandchild));
        // Where workers accept, it has the listening socket too, and accepts nothing.
        answers(&cluster);
        let shutdown = cluster.shutdown(LONG);
        send(grandchild, Signal::KILL);
        assert!(shutdown.drained, "{dispatch:?}");
    }
}

fn a_handler_that_closes_everything_costs_its_worker() {
    for dispatch in every_dispatch() {
        let cluster = small(1).dispatch(dispatch).build().unwrap();
        println!("{dispatch:?}");
        let task = cluster.submit("close", "").unwrap();
        let Ok(outcome) = task.wait_for(LONG) else { panic!("no answer: {:?}", cluster.stats()) };
        assert!(outcome.is_err(), "{outcome:?}");
        answers(&cluster);
    }
}

fn a_handler_may_write_and_read() {
    for launcher in [Launcher::exec(), Launcher::fork()] {
        let cluster = small(1).launcher(launcher).build().unwrap();
        // Standard input is no socket any more, and empty.
        assert_eq!(cluster.submit("talk", "this").unwrap().wait().unwrap().bytes, "");
        answers(&cluster);
    }
}

fn a_stopped_worker_is_replaced_in_a_restart() {
    leaves_nothing(|| {
        let cluster = small(2).grace(Duration::from_millis(100)).build().unwrap();
        let before = pids(&cluster);
        send(before[0], Signal::STOP);
        cluster.restart().unwrap();
        assert!(!pids(&cluster).iter().any(|pid| before.contains(pid)));
        let now = pids(&cluster);
        send(now[1], Signal::STOP);
        cluster.set_workers(1).unwrap();
        assert_eq!(pids(&cluster), now[..1]);
        send(now[0], Signal::STOP);
        cluster.shutdown(Duration::from_millis(100));
        assert!(!is_alive(now[0]));
    });
}

fn huge_figures_are_as_good_as_none() {
    leaves_nothing(|| {
        let most = Duration::MAX;
        let builder = small(1).queue(usize::MAX, WhenFull::Wait).bytes_max(usize::MAX);
        let builder = builder.deadline(most).hang_max(most).boot_max(most).grace(most);
        let cluster = builder.payload_max(1 << 30).build().unwrap();
        let options = CallOptions::new().deadline(most).reruns(u32::MAX).connection(u64::MAX);
        let task = cluster.submit_with(options, "echo", "x").unwrap();
        assert_eq!(task.wait().unwrap().bytes, "x");
        assert_eq!(cluster.reports(most).len(), 1);
        cluster.restart().unwrap();
        cluster.set_workers(2).unwrap();
        cluster.set_workers(1).unwrap();
        assert!(cluster.shutdown(most).drained);
        // The shortest of all.
        let builder = small(1).queue(1, WhenFull::Wait).bytes_max(0).payload_max(1);
        let cluster = builder.build().unwrap();
        answers(&cluster);
        assert_eq!(cluster.reports(LONG).len(), 1);
        assert_eq!(cluster.stats().counts.workers_lost, 0);
        let none = CallOptions::new().deadline(Duration::ZERO);
        let late = cluster.submit_with(none, "echo", "x").unwrap();
        assert_eq!(late.wait().unwrap_err(), TaskError::TimedOut);
    });
}

fn a_name_may_be_anything() {
    for name in ["", "a\0b", "\u{1f980}\n", &"long".repeat(10_000)] {
        for launcher in [Launcher::exec(), Launcher::fork()] {
            match small(1).name(name).launcher(launcher).build() {
                Ok(cluster) => answers(&cluster),
                Err(error) => assert!(error.to_string().starts_with("workers: "), "{error}"),
            }
        }
    }
}

fn a_callback_may_submit() {
    leaves_nothing(|| {
        let cluster = Arc::new(small(1).queue(1, WhenFull::Wait).build().unwrap());
        let (tell, told) = channel();
        let inner = Arc::downgrade(&cluster);
        let then = move |outcome: Result<_, TaskError>| {
            assert!(outcome.is_ok());
            let cluster = inner.upgrade().unwrap();
            // The first of them is at a worker and the second waits: there is no room for a third.
            let submitted: Vec<_> = (0..200)
                .map(|_| {
                    let tell = tell.clone();
                    let then = move |outcome: Result<_, _>| tell.send(outcome.is_ok()).unwrap();
                    cluster.submit_then(CallOptions::new(), "sleep", "1", then)
                })
                .collect();
            let refused = submitted.iter().filter(|submitted| {
                submitted.as_ref().is_err_and(|r| r.why == RejectedWhy::WouldDeadlock)
            });
            assert!(refused.count() > 0);
            drop(cluster);
        };
        cluster.submit_then(CallOptions::new(), "echo", "x", then).unwrap();
        assert!(told.iter().all(|ok| ok));
    });
}

fn a_callback_may_drop_its_cluster() {
    for dispatch in every_dispatch() {
        leaves_nothing(|| {
            let cluster = small(2).dispatch(dispatch).build().unwrap();
            let workers = pids(&cluster);
            let waits = cluster.submit("sleep", "5").unwrap();
            let own = Arc::new(Mutex::new(None));
            let (tell, told) = channel();
            let taken = Arc::clone(&own);
            let then = move |_| {
                // On the cluster's thread, or on that of who submits.
                drop(taken.lock().unwrap().take());
                tell.send(()).unwrap();
            };
            let mut place = own.lock().unwrap();
            cluster.submit_then(CallOptions::new(), "sleep", "1", then).unwrap();
            *place = Some(cluster);
            drop(place);
            told.recv().unwrap();
            // Nothing that was accepted is lost for it.
            assert!(waits.wait().is_ok());
            until("all is gone", || !workers.iter().any(|pid| is_alive(*pid)));
            until("the thread has ended", || !threads().iter().any(|name| name == "pool master"));
        });
    }
}

/// The names of this process's threads.
fn threads() -> Vec<String> {
    let tasks = std::fs::read_dir("/proc/self/task").unwrap();
    let name = |task: std::io::Result<std::fs::DirEntry>| {
        std::fs::read_to_string(task.ok()?.path().join("comm")).ok()
    };
    tasks.filter_map(name).map(|name| name.trim_end().to_owned()).collect()
}

fn a_callback_waits_for_nothing() {
    let cluster = Arc::new(small(1).build().unwrap());
    let (tell, told) = channel();
    let inner = Arc::downgrade(&cluster);
    let then = move |_| {
        let cluster = inner.upgrade().unwrap();
        let errors = [cluster.restart().is_err(), cluster.set_workers(2).is_err()];
        let reports = cluster.reports(Duration::MAX).len();
        cluster.join();
        tell.send((errors, reports, cluster.shutdown(Duration::MAX).drained)).unwrap();
    };
    // Long enough for it to be called by the cluster's thread.
    cluster.submit_then(CallOptions::new(), "sleep", "50", then).unwrap();
    let told = told.recv_timeout(LONG).expect("it waits for nobody");
    assert_eq!(told, ([true, true], 0, false));
    cluster.join();
}

fn shutdowns_from_many_threads_are_one() {
    leaves_nothing(|| {
        let cluster = small(2).build().unwrap();
        let tasks: Vec<_> = (0..20).map(|_| cluster.submit("sleep", "5").unwrap()).collect();
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| cluster.join());
                scope.spawn(|| assert!(cluster.shutdown(LONG).drained));
                scope.spawn(|| drop(cluster.restart()));
                scope.spawn(|| drop(cluster.set_workers(3)));
                scope.spawn(|| drop(cluster.reports(LONG)));
            }
        });
        tasks.into_iter().for_each(|task| assert!(task.wait().is_ok()));
        assert!(cluster.shutdown(LONG).drained && cluster.shutdown(Duration::ZERO).drained);
        cluster.join();
        assert!(cluster.restart().is_err() && cluster.set_workers(1).is_err());
        assert_eq!(cluster.submit("echo", "").unwrap_err().why, RejectedWhy::ShutDown);
    });
}

fn a_cluster_may_live_inside_a_runtime() {
    leaves_nothing(|| {
        for threads in [1, 2] {
            let mut builder = tokio::runtime::Builder::new_multi_thread();
            let runtime = builder.worker_threads(threads).enable_all().build().unwrap();
            runtime.block_on(async {
                let cluster = small(2).build().unwrap();
                let sum = cluster.call::<_, i64>("add", &(1, 2)).unwrap().await;
                assert_eq!(sum, Ok(3));
                cluster.restart().unwrap();
                drop(cluster);
                assert!(small(2).app("refuse").build().is_err());
            });
        }
    });
}

fn a_short_grace_ends_a_long_one() {
    leaves_nothing(|| {
        let cluster = small(1).build().unwrap();
        let task = cluster.submit("hang", "").unwrap();
        until("it runs", || cluster.stats().running == 1);
        std::thread::scope(|scope| {
            let long = scope.spawn(|| cluster.shutdown(Duration::MAX));
            until("it stops", || cluster.submit("echo", "").is_err());
            // Some of these were accepted.
            let short = cluster.shutdown(Duration::ZERO);
            assert_eq!(long.join().unwrap(), short);
            assert!(!short.drained && short.cancelled >= 1, "{short:?}");
        });
        assert_eq!(task.wait().unwrap_err(), TaskError::Cancelled);
    });
}

fn a_worker_of_few_descriptors_takes_one_connection_after_the_other() {
    for (dispatch, builder) in every_server(1) {
        if !matches!(dispatch, Dispatch::KernelAccept(_)) {
            continue;
        }
        println!("{dispatch:?}");
        let cluster = builder.app("few").build().unwrap();
        let before = pids(&cluster);
        let handles: Vec<_> = (0..200).map(|_| cluster.submit("sleep", "1").unwrap()).collect();
        for handle in handles {
            let Ok(outcome) = handle.wait_for(LONG) else {
                panic!("{dispatch:?}: no answer: {:?}", cluster.stats())
            };
            assert!(outcome.is_ok(), "{dispatch:?}: {outcome:?}");
        }
        assert_eq!(pids(&cluster), before);
    }
}

fn a_backlog_is_a_queue_too() {
    for (dispatch, builder) in every_server(1) {
        println!("{dispatch:?}");
        let cluster = builder.queue(3, WhenFull::Reject).build().unwrap();
        send(pids(&cluster)[0], Signal::STOP);
        let mut handles = Vec::new();
        let why = loop {
            match cluster.submit("echo", "x") {
                Ok(handle) => handles.push(handle),
                Err(rejected) => break rejected.why,
            }
        };
        assert_eq!((why, cluster.stats().queued), (RejectedWhy::Full, 3));
        send(pids(&cluster)[0], Signal::CONT);
        handles.into_iter().for_each(|handle| assert!(handle.wait().is_ok()));
        assert_eq!(cluster.stats().queued, 0);
        drop(cluster);
    }
}

fn what_a_worker_says_of_itself_may_be_longer_than_payloads() {
    for app in ["many", "panic in report", "long report"] {
        let cluster = small(1).threads(20, 20).payload_max(1).app(app).build().unwrap();
        answers(&cluster);
        let reports = cluster.reports(LONG);
        assert_eq!(reports.len(), 1, "{app}");
        assert_eq!(reports[0].2.ended["ok"], 1, "{app}");
        answers(&cluster);
        assert_eq!(cluster.stats().counts.workers_lost, 0, "{app}");
    }
}

/// A cluster whose workers' program can be taken away and put back.
fn with_a_program(workers: u32) -> (Cluster, tempfile::TempDir, std::path::PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let program = folder.path().join("worker");
    put(&program);
    let cluster = small(workers).launcher(Launcher::command(&program)).build().unwrap();
    (cluster, folder, program)
}

fn put(program: &std::path::Path) {
    std::os::unix::fs::symlink(std::env::current_exe().unwrap(), program).unwrap();
}

fn a_restart_does_not_wait_for_a_pause() {
    let (cluster, _folder, program) = with_a_program(2);
    let before = pids(&cluster);
    std::fs::remove_file(&program).unwrap();
    send(before[0], Signal::KILL);
    until("it is gone", || pids(&cluster) == before[1..]);
    put(&program);
    // Whether or not the first place is between two attempts.
    cluster.restart().unwrap();
    let after = pids(&cluster);
    assert!(after.len() == 2 && !after.iter().any(|pid| before.contains(pid)), "{after:?}");
}

fn workers_that_come_back_are_used() {
    let (cluster, _folder, program) = with_a_program(1);
    std::fs::remove_file(&program).unwrap();
    send(pids(&cluster)[0], Signal::KILL);
    until("all is hopeless", || {
        cluster.submit("echo", "x").is_err_and(|r| r.why == RejectedWhy::NoWorkers)
    });
    put(&program);
    cluster.restart().unwrap();
    answers(&cluster);
}

/// All ways of dispatching, and an event loop that accepts.
fn every_server(workers: u32) -> Vec<(Dispatch, ClusterBuilder)> {
    let mut all: Vec<_> = every_dispatch()
        .into_iter()
        .map(|dispatch| (dispatch, small(workers).dispatch(dispatch)))
        .collect();
    let of_loop =
        gvl_lab::model::Model::from(gvl_lab::model::uvicorn().workers(2)).topology().dispatch;
    if let gvl_lab::model::Dispatch::Accept(accept) = of_loop {
        let dispatch = Dispatch::KernelAccept(accept);
        all.push((dispatch, small(workers).dispatch(dispatch).event_loop(1)));
    }
    all
}

/// What a program of this test is to do, from the environment.
const ROLE: &str = "GVL_LAB_TEST_ODD";

/// Where this program was started by a test of these: does that, and never returns.
pub fn be_odd_if_told() {
    if std::env::var(ROLE).is_err() {
        return;
    }
    // So many are open, and a few more: some workers, never forty.
    let limit = Rlimit { current: Some(64), ..getrlimit(Resource::Nofile) };
    for dispatch in every_dispatch() {
        let cluster = small(2).dispatch(dispatch).build().unwrap();
        setrlimit(Resource::Nofile, limit).unwrap();
        let error = cluster.set_workers(40).unwrap_err();
        println!("{error}");
        let handles: Vec<_> = (0..500).map(|_| cluster.submit("echo", "x").unwrap()).collect();
        for handle in handles {
            let Ok(outcome) = handle.wait_for(LONG) else {
                panic!("{dispatch:?}: no answer: {:?}", cluster.stats())
            };
            // A worker that was started last may have failed.
            assert!(outcome.is_ok(), "{dispatch:?}: {outcome:?}");
        }
        cluster.set_workers(2).unwrap();
        answers(&cluster);
    }
    std::process::exit(0);
}

fn few_descriptors_are_an_error_and_no_end() {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.env(ROLE, "few").stdin(Stdio::null()).stdout(Stdio::null());
    assert!(command.status().unwrap().success());
}
