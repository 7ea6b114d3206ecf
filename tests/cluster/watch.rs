//! What the system knows of this process: its descriptors, its children.

use gvl_lab::cluster::{Cluster, ClusterBuilder};
use rustix::process::{Pid, Signal, kill_process};
use std::time::{Duration, Instant};

/// A cluster of `workers` with one thread each, as most tests want it.
pub fn small(workers: u32) -> ClusterBuilder {
    Cluster::builder().workers(workers).threads(1, 1)
}

/// Waits until it is so; fails after a minute.
pub fn until(what: &str, mut is_so: impl FnMut() -> bool) {
    let end = Instant::now() + Duration::from_secs(60);
    while !is_so() {
        assert!(Instant::now() < end, "waited for a minute: {what}");
        std::thread::sleep(Duration::from_millis(1));
    }
}

/// The descriptors of this process, by what they are open on.
pub fn descriptors() -> Vec<String> {
    let fds = std::fs::read_dir("/proc/self/fd").expect("descriptors");
    let target = |fd: std::io::Result<std::fs::DirEntry>| {
        let path = fd.ok()?.path();
        let target = std::fs::read_link(path).ok()?.to_string_lossy().into_owned();
        // Which socket or pipe it is does not matter, nor the folder that is read here.
        let kind = target.split(':').next().expect("a first part").to_owned();
        (!kind.starts_with("/proc")).then_some(kind)
    };
    let mut all: Vec<_> = fds.filter_map(target).collect();
    all.sort();
    all
}

/// The children of this process, zombies too.
pub fn children() -> Vec<u32> {
    let own = std::process::id();
    let all = std::fs::read_dir("/proc").expect("processes");
    all.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok())
        .filter(|pid| stat(*pid).is_some_and(|(_, parent)| parent == own))
        .collect()
}

/// The state and the parent of a process.
pub fn stat(pid: u32) -> Option<(char, u32)> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The name is in brackets, and may have any character.
    let mut rest = stat.rsplit_once(')')?.1.split_whitespace();
    Some((rest.next()?.chars().next()?, rest.next()?.parse().ok()?))
}

/// Whether a process is there and no zombie.
pub fn is_alive(pid: u32) -> bool {
    stat(pid).is_some_and(|(state, _)| state != 'Z' && state != 'X')
}

pub fn send(pid: u32, signal: Signal) {
    let pid = Pid::from_raw(pid as i32).expect("a process number");
    // It may have ended.
    let _ = kill_process(pid, signal);
}

/// The workers' processes, by number.
pub fn pids(cluster: &Cluster) -> Vec<u32> {
    cluster.stats().workers.iter().map(|worker| worker.pid).collect()
}

/// Runs the test and checks that this process is as it was before: descriptors, children.
pub fn leaves_nothing(test: impl FnOnce()) {
    let before = (descriptors(), children());
    test();
    let after = (descriptors(), children());
    assert_eq!(after, before, "something is left");
}
