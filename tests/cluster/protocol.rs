//! Workers in another language, which know the protocol from its document; and some that break it.

use crate::trials;
use crate::watch::{is_alive, leaves_nothing, pids, send, small, until};
use gvl_lab::cluster::{CallOptions, Cluster, ClusterBuilder, Launcher};
use gvl_lab::executor::{Exit, TaskError};
use rustix::process::Signal;
use std::time::Duration;

trials![
    a_worker_in_python_does_tasks,
    its_results_may_be_as_long_as_the_limit,
    it_takes_more_than_a_socket_holds,
    it_stops_when_it_is_told,
    it_reports,
    it_gives_back_what_it_has_not_begun,
    it_is_lost_and_replaced,
    it_finishes_when_it_is_told_to_end,
    it_refuses_to_accept,
    a_boot_that_breaks_the_protocol_says_how,
    a_worker_that_breaks_the_protocol_is_killed,
    a_worker_that_ends_in_a_frame_is_lost,
    an_answer_before_nonsense_counts,
    answers_that_are_nobodys_are_ignored,
    reports_that_are_none_are_empty,
    what_comes_with_a_hello_counts,
];

fn python(file: &str, arguments: &[&str]) -> Launcher {
    let file = format!("{}/cluster/{file}", env!("CARGO_MANIFEST_DIR"));
    Launcher::command("python3").arg("-I").arg(file).args(arguments)
}

fn pythons(workers: u32) -> ClusterBuilder {
    small(workers).launcher(python("worker.py", &[]))
}

fn odd(way: &str) -> ClusterBuilder {
    // Not all of them end when they are told to.
    small(1).grace(Duration::ZERO).launcher(python("odd_worker.py", &[way]))
}

fn answer(cluster: &Cluster, handler: &str, payload: &str) -> Result<String, TaskError> {
    let reply = cluster.submit(handler, payload.to_owned()).unwrap().wait()?;
    Ok(String::from_utf8_lossy(&reply.bytes).into_owned())
}

fn a_worker_in_python_does_tasks() {
    leaves_nothing(|| {
        let cluster = pythons(2).threads(1, 3).build().unwrap();
        let handles: Vec<_> =
            (0..500).map(|n| cluster.submit("echo", n.to_string()).unwrap()).collect();
        for (n, handle) in handles.into_iter().enumerate() {
            let reply = handle.wait().unwrap();
            assert_eq!(reply.bytes, n.to_string());
            let timings = reply.timings;
            assert!(reply.submitted <= timings.received && timings.received <= timings.started);
            assert!(timings.started <= timings.finished, "{timings:?}");
            assert!(pids(&cluster).contains(&reply.pid));
        }
        let failed = TaskError::Failed("told to fail: so".to_owned());
        assert_eq!(answer(&cluster, "fail", "so"), Err(failed));
        let raised = TaskError::Panicked("RuntimeError('so')".to_owned());
        assert_eq!(answer(&cluster, "throw", "so"), Err(raised));
        let shutdown = cluster.shutdown(Duration::from_secs(60));
        assert!(shutdown.drained && shutdown.cancelled == 0, "{shutdown:?}");
    });
}

fn its_results_may_be_as_long_as_the_limit() {
    let cluster = pythons(1).payload_max(4 << 20).build().unwrap();
    let before = pids(&cluster);
    let make = |size: u64| cluster.submit("make", size.to_string()).unwrap().wait();
    assert_eq!(make(4 << 20).unwrap().bytes.len(), 4 << 20);
    let limit = 4 << 20;
    assert_eq!(make(limit + 1).unwrap_err(), TaskError::TooLarge { size: limit + 1, limit });
    assert_eq!(pids(&cluster), before);
    // A frame has room for more than such a payload.
    let cluster = pythons(1).payload_max(8).build().unwrap();
    let error = cluster.submit("make", "9").unwrap().wait().unwrap_err();
    assert_eq!(error, TaskError::TooLarge { size: 9, limit: 8 });
    assert_eq!(answer(&cluster, "echo", "12345678").unwrap(), "12345678");
}

fn it_takes_more_than_a_socket_holds() {
    leaves_nothing(|| {
        let cluster = pythons(1).threads(4, 4).build().unwrap();
        let payload = vec![5_u8; 1 << 20];
        let handles: Vec<_> =
            (0..32).map(|_| cluster.submit("echo", payload.clone()).unwrap()).collect();
        handles.into_iter().for_each(|handle| assert!(handle.wait().unwrap().bytes == payload));
    });
}

