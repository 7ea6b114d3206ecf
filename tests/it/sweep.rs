//! Sweeps from outside: the grid, its order, its views, and what is wrong with it.

use crate::command::{Folder, Ran};
use serde_json::Value as Json;

const PAGE: &str = "
name = 'page'
workload = { steps = [{ cpu = '2ms' }, { io = '18ms' }] }
load = { closed = { users = 24, requests = 400 } }
model = [{ puma = {} }, { puma = { version = '6.6.1' } }]
";

fn sweep(args: &[&str]) -> Ran {
    Folder::with("page.toml", PAGE).run(&[&["sweep", "page.toml"], args].concat())
}

#[test]
fn the_grid_has_all_combinations_in_order() {
    let ran = sweep(&["--set", "model.workers=1,2", "--set", "model.threads=1..3", "--json"]);
    assert_eq!((ran.status, ran.err.as_str()), (Some(0), ""));
    let json: Json = serde_json::from_str(&ran.out).unwrap();
    assert_eq!(json["axes"], serde_json::json!(["model.workers", "model.threads"]));
    let points = json["points"].as_array().unwrap();
    let shapes: Vec<_> = points
        .iter()
        .flat_map(|point| point["rows"].as_array().unwrap())
        .map(|row| (row["workers"].as_u64().unwrap(), row["threads"].as_u64().unwrap()))
        .collect();
    let grid: Vec<_> = [1, 2].iter().flat_map(|w| [1, 1, 2, 2, 3, 3].map(|t| (*w, t))).collect();
    assert_eq!(shapes, grid);
    assert_eq!(points[5]["set"], serde_json::json!({"model.workers": 2, "model.threads": 3}));
    // Six slots of 20 ms: more of them serve more.
    let rps = |n: usize| points[n]["rows"][0]["throughput_rps"].as_f64().unwrap();
    assert!(rps(0) < rps(1) && rps(1) < rps(2) && rps(2) < rps(5), "{} {}", rps(0), rps(5));
}

#[test]
fn a_sweep_is_the_runs_that_it_stands_for() {
    let swept = sweep(&["--set", "seed=5", "--set", "model.threads=3", "--json"]);
    let swept: Json = serde_json::from_str(&swept.out).unwrap();
    let alone = PAGE.replace("{ puma = {} }", "{ puma = { threads = 3 } }");
    let alone = alone.replace("version = '6.6.1'", "version = '6.6.1', threads = 3");
    let ran = Folder::with("page.toml", format!("seed = 5\n{alone}")).run(&[
        "run",
        "page.toml",
        "--engine",
        "sim",
        "--json",
    ]);
    let ran: Json = serde_json::from_str(&ran.out).unwrap();
    assert_eq!(swept["points"][0]["rows"], ran["rows"]);
}

#[test]
fn csv_has_a_record_a_point_and_model() {
    let ran = sweep(&["--set", "load.closed.users=1..4", "--csv"]);
    let mut reader = csv::Reader::from_reader(ran.out.as_bytes());
    let users: Vec<String> = reader.records().map(|r| r.unwrap()[0].to_owned()).collect();
    assert_eq!(users, ["1", "1", "2", "2", "3", "3", "4", "4"]);
    let table = sweep(&["--set", "load.closed.users=1..4"]).out;
    assert_eq!(table.lines().filter(|line| line.contains("puma")).count(), 8, "{table}");
}

#[test]
fn mistakes_name_the_point() {
    for (set, expected) in [
        (
            "model.threads=1,0",
            "page.toml: set model.threads=0: model[0].puma.threads: 0 is not allowed, expected a whole \
             number in 1..=1024\npage.toml: set model.threads=0: model[1].puma.threads: 0 is not allowed",
        ),
        (
            "model.threads",
            "page.toml: set: model.threads is not allowed, expected a path and values",
        ),
        ("model[7].threads=1", "page.toml: set: model[7].threads is not allowed, expected a place"),
        (
            "seed=1..200",
            "page.toml: set: 3 axes is not allowed, expected at least one axis, and at most",
        ),
    ] {
        let many = ["--set", "repeat=1..100", "--set", "load.closed.users=1..100"];
        let more: &[&str] = if set.starts_with("seed") { &many } else { &[] };
        let ran = sweep(&[&["--set", set], more].concat());
        assert_eq!(ran.status, Some(2), "{set}");
        assert!(ran.err.starts_with(expected), "{}", ran.err);
    }
    assert_eq!(sweep(&[]).status, Some(2));
}

#[test]
fn csv_has_the_spread_of_the_replications() {
    let ran = sweep(&["--set", "model.threads=1,2", "--set", "repeat=1,5", "--csv"]);
    let mut reader = csv::Reader::from_reader(ran.out.as_bytes());
    let records: Vec<std::collections::BTreeMap<String, String>> =
        reader.deserialize().collect::<Result<_, _>>().unwrap();
    assert_eq!(records.len(), 8);
    for record in records {
        let several = record["repeat"] == "5";
        assert_eq!(&record["replications"], if several { "5" } else { "" });
        let figure = |name: &str| record[name].parse::<f64>().ok();
        for [low, middle, high] in [
            ["throughput_low", "throughput_rps", "throughput_high"],
            ["throughput_p5", "throughput_p5", "throughput_p95"],
            ["p99_low_ms", "p99_low_ms", "p99_high_ms"],
            ["p99_p5_ms", "p99_p5_ms", "p99_p95_ms"],
        ] {
            let bounds = figure(low).zip(figure(high));
            assert_eq!(bounds.is_some(), several, "{low}");
            let inside = |(low, high)| figure(middle).is_some_and(|x| (low..=high).contains(&x));
            assert!(bounds.is_none_or(inside), "{record:?}");
        }
        assert_eq!(record["error"], "");
    }
}

#[test]
fn parquet_is_for_those_who_build_it() {
    let ran = sweep(&["--set", "model.threads=1", "--parquet", "out.parquet"]);
    assert_eq!((ran.status, ran.out.as_str()), (Some(2), ""));
    let told = "'--parquet' cannot be used: this gvl-lab was built without it, build it with \
                '--features parquet'";
    assert!(ran.err.contains(told), "{}", ran.err);
}
