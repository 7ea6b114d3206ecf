//! Embeds worker processes: what a program needs to have a pool of them, and what it can do then.
//!
//! Tasks by name, errors, a worker that is killed, tasks that may run again, a restart, another
//! number of workers, what the system knows of them, the end. Run it with
//! `cargo run -p gvl-lab-examples --bin workers`.

use gvl_lab::cluster::{App, CallHandle, CallOptions, Cluster};
use gvl_lab::gvl::Gvl;
use rustix::process::{Pid, Signal, kill_process};
use serde::{Deserialize, Serialize};
use std::error::Error;
use std::process;
use std::thread::sleep;
use std::time::Duration;

#[derive(Serialize, Deserialize)]
struct Order {
    pieces: u64,
    cents: u64,
}

/// Loads the application: in each worker, and never in the program that the user started.
fn load(app: &mut App) -> Result<(), Box<dyn Error>> {
    // Values go as JSON. An error is the task's; a panic too, and the worker goes on after it.
    app.typed("total", |_, order: Order| {
        order.pieces.checked_mul(order.cents).ok_or("nobody has so much".to_owned())
    });
    // Holds the lock of its worker, except while it waits; gives its process.
    app.typed("fetch", |cx, ms: u64| {
        for _ in 0..ms {
            cx.blocking(|| sleep(Duration::from_millis(1)));
            cx.checkpoint();
        }
        Ok(process::id())
    });
    Ok(())
}

fn main() -> Result<(), Box<dyn Error>> {
    // The first line: a worker is this program again, and does not come further than here.
    gvl_lab::init(load);

    let cluster =
        Cluster::builder().name("shop").workers(2).threads(2, 2).gvl(Gvl::cruby()).build()?;
    println!("workers: {:?}", pids(&cluster));

    // A handle can be waited for, and awaited.
    let total: u64 = cluster.call("total", &Order { pieces: 3, cents: 250 })?.wait()?;
    println!("total: {total}");
    let too_much: CallHandle<u64> = cluster.call("total", &Order { pieces: 3, cents: u64::MAX })?;
    println!("too much: {:?}", too_much.wait());

    // Each worker has two tasks when the first is killed. One that may run twice is done by the
    // other; of one that may not, nobody knows how far it came.
    let mut tasks = Vec::new();
    for options in [CallOptions::new(), CallOptions::new().idempotent()] {
        for _ in 0..2 {
            tasks.push(cluster.call_with::<u64, u32>(options.clone(), "fetch", &200)?);
        }
    }
    kill(pids(&cluster)[0])?;
    for (task, kind) in tasks.into_iter().zip(["once", "once", "idempotent", "idempotent"]) {
        match task.wait() {
            Ok(pid) => println!("{kind}: done by {pid}"),
            Err(error) => println!("{kind}: {error}"),
        }
    }
    let counts = cluster.stats().counts;
    println!("{} worker lost, {} task run again", counts.workers_lost, counts.reruns);

    // A deadline ends the task at its next checkpoint.
    let deadline = CallOptions::new().deadline(Duration::from_millis(20));
    let late: CallHandle<u32> = cluster.call_with(deadline, "fetch", &10_000)?;
    println!("late: {:?}", late.wait());

    // New processes, one after the other, and no task is lost meanwhile: for a new version.
    cluster.restart()?;
    println!("restarted: {:?}", pids(&cluster));
    cluster.set_workers(3)?;
    println!("three: {:?}", pids(&cluster));

    println!("\n{}", cluster.snapshot());

    // What was accepted is run to its end within the grace; then no process is left.
    let last: CallHandle<u32> = cluster.call("fetch", &50)?;
    let shutdown = cluster.shutdown(Duration::from_secs(5));
    println!("drained: {}, the last task too: {}", shutdown.drained, last.wait().is_ok());
    Ok(())
}

fn pids(cluster: &Cluster) -> Vec<u32> {
    cluster.stats().workers.iter().map(|worker| worker.pid).collect()
}

/// Ends a process as the system does when it runs out of memory.
fn kill(pid: u32) -> Result<(), Box<dyn Error>> {
    let pid = Pid::from_raw(pid.try_into()?).ok_or("no process has the number 0")?;
    Ok(kill_process(pid, Signal::KILL)?)
}
