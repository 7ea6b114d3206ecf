//! Workers whose master is gone, and masters that are told to end.

use crate::trials;
use crate::watch::{is_alive, send, small, stat};
use gvl_lab::cluster::{Cluster, Launcher};
use rustix::process::Signal;
use std::collections::BTreeSet;
use std::io::{BufRead, BufReader, Read, Write};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

trials![
    no_worker_outlives_its_master_by_a_second,
    no_worker_outlives_a_master_that_panics,
    a_master_that_is_told_to_end_drains,
    a_process_ends_with_its_socket,
];

/// What a master of these tests is to do, from the environment.
const ROLE: &str = "GVL_LAB_TEST_MASTER";

/// Where this program was started as a master by a test: does that, and never returns.
pub fn be_a_master_if_told() {
    let Ok(role) = std::env::var(ROLE) else { return };
    let launcher = if role.ends_with("fork") { Launcher::fork() } else { Launcher::exec() };
    let drains = role.starts_with("drain");
    // A master that panics drops its cluster, which waits for its tasks so long.
    let grace = Duration::from_secs(if drains { 60 } else { 0 });
    let builder = small(3).launcher(launcher).drain_on_signals(drains).grace(grace);
    let cluster = builder.build().unwrap();
    // Every worker computes and looks at nothing, as far as it is not to drain.
    let handler = if drains { "sleep" } else { "hang" };
    let tasks: Vec<_> = (0..3).map(|_| cluster.submit(handler, "200").unwrap()).collect();
    crate::watch::until("all run", || cluster.stats().running == 3);
    println!("{}", pids_of_all(&cluster));
    if role.starts_with("panic") {
        panic!("the master panics");
    }
    cluster.join();
    let done = tasks.into_iter().filter(|_| true).map(|task| task.wait()).filter(Result::is_ok);
    println!("{} done", done.count());
    std::process::exit(0);
}

fn pids_of_all(cluster: &Cluster) -> String {
    let snapshot = cluster.snapshot();
    let pids = snapshot.processes[1..].iter().map(|process| process.pid.to_string());
    pids.collect::<Vec<_>>().join(" ")
}

/// A master, and the processes that it has.
fn master(role: &str) -> (Child, Vec<u32>, BufReader<impl Read + use<>>) {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.env(ROLE, role).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
    let mut child = command.spawn().unwrap();
    let mut out = BufReader::new(child.stdout.take().unwrap());
    let mut line = String::new();
    out.read_line(&mut line).unwrap();
    let pids: Vec<u32> = line.split_whitespace().map(|pid| pid.parse().unwrap()).collect();
    assert!(pids.len() >= 3 && pids.iter().all(|pid| is_alive(*pid)), "{pids:?}");
    (child, pids, out)
}

/// Whether all end within a second.
fn end_within_a_second(pids: &[u32]) -> Vec<(u32, Option<(char, u32)>)> {
    let end = Instant::now() + Duration::from_secs(1);
    while pids.iter().any(|pid| is_alive(*pid)) && Instant::now() < end {
        std::thread::sleep(Duration::from_millis(1));
    }
    let alive: Vec<_> = pids.iter().filter(|pid| is_alive(**pid)).copied().collect();
    alive.iter().for_each(|pid| send(*pid, Signal::KILL));
    alive.into_iter().map(|pid| (pid, stat(pid))).collect()
}

fn no_worker_outlives_its_master_by_a_second() {
    for role in ["exec", "fork"] {
        for stopped in [0, 1, usize::MAX] {
            let (mut child, pids, _out) = master(role);
            // The last is a worker; a template comes first.
            pids.iter().rev().take(stopped).for_each(|pid| send(*pid, Signal::STOP));
            send(child.id(), Signal::KILL);
            child.wait().unwrap();
            assert_eq!(end_within_a_second(&pids), [], "{role}, stopped: {stopped}");
        }
    }
}

fn no_worker_outlives_a_master_that_panics() {
    for role in ["panic exec", "panic fork"] {
        let (mut child, pids, _out) = master(role);
        assert!(!child.wait().unwrap().success());
        assert_eq!(end_within_a_second(&pids), [], "{role}");
    }
}

fn a_master_that_is_told_to_end_drains() {
    for (role, signal) in [
        ("drain exec", Signal::TERM),
        ("drain exec", Signal::INT),
        ("drain fork", Signal::TERM),
        ("drain fork", Signal::INT),
    ] {
        let (mut child, pids, mut out) = master(role);
        send(child.id(), signal);
        if signal == Signal::INT {
            // From a terminal it comes to everyone.
            pids.iter().for_each(|pid| send(*pid, signal));
        }
        let mut rest = String::new();
        out.read_to_string(&mut rest).unwrap();
        assert_eq!(rest, "3 done\n", "{role}");
        assert!(child.wait().unwrap().success());
        let distinct: BTreeSet<_> = pids.iter().collect();
        assert!(!distinct.into_iter().any(|pid| is_alive(*pid)), "{role}");
    }
}

/// Nothing but the end of its socket ends it here: this process lives on.
fn a_process_ends_with_its_socket() {
    for (role, task, status) in
        [("worker", None, 3), ("worker", Some("hang"), 3), ("template", None, 0)]
    {
        let (mut ours, theirs) = UnixStream::pair().unwrap();
        let mut command = Command::new(std::env::current_exe().unwrap());
        command.env("GVL_LAB_WORKER", role).stdin(OwnedFd::from(theirs));
        let mut child = command.spawn().unwrap();
        drop(command);
        let setup = serde_json::json!({
            "name": "pool", "number": 0, "frame_max": 1 << 20, "gvl": "cruby-3.3",
            "serving": { "Threads": { "min": 1, "max": 1, "one_task": false } },
            "accept": null, "workers": 1, "app": "",
        });
        let setup = [&[1, 1, 0], setup.to_string().as_bytes()].concat();
        ours.write_all(&frame(&setup)).unwrap();
        // It serves.
        assert_ne!(ours.read(&mut [0; 4096]).unwrap(), 0, "{role}");
        if let Some(handler) = task {
            let head = [&[4][..], &[0; 16], &[handler.len() as u8]].concat();
            ours.write_all(&frame(&[&head, handler.as_bytes()].concat())).unwrap();
        }
        drop(ours);
        crate::watch::until("it ends", || !is_alive(child.id()));
        assert_eq!(child.wait().unwrap().code(), Some(status), "{role}");
    }
}

fn frame(bytes: &[u8]) -> Vec<u8> {
    [&(bytes.len() as u32).to_le_bytes(), bytes].concat()
}
