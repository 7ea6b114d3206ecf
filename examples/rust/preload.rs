//! Compares two ways of starting workers: each loads the application, or a template loads it once
//! and is forked.
//!
//! The application has a table of 64 MiB and an index of it, which take a while to make. Shows how
//! long it takes until four workers serve, and the memory of all of them. Run it with
//! `cargo run --release -p gvl-lab-examples --bin preload`.

use gvl_lab::cluster::{App, Cluster, Launcher};
use std::error::Error;
use std::hash::{BuildHasher, BuildHasherDefault, DefaultHasher};
use std::time::{Duration, Instant};

/// 8 bytes each: 64 MiB.
const RECORDS: u64 = 8 << 20;

/// One record of so many is in the index.
const INDEXED: usize = 4;

const WORKERS: u32 = 4;

/// What the application needs before it can answer anything.
struct Catalogue {
    records: Vec<u64>,
    /// Some records in the order of their values, with their places.
    index: Vec<(u64, usize)>,
}

impl Catalogue {
    fn load() -> Self {
        let hasher = BuildHasherDefault::<DefaultHasher>::new();
        let records: Vec<u64> = (0..RECORDS).map(|n| hasher.hash_one(n)).collect();
        let places = (0..records.len()).step_by(INDEXED);
        let mut index: Vec<_> = places.map(|place| (records[place], place)).collect();
        index.sort_unstable();
        Self { records, index }
    }

    /// The record of that place and the place that the index has for its value.
    fn find(&self, place: usize) -> Option<(u64, usize)> {
        let record = *self.records.get(place)?;
        let found = self.index.binary_search_by_key(&record, |(value, _)| *value).ok()?;
        Some((record, self.index[found].1))
    }
}

fn load(app: &mut App) -> Result<(), Box<dyn Error>> {
    let catalogue = Catalogue::load();
    app.typed("find", move |_, place| catalogue.find(place).ok_or("not in the index".to_owned()));
    Ok(())
}

/// What it costs to have the workers.
struct Cost {
    until_served: Duration,
    until_answered: Duration,
    /// Of the master, the template and the workers; shared pages are divided by their sharers.
    pss: u64,
    /// Of a worker, in the mean.
    private: u64,
    shared: u64,
}

fn measure(launcher: Launcher) -> Result<Cost, Box<dyn Error>> {
    let start = Instant::now();
    let cluster = Cluster::builder().workers(WORKERS).threads(1, 3).launcher(launcher).build()?;
    let until_served = start.elapsed();
    let place = INDEXED * 1000;
    let (_, found): (u64, usize) = cluster.call("find", &place)?.wait()?;
    let until_answered = start.elapsed();
    assert_eq!(found, place, "the index leads back to the record");

    let snapshot = cluster.snapshot();
    let serving: Vec<u32> = cluster.stats().workers.iter().map(|worker| worker.pid).collect();
    let workers: Vec<_> = snapshot
        .processes
        .iter()
        .filter(|process| serving.contains(&process.pid))
        .filter_map(|process| process.memory)
        .collect();
    let mean = |bytes: u64| bytes / workers.len().max(1) as u64;
    Ok(Cost {
        until_served,
        until_answered,
        pss: snapshot.pss_bytes(),
        private: mean(workers.iter().map(|memory| memory.private_bytes).sum()),
        shared: mean(workers.iter().map(|memory| memory.shared_bytes).sum()),
    })
}

fn main() -> Result<(), Box<dyn Error>> {
    gvl_lab::init(load);
    let exec = measure(Launcher::exec())?;
    let fork = measure(Launcher::fork())?;

    println!("{WORKERS} workers, each with a table of {} MiB and its index\n", RECORDS >> 17);
    println!("{:<28}{:>10}{:>10}{:>14}", "", "exec", "fork", "fork / exec");
    let row = |what: &str, figure: fn(&Cost) -> f64| {
        let (exec, fork) = (figure(&exec), figure(&fork));
        println!("{what:<28}{exec:>10.1}{fork:>10.1}{:>14.2}", fork / exec);
    };
    row("until all serve, ms", |cost| ms(cost.until_served));
    row("until the first answer, ms", |cost| ms(cost.until_answered));
    row("all processes (PSS), MiB", |cost| mib(cost.pss));
    row("a worker, private, MiB", |cost| mib(cost.private));
    row("a worker, shared, MiB", |cost| mib(cost.shared));
    Ok(())
}

fn ms(duration: Duration) -> f64 {
    duration.as_secs_f64() * 1e3
}

fn mib(bytes: u64) -> f64 {
    bytes as f64 / f64::from(1 << 20)
}
