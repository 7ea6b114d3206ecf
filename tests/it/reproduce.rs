//! Published rows come out of the simulator, all of them from what one request alone took.
//!
//! `examples/reproduce` says what was assumed. Means and ranges are of fixed seeds: the same everywhere.

use crate::command::Folder;
use crate::examples::experiment;
use gvl_lab::reproduce::{ReproducedRow, Reproduction};

fn reproduced(name: &str, runs: u32) -> Vec<ReproducedRow> {
    Reproduction::run(&experiment(name), runs, &|_| {}).expect("it can be simulated").rows
}

/// The row of a size, such as `4x3`, alone.
fn one(name: &str, size: &str, runs: u32) -> ReproducedRow {
    let mut experiment = experiment(name);
    experiment.models.retain(|entry| {
        let topology = entry.model.topology();
        format!("{}x{}", topology.workers, topology.threads) == size
    });
    Reproduction::run(&experiment, runs, &|_| {}).expect("it can be simulated").rows.remove(0)
}

fn check(row: &ReproducedRow, key: &str, within_pct: f64) {
    let figure = row.figure(key).unwrap_or_else(|| panic!("{}: {key}", row.title()));
    let error = figure.error_pct.unwrap_or_else(|| panic!("{figure:?}"));
    assert!(error.abs() <= within_pct, "{}: {figure:?}", row.title());
}

#[test]
fn rows_of_io_come_out_within_5_percent() {
    for (name, rows) in [("io-24", 3), ("io-120", 4), ("io-development", 3)] {
        let reproduced = reproduced(&format!("puma-rails-2026-{name}"), 30);
        assert_eq!(reproduced.len(), rows);
        reproduced.iter().for_each(|row| check(row, "throughput_rps", 5.0));
    }
    for row in reproduced("puma-locust-2026-io", 50) {
        let figures: Vec<_> = row.figures.iter().map(|figure| figure.key.clone()).collect();
        for key in figures.iter().filter(|_| row.workers == 0) {
            check(&row, key, 5.0);
        }
        // Six slots in two processes are only filled by users who are spread evenly.
        for key in ["requests", "avg_ms", "throughput_rps"] {
            let figure = row.figure(key).unwrap();
            assert!(row.workers == 0 || figure.is_in_range(), "{figure:?}");
        }
    }
}

#[test]
fn rows_of_cpu_in_one_process_come_out_within_10_percent() {
    for row in reproduced("puma-rails-2026-cpu-24", 30).iter().filter(|row| row.workers == 0) {
        check(row, "throughput_rps", 10.0);
    }
}

#[test]
fn twenty_four_users_limit_forty_eight_slots() {
    let row = one("puma-rails-2026-io-120", "4x12", 2);
    assert!(row.warnings.contains(&"load limited"), "{:?}", row.warnings);
    assert!(row.cause.unwrap().starts_with("load limited: 24 users cannot fill 48 slots"));
}

#[test]
fn uneven_accepts_explain_four_workers_that_compute() {
    let row = one("puma-rails-2026-cpu-24", "4x3", 200);
    let figure = row.figure("throughput_rps").unwrap();
    assert!(figure.is_in_range(), "{figure:?}");
    let cause = row.cause.unwrap();
    assert!(cause.starts_with("uneven accepts over a short run: of 24 requests"), "{cause}");
}

#[test]
fn users_that_stick_to_workers_explain_a_median_far_below_the_mean() {
    let row = one("puma-locust-2026-cpu", "2x3", 200);
    for key in ["requests", "avg_ms", "median_ms", "min_ms", "throughput_rps"] {
        let figure = row.figure(key).unwrap();
        assert!(figure.is_in_range(), "{figure:?}");
    }
    assert!(row.cause.unwrap().starts_with("users stick to the worker"));
}

#[test]
fn what_was_all_failures_has_no_throughput() {
    for row in reproduced("siege-2013-failing", 2) {
        assert_eq!(row.figure("ok").unwrap().mean, Some(0.0));
        assert_eq!(row.figure("availability_pct").unwrap().mean, Some(0.0));
        assert!(row.cause.unwrap().starts_with("no success: "));
    }
}

#[test]
fn the_command_works_in_any_folder() {
    let folder = Folder::new();
    let ran = folder.run(&["reproduce", "--runs", "2"]);
    assert_eq!((ran.status, ran.err.as_str()), (Some(0), ""));
    for expected in [
        "puma-rails-2026: cpu, 24 requests at 12\n(2 runs)",
        "| puma 0x1 | reported_rps |      16.3 |",
        "puma 0x1: impossible: published reported_rps 16.3 rps is above the ceiling of 10 rps",
        "\nnot simulated:\npuma-rails-2026: time to the first successful request: 0.98 s",
    ] {
        assert!(ran.out.contains(expected), "{expected}: {}", ran.out);
    }
    let json = folder.run(&["reproduce", "--runs", "2", "--json"]).out;
    let json: serde_json::Value = serde_json::from_str(&json).unwrap();
    assert_eq!(json["experiments"].as_array().map(Vec::len), Some(9));
    let row = &json["experiments"][1]["rows"][3];
    assert_eq!((row["workers"].as_u64(), row["threads"].as_u64()), (Some(4), Some(3)));
    assert_eq!(row["figures"][0]["published"].as_f64(), Some(148.4));
    assert_eq!(json["not_simulated"].as_array().map(Vec::len), Some(2));
    assert_eq!(folder.run(&["reproduce", "--runs", "1"]).status, Some(2));
}
