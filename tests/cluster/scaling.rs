//! More workers, fewer, and others in their place, while tasks run.

use crate::trials;
use crate::watch::{leaves_nothing, pids, small};
use gvl_lab::cluster::Cluster;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::time::Duration;

trials![
    a_restart_replaces_every_worker_and_loses_nothing,
    more_and_fewer_workers_lose_nothing,
    a_number_out_of_range_is_refused,
    a_restart_that_fails_keeps_the_old_workers,
];

/// Submits without a pause while `change` runs; every task has to be answered.
fn under_load(cluster: &Cluster, change: impl FnOnce()) {
    let stop = AtomicBool::new(false);
    let answered = AtomicU64::new(0);
    std::thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(|| {
                while !stop.load(Relaxed) {
                    let handles: Vec<_> = (0..20)
                        .map(|n: u32| cluster.submit("echo", n.to_string()).unwrap())
                        .collect();
                    for handle in handles {
                        handle.wait().expect("nothing is lost");
                        answered.fetch_add(1, Relaxed);
                    }
                }
            });
        }
        change();
        stop.store(true, Relaxed);
    });
    assert!(answered.load(Relaxed) > 0);
    let counts = cluster.stats().counts;
    assert_eq!((counts.failed.len(), counts.workers_lost, counts.reruns), (0, 0, 0));
}

fn a_restart_replaces_every_worker_and_loses_nothing() {
    for dispatch in crate::tasks::every_dispatch() {
        leaves_nothing(|| {
            let cluster = small(3).dispatch(dispatch).build().unwrap();
            let before = pids(&cluster);
            under_load(&cluster, || cluster.restart().unwrap());
            let after = pids(&cluster);
            assert_eq!(after.len(), 3);
            assert!(!after.iter().any(|pid| before.contains(pid)), "{dispatch:?}");
        });
    }
}

fn more_and_fewer_workers_lose_nothing() {
    for dispatch in crate::tasks::every_dispatch() {
        leaves_nothing(|| {
            let cluster = small(2).dispatch(dispatch).build().unwrap();
            let before = pids(&cluster);
            under_load(&cluster, || {
                cluster.set_workers(4).unwrap();
                assert_eq!(pids(&cluster)[..2], before);
                assert_eq!(pids(&cluster).len(), 4);
                cluster.set_workers(1).unwrap();
                assert_eq!(pids(&cluster), before[..1]);
                cluster.set_workers(2).unwrap();
            });
            let numbers: Vec<_> = cluster.stats().workers.iter().map(|w| w.number).collect();
            assert_eq!(numbers, [0, 1], "{dispatch:?}");
        });
    }
}

fn a_number_out_of_range_is_refused() {
    let cluster = small(1).build().unwrap();
    for workers in [0, 1025] {
        let error = cluster.set_workers(workers).unwrap_err();
        let expected = format!("workers: {workers} is not allowed, expected 1..=1024");
        assert_eq!(error.to_string(), expected);
        assert_eq!(small(workers).build().unwrap_err().to_string(), expected);
    }
}

fn a_restart_that_fails_keeps_the_old_workers() {
    let folder = tempfile::tempdir().unwrap();
    let program = folder.path().join("worker");
    std::os::unix::fs::symlink(std::env::current_exe().unwrap(), &program).unwrap();
    let launcher = gvl_lab::cluster::Launcher::command(&program);
    let cluster = small(2).launcher(launcher).build().unwrap();
    let before = pids(&cluster);
    std::fs::remove_file(&program).unwrap();
    let error = cluster.restart().unwrap_err();
    assert!(error.to_string().starts_with("restart: "), "{error}");
    assert_eq!(pids(&cluster), before);
    assert_eq!(cluster.submit("echo", "x").unwrap().wait().unwrap().bytes, "x");
    cluster.shutdown(Duration::from_secs(10));
}
