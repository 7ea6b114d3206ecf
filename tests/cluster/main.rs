//! Tests of worker processes, in a program of their own: a worker is this program again, and its
//! first line is what makes it one.
//!
//! Counts, orders and ends are judged, never how long something took; where the test has to wait
//! for the system, it waits until it is so, and fails after a minute.

#![expect(clippy::unwrap_used, reason = "all of this is tests, as `#[test]` would tell")]

mod app;
mod chaos;
mod ends;
mod launchers;
mod limits;
mod odd;
mod orphans;
mod protocol;
mod scaling;
mod tasks;
mod upgrade;
mod watch;

use libtest_mimic::{Arguments, Trial};

fn main() {
    gvl_lab::init(app::load);
    orphans::be_a_master_if_told();
    upgrade::be_upgraded_if_told();
    odd::be_odd_if_told();
    let arguments = Arguments::from_args();
    // What a process has once for all of its runtimes is there before anything is counted.
    drop(watch::small(1).build());
    let tests: Vec<Trial> = [
        tasks::trials(),
        limits::trials(),
        ends::trials(),
        scaling::trials(),
        launchers::trials(),
        protocol::trials(),
        orphans::trials(),
        upgrade::trials(),
        odd::trials(),
        chaos::trials(),
    ]
    .into_iter()
    .flatten()
    .collect();
    // One after the other: descriptors and children of the whole process are counted.
    libtest_mimic::run(&Arguments { test_threads: Some(1), ..arguments }, tests).exit();
}

/// A test by its function, named as the function is.
#[macro_export]
macro_rules! trials {
    ($($name:ident),* $(,)?) => {
        pub fn trials() -> Vec<libtest_mimic::Trial> {
            vec![$(libtest_mimic::Trial::test(
                concat!(module_path!(), "::", stringify!($name)).replace("cluster::", ""),
                || { $name(); Ok(()) },
            )),*]
        }
    };
}
