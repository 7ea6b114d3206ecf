//! A hundred thousand tasks while workers are killed, stopped and continued at random.

use crate::trials;
use crate::watch::{leaves_nothing, pids, send, small, until};
use gvl_lab::cluster::{CallOptions, Cluster, Dispatch, Launcher, Reply};
use gvl_lab::executor::{Exit, JoinHandle, TaskError};
use rustix::process::Signal;
use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::time::Duration;

trials![every_task_ends_once_whatever_happens_to_the_workers, kernel_accept_under_chaos];

const WORKERS: usize = 4;

/// What the monkey did.
#[derive(Default)]
struct Blows {
    kills: AtomicU64,
    stops: AtomicU64,
}

fn every_task_ends_once_whatever_happens_to_the_workers() {
    for (launcher, tasks) in [(Launcher::exec(), 100_000), (Launcher::fork(), 20_000)] {
        chaos(launcher, Dispatch::SharedQueue, tasks);
    }
}

fn kernel_accept_under_chaos() {
    for dispatch in crate::tasks::every_dispatch() {
        if let Dispatch::KernelAccept(accept) = dispatch {
            println!("{accept:?}");
            chaos(Launcher::fork(), dispatch, 4_000);
        }
    }
}

fn chaos(launcher: Launcher, dispatch: Dispatch, tasks: u64) {
    let seed = std::env::var("GVL_LAB_SEED").ok().and_then(|seed| seed.parse().ok());
    let seed = seed.unwrap_or_else(|| fastrand::u64(..));
    println!("chaos: repeat with GVL_LAB_SEED={seed}");
    leaves_nothing(|| {
        let notes = tempfile::NamedTempFile::new().unwrap();
        let builder = small(WORKERS as u32).threads(1, 2).launcher(launcher).dispatch(dispatch);
        let cluster = builder.build().unwrap();
        let over = AtomicBool::new(false);
        let blows = Blows::default();
        let outcomes = std::thread::scope(|scope| {
            scope.spawn(|| monkey(&cluster, seed, &over, &blows));
            // Told also if the test fails.
            let _over = Over(&over);
            run_all(&cluster, tasks, notes.path().to_str().unwrap())
        });
        let ran = count(notes.path());
        let mut lost = 0;
        for (task, outcome) in (1..=tasks).zip(&outcomes) {
            let times = ran.get(&task).copied().unwrap_or(0);
            let panics = task.is_multiple_of(997);
            match outcome {
                Ok(()) => assert!(!panics && times >= 1, "task {task} ran {times} times"),
                Err(TaskError::Panicked(_)) => assert!(panics && times >= 1, "task {task}"),
                Err(TaskError::WorkerLost { exit, .. }) => {
                    assert_eq!(*exit, Exit::Signal(9), "task {task}");
                    assert!(!is_idempotent(task), "task {task} is idempotent and was lost");
                    lost += 1;
                }
                Err(other) => panic!("task {task}: {other}"),
            }
            assert!(is_idempotent(task) || times <= 1, "task {task} ran {times} times");
        }
        let stats = cluster.stats();
        assert_eq!(stats.counts.done + stats.counts.failed.values().sum::<u64>(), tasks);
        assert_eq!((stats.queued, stats.running, stats.bytes), (0, 0, 0));
        let (kills, stops) = (blows.kills.load(Relaxed), blows.stops.load(Relaxed));
        println!(
            "chaos: {tasks} tasks, {kills} kills, {stops} stops, {lost} lost, {} ran again",
            stats.counts.reruns
        );
        assert!(kills > 0 && stops > 0);
        until("all workers are back", || pids(&cluster).len() == WORKERS);
    });
}

struct Over<'o>(&'o AtomicBool);

impl Drop for Over<'_> {
    fn drop(&mut self) {
        self.0.store(true, Relaxed);
    }
}

fn is_idempotent(task: u64) -> bool {
    task.is_multiple_of(2)
}

fn run_all(cluster: &Cluster, tasks: u64, notes: &str) -> Vec<Result<(), TaskError>> {
    let submit = |task: u64| {
        let options = CallOptions::new();
        let options = if is_idempotent(task) { options.reruns(100) } else { options };
        cluster.submit_with(options, "note", format!("{notes} {task}")).unwrap()
    };
    let handles: Vec<_> = (1..=tasks).map(submit).collect();
    let wait = |handle: JoinHandle<Reply>| match handle.wait_for(Duration::from_secs(60)) {
        Ok(outcome) => outcome.map(drop),
        Err(_) => panic!("a task without an end: {:?}", cluster.stats()),
    };
    handles.into_iter().map(wait).collect()
}

/// Kills, stops and continues workers until the tasks are over.
fn monkey(cluster: &Cluster, seed: u64, over: &AtomicBool, blows: &Blows) {
    let mut chance = fastrand::Rng::with_seed(seed);
    while !over.load(Relaxed) {
        std::thread::sleep(Duration::from_millis(chance.u64(1..15)));
        let workers = pids(cluster);
        // Those that are lost soon are replaced after longer and longer pauses: some have to be
        // there for the tasks to come to an end.
        if workers.len() <= WORKERS / 2 {
            continue;
        }
        let pid = *chance.choice(&workers).expect("there are some");
        if chance.bool() {
            send(pid, Signal::KILL);
            blows.kills.fetch_add(1, Relaxed);
        } else {
            send(pid, Signal::STOP);
            std::thread::sleep(Duration::from_millis(chance.u64(1..20)));
            send(pid, Signal::CONT);
            blows.stops.fetch_add(1, Relaxed);
        }
    }
}

/// How often each task ran, by what the workers noted.
fn count(notes: &std::path::Path) -> HashMap<u64, u64> {
    let mut ran = HashMap::new();
    for line in std::fs::read_to_string(notes).unwrap().lines() {
        *ran.entry(line.parse().unwrap()).or_default() += 1;
    }
    ran
}
