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

fn main() {
    let target = Path::new(env!("CARGO_TARGET_TMPDIR")).parent().expect("target/tmp has a parent");
    let results = target.join("criterion");
    let began = SystemTime::now();
    let mut criterion = Criterion::default()
        .without_plots()
        .warm_up_time(Duration::from_secs(1))
        .measurement_time(Duration::from_secs(3))
        .output_directory(&results)
        .configure_from_args();
    acquire::measure(&mut criterion);
    handoff::measure(&mut criterion);
    spawn::measure(&mut criterion);
    event_loop::measure(&mut criterion);
    criterion.final_summary();
    println!("{}", table::print(&results, began));
}
