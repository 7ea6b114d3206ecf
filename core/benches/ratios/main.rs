//! Ours against peers, in one run: criterion measures, then a table of ratios is printed.
//!
//! `cargo bench -p gvl-lab --bench ratios`; the README of `benches/` tells what each row means.

mod acquire;
mod event_loop;
mod handoff;
mod spawn;
mod table;

use criterion::Criterion;
use std::path::Path;
use std::time::{Duration, SystemTime};

/// How often everything is measured. Machines are faster and slower for seconds on end, so that a
/// ratio is good only within a round; the table gives the median of the rounds.
const ROUNDS: u32 = 5;

fn main() {
    let target = Path::new(env!("CARGO_TARGET_TMPDIR")).parent().expect("target/tmp has a parent");
    let began = SystemTime::now();
    let rounds: Vec<_> =
        (1..=ROUNDS).map(|n| target.join("criterion").join(format!("round {n}"))).collect();
    for round in &rounds {
        let mut criterion = Criterion::default()
            .without_plots()
            .warm_up_time(Duration::from_millis(300))
            .measurement_time(Duration::from_secs(1))
            .output_directory(round)
            .configure_from_args();
        acquire::measure(&mut criterion);
        handoff::measure(&mut criterion);
        spawn::measure(&mut criterion);
        event_loop::measure(&mut criterion);
        criterion.final_summary();
    }
    println!("{}", table::print(&rounds, began));
}
