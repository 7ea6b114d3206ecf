//! What a database takes of the connections of all processes.

use super::{run, servers};
use crate::experiment::Experiment;
use crate::load::closed;
use crate::machine::Machine;
use crate::measure::DatabaseUse;
use crate::model::{pool, puma, uvicorn};
use crate::run::Engine;
use crate::workload::{Pool, Workload, checkout, io, ms};
use std::time::Duration;

const KIND: &str = "too many connections";

fn workload(size: u32, max_connections: u32) -> Workload {
    let workload = Workload::from([checkout("db", [io(ms(10))])]);
    workload.pool(Pool::new("db", size).max_connections(max_connections))
}

/// Of five that come together, three find the database full and fail at once; connections stay open and
/// are used again.
#[test]
fn who_needs_one_more_is_refused_at_once() {
    let five = closed(5).requests(5);
    let refused = run(servers(5), &workload(5, 2), &five, &Machine::ideal(5), 1);
    let all = refused.overall("all");
    assert_eq!((all.ok(), all.failed.get(KIND)), (2, Some(&3)));
    assert_eq!(all.failed_latency.max(), Some(Duration::ZERO));
    let used = DatabaseUse { max: 2, opened: 2, refused: 3 };
    assert_eq!(refused.pools[0].database, Some(used));

    let one_by_one = closed(1).requests(50);
    let reused = run(servers(5), &workload(5, 2), &one_by_one, &Machine::ideal(5), 1);
    assert_eq!(reused.overall("all").ok(), 50);
    let used = DatabaseUse { max: 2, opened: 1, refused: 0 };
    assert_eq!(reused.pools[0].database, Some(used));
}

/// A pool that is smaller waits instead, and its processes share what the database takes.
#[test]
fn all_processes_share_what_the_database_takes() {
    let load = closed(12).requests(400);
    let with = |workers, size, max| {
        let model = pool().workers(workers).threads(3);
        run(model, &workload(size, max), &load, &Machine::ideal(12), 1)
    };
    let fits = with(4, 3, 12);
    assert_eq!(fits.overall("all").failures(), 0);
    assert_eq!(fits.pools[0].database, Some(DatabaseUse { max: 12, opened: 12, refused: 0 }));
    // The last process gets none: each of its requests fails.
    let full = with(4, 3, 9);
    let (all, database) = (full.overall("all"), full.pools[0].database.unwrap());
    assert_eq!((database.opened, Some(&database.refused)), (9, all.failed.get(KIND)));
    assert!(database.refused >= 3 && all.ok() + database.refused == 400);
    let small = with(4, 2, 9);
    assert_eq!(small.overall("all").failures(), 0);
    assert_eq!(small.pools[0].database.map(|used| used.opened), Some(8));
}

/// A handler on a loop is refused alike.
#[test]
fn an_async_handler_is_refused() {
    let load = closed(5).requests(5);
    let all = run(uvicorn(), &workload(5, 2), &load, &Machine::ideal(5), 1).overall("all");
    assert_eq!((all.ok(), all.failed.get(KIND)), (2, Some(&3)));
}

#[test]
fn the_report_tells_it_and_the_real_engine_refuses_what_would_bind() {
    let of = |max| {
        let experiment = Experiment::new(puma().workers(2).threads(5));
        experiment.workload(workload(5, max)).load(closed(6).requests(60))
    };
    let row = of(8).run(Engine::Sim).unwrap().rows.remove(0);
    assert!(row.warnings.iter().any(|warning| warning.kind == KIND), "{:?}", row.warnings);
    assert_eq!((row.pools[0].size, row.pools[0].max_connections), (5, 8));
    assert!((2..=8).contains(&row.pools[0].opened), "{:?}", row.pools);
    assert_eq!(
        of(8).check_for(Engine::Real).unwrap_err().to_string(),
        "workload.pools.db.max_connections: 8 is not allowed, expected 10 or more on the real \
         engine, whose 2 processes do not count their connections together, or the simulator"
    );
    of(10).check_for(Engine::Real).unwrap();
}