fn it_stops_when_it_is_told() {
    let cluster = pythons(1).build().unwrap();
    let before = pids(&cluster);
    let task = cluster.submit("obey", "").unwrap();
    until("it runs", || cluster.stats().running == 1);
    task.cancel();
    assert_eq!(task.wait().unwrap_err(), TaskError::Cancelled);
    let options = CallOptions::new().deadline(Duration::from_millis(20));
    let task = cluster.submit_with(options, "obey", "").unwrap();
    assert_eq!(task.wait().unwrap_err(), TaskError::TimedOut);
    assert_eq!(answer(&cluster, "echo", "x").unwrap(), "x");
    assert_eq!((pids(&cluster), cluster.stats().running), (before, 0));
}

fn it_reports() {
    let cluster = pythons(1).build().unwrap();
    (0..5).for_each(|_| drop(answer(&cluster, "echo", "x")));
    drop(answer(&cluster, "fail", ""));
    let reports = cluster.reports(Duration::from_secs(60));
    let [(0, pid, report)] = &reports[..] else { panic!("{reports:?}") };
    assert_eq!(*pid, pids(&cluster)[0]);
    assert_eq!(report.ended["ok"], 5);
    assert!(report.cpu_ns > 0 && report.app["language"] == "Python", "{report:?}");
}

fn it_gives_back_what_it_has_not_begun() {
    leaves_nothing(|| {
        // One thread, and as many tasks as come.
        let cluster = pythons(1).event_loop(1).build().unwrap();
        let before = pids(&cluster);
        let first = cluster.submit("obey", "").unwrap();
        let waiting: Vec<_> = (0..20).map(|_| cluster.submit("echo", "x").unwrap()).collect();
        assert_eq!(cluster.stats().running, 21);
        std::thread::scope(|scope| {
            let restart = scope.spawn(|| cluster.restart());
            for task in waiting {
                let reply = task.wait().unwrap();
                assert!(reply.bytes == "x" && !before.contains(&reply.pid));
            }
            assert!(is_alive(before[0]) && !first.is_finished());
            first.cancel();
            restart.join().unwrap().unwrap();
        });
        assert!(!is_alive(before[0]));
        assert_eq!(cluster.stats().counts.workers_lost, 0);
    });
}

fn it_is_lost_and_replaced() {
    leaves_nothing(|| {
        let cluster = pythons(1).build().unwrap();
        let before = pids(&cluster);
        let task = cluster.submit("obey", "").unwrap();
        until("it runs", || cluster.stats().running == 1);
        send(before[0], Signal::KILL);
        let lost = |pid, exit| TaskError::WorkerLost { pid, exit };
        assert_eq!(task.wait().unwrap_err(), lost(before[0], Exit::Signal(9)));
        let task = cluster.submit("exit", "3").unwrap();
        let error = task.wait().unwrap_err();
        assert!(matches!(error, TaskError::WorkerLost { exit: Exit::Status(3), .. }), "{error}");
        let options = CallOptions::new().reruns(1);
        let task = cluster.submit_with(options, "exit", "4").unwrap();
        let error = task.wait().unwrap_err();
        assert!(matches!(error, TaskError::WorkerLost { exit: Exit::Status(4), .. }), "{error}");
        assert_eq!(answer(&cluster, "echo", "x").unwrap(), "x");
        let counts = cluster.stats().counts;
        assert_eq!((counts.workers_lost, counts.reruns), (4, 1));
    });
}

fn it_finishes_when_it_is_told_to_end() {
    leaves_nothing(|| {
        let cluster = pythons(1).threads(2, 2).build().unwrap();
        let before = pids(&cluster);
        let folder = tempfile::tempdir().unwrap();
        let begun = folder.path().join("begun");
        let task = cluster.submit("obey", begun.to_str().unwrap().to_owned()).unwrap();
        // One that is only on its way would be given back.
        until("it runs", || begun.exists());
        send(before[0], Signal::TERM);
        until("it says so", || cluster.stats().workers[0].draining);
        let next = cluster.submit("echo", "").unwrap();
        assert_eq!(cluster.stats().queued, 1);
        assert!(is_alive(before[0]));
        task.cancel();
        assert!(!before.contains(&next.wait().unwrap().pid));
        assert_eq!(cluster.stats().counts.workers_lost, 0);
    });
}

