//! Embeds the executor: jobs that compute and jobs that wait, on one pool under CRuby's GVL.
//!
//! Shows values and failures coming back through handles, a deadline, and what each thread used of
//! the lock. Run it with `cargo run -p gvl-lab-examples --bin embed`.

use gvl_lab::executor::{Executor, JoinHandle, TaskOptions};
use gvl_lab::gvl::Gvl;
use std::error::Error;
use std::thread;
use std::time::Duration;

fn main() -> Result<(), Box<dyn Error>> {
    let executor = Executor::builder().name("worker").threads(4, 4).gvl(Gvl::cruby()).build()?;

    // Four jobs that wait, as for a database: the lock is free meanwhile, so they wait together.
    let fetched: Vec<JoinHandle<u64>> = (1..=4)
        .map(|id| {
            executor.spawn(move |cx| {
                cx.blocking(|| thread::sleep(Duration::from_millis(50)));
                id * 100
            })
        })
        .collect::<Result<_, _>>()?;

    // A job that computes under the lock and gives way at its checkpoints.
    let counted = executor.spawn(|cx| {
        let mut sum = 0_u64;
        for n in 0..1_000_000_u64 {
            sum = sum.wrapping_add(n * n);
            if n % 1000 == 0 {
                cx.checkpoint();
            }
        }
        sum
    })?;

    // A job that would never end: its deadline passes, and its next checkpoint ends it.
    let deadline = TaskOptions::new().name("endless").deadline(Duration::from_millis(20));
    let endless: JoinHandle<()> = executor.spawn_with(deadline, |cx| {
        loop {
            cx.checkpoint();
        }
    })?;

    // A job that panics: its handle tells, its thread goes on (and standard error has the message).
    let broken: JoinHandle<u64> = executor.spawn(|_| panic!("no such record"))?;

    for handle in fetched {
        println!("fetched {}", handle.wait()?);
    }
    println!("counted {}", counted.wait()?);
    println!("endless: {:?}", endless.wait());
    println!("broken: {:?}", broken.wait());

    let stats = executor.stats();
    println!("{} done, {} failed", stats.done, stats.failed());
    for thread in &stats.gvl {
        let usage = thread.usage;
        println!(
            "{}: held the lock {:.1?}, waited {:.1?}, blocked {:.1?}, took it {} times",
            thread.name, usage.hold, usage.wait, usage.blocked, usage.acquisitions
        );
    }
    let shutdown = executor.shutdown(Duration::from_secs(1));
    println!("drained: {}", shutdown.drained);
    Ok(())
}
