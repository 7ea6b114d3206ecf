//! Watches the GVL: two threads, one of which computes, and every step in their life under the lock.
//!
//! The thread that waits comes back from its I/O while the other one computes, is `Ready`, and is
//! `Resumed` when the quantum of the other is over: about 100 ms later under CRuby, 5 ms under
//! CPython. Run it with `cargo run -p gvl-lab-examples --bin watch_gvl`, or with the name of
//! another lock behind it: `-- cpython-3.13`.

use gvl_lab::gvl::lock::Lock;
use gvl_lab::gvl::{EventKind, Gvl, Hook};
use std::process;
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

/// How long the first thread computes, and how often the second one waits for its I/O.
const COMPUTING: Duration = Duration::from_millis(350);
const WAITS: usize = 3;

fn main() {
    let name = std::env::args().nth(1).unwrap_or_else(|| "cruby-4.0".to_owned());
    let gvl = Gvl::named(&name).unwrap_or_else(|error| {
        eprintln!("{error}");
        process::exit(2);
    });
    let (told, events) = mpsc::channel();
    // A hook runs on the thread it tells of, and may not use the lock: it hands the event on.
    let hook = Hook::new(move |event| {
        // The receiver outlives the lock; if it does not, nobody wants to know.
        let _ = told.send((event.at, event.name.to_owned(), event.kind, event.waited_ns));
    });
    let lock = Lock::builder(gvl).hook(hook).build();

    thread::scope(|scope| {
        scope.spawn(|| {
            let thread = lock.join("computes");
            let mut held = thread.acquire();
            let start = Instant::now();
            while start.elapsed() < COMPUTING {
                held.safepoint();
            }
        });
        scope.spawn(|| {
            let thread = lock.join("waits");
            let mut held = thread.acquire();
            for _ in 0..WAITS {
                held.blocking(|| thread::sleep(Duration::from_millis(10)));
            }
        });
    });
    drop(lock);

    let mut timeline: Vec<_> = events.iter().collect();
    timeline.sort_by_key(|(at, ..)| *at);
    let start = timeline.first().map_or(0, |(at, ..)| *at);
    println!("{name}\n{:>9}  {:<24}waits", "ms", "computes");
    for (at, thread, kind, waited_ns) in timeline {
        let mut what = format!("{kind:?}");
        if kind == EventKind::Resumed && waited_ns > 0 {
            what += &format!(" after {:.1} ms", waited_ns as f64 / 1e6);
        }
        let column = if thread == "waits" { 24 } else { 0 };
        println!("{:>9.1}  {:column$}{what}", (at - start) as f64 / 1e6, "");
    }
}