fn it_refuses_to_accept() {
    leaves_nothing(|| {
        for dispatch in crate::tasks::every_dispatch() {
            let cluster = pythons(1).dispatch(dispatch).build();
            if let gvl_lab::cluster::Dispatch::KernelAccept(_) = dispatch {
                let error = cluster.unwrap_err().to_string();
                assert!(error.contains("this worker does not accept connections"), "{error}");
            } else {
                assert_eq!(answer(&cluster.unwrap(), "echo", "x").unwrap(), "x");
            }
        }
    });
}

fn a_boot_that_breaks_the_protocol_says_how() {
    for (way, why) in [
        ("silent", "did not say within 200ms that it serves"),
        ("nonsense first", "does not speak the protocol: a frame of 1936617326 bytes"),
        ("half a hello", "ended with exit status 0 before it said that it serves"),
        ("another version", "the worker speaks version 2 of the protocol, and the master 1"),
        ("done first", "the worker said Done first"),
        ("an empty name", "does not speak the protocol: a malformed frame of kind 2"),
        ("too many handlers", "does not speak the protocol: a malformed frame of kind 2"),
        ("refuses", "not today"),
    ] {
        leaves_nothing(|| {
            let boot_max = Duration::from_millis(if way == "silent" { 200 } else { 60_000 });
            let error = odd(way).boot_max(boot_max).build().unwrap_err().to_string();
            assert!(error.starts_with("workers: ") && error.contains(why), "{way}: {error}");
        });
    }
}

fn a_worker_that_breaks_the_protocol_is_killed() {
    for way in [
        "too long",
        "as long as can be",
        "no kind",
        "an unknown kind",
        "a setup",
        "a second hello",
        "accepted",
        "nonsense",
        "bytes left over",
        "not utf-8",
        "closes",
        "gives back unasked",
    ] {
        is_lost(way, Exit::Signal(9));
    }
}

fn a_worker_that_ends_in_a_frame_is_lost() {
    is_lost("half a frame", Exit::Status(0));
    is_lost("half a length", Exit::Status(0));
}

/// A task ends with its worker, and the next one with the next worker.
fn is_lost(way: &str, exit: Exit) {
    leaves_nothing(|| {
        let cluster = odd(way).build().unwrap();
        for lost in 1..=2 {
            let task = cluster.submit("echo", "").unwrap();
            match task.wait_for(Duration::from_secs(60)) {
                Ok(Err(TaskError::WorkerLost { exit: how, .. })) => assert_eq!(how, exit, "{way}"),
                Ok(other) => panic!("{way}: {other:?}"),
                Err(_) => panic!("{way}: the task has no end"),
            }
            until("it is counted", || cluster.stats().counts.workers_lost == lost);
        }
    });
}

fn an_answer_before_nonsense_counts() {
    leaves_nothing(|| {
        let cluster = odd("answers, then nonsense").build().unwrap();
        for lost in 1..=3 {
            assert_eq!(answer(&cluster, "echo", "").unwrap(), "mine");
            until("it is killed", || cluster.stats().counts.workers_lost == lost);
        }
    });
}

fn answers_that_are_nobodys_are_ignored() {
    for way in ["answers twice", "answers for others", "a report nobody asked for"] {
        leaves_nothing(|| {
            let cluster = odd(way).workers(2).build().unwrap();
            let before = pids(&cluster);
            let handles: Vec<_> = (0..200).map(|_| cluster.submit("echo", "").unwrap()).collect();
            for handle in handles {
                assert_eq!(handle.wait().unwrap().bytes, "mine", "{way}");
            }
            let stats = cluster.stats();
            assert_eq!((stats.running, stats.queued, stats.bytes), (0, 0, 0), "{way}");
            assert_eq!((stats.counts.done, pids(&cluster)), (200, before), "{way}");
        });
    }
}

fn reports_that_are_none_are_empty() {
    let cluster = odd("no report").build().unwrap();
    let reports = cluster.reports(Duration::from_secs(60));
    assert_eq!(reports, [(0, pids(&cluster)[0], Default::default())]);
}

fn what_comes_with_a_hello_counts() {
    leaves_nothing(|| {
        let cluster = odd("nonsense with its hello").build().unwrap();
        until("it is killed", || cluster.stats().counts.workers_lost > 0);
    });
    leaves_nothing(|| {
        let cluster = odd("ends with its hello").build().unwrap();
        let first = pids(&cluster);
        until("another is there", || pids(&cluster) != first);
        assert_eq!(cluster.stats().counts.workers_lost, 0);
    });
}
