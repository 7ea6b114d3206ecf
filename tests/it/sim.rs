//! The simulator from outside: the same bytes everywhere, and no machine but the one described.

use crate::command::Folder;
use gvl_lab::load::closed;
use gvl_lab::model::puma;
use gvl_lab::workload::{cpu, ms};
use gvl_lab::{Engine, Experiment, RunOptions};

const GOLDEN: &str = include_str!("golden/sim.toml");
const EXPECTED: &str = include_str!("golden/sim.csv");

fn golden(args: &[&str]) -> String {
    let folder = Folder::with("golden.toml", GOLDEN);
    let ran = folder.run(&[&["run", "golden.toml", "--engine", "sim"], args].concat());
    assert_eq!((ran.status, ran.err.as_str()), (Some(0), ""));
    ran.out
}

/// Made once, on x86_64 Linux; a change of the model or of its defaults makes it anew:
/// `gvl-lab run tests/it/golden/sim.toml --engine sim --csv > tests/it/golden/sim.csv`.
#[test]
fn a_spec_and_a_seed_give_the_same_bytes_everywhere() {
    assert_eq!(golden(&["--csv"]), EXPECTED);
}

#[test]
fn what_is_run_twice_is_the_same_to_the_byte() {
    assert_eq!(golden(&["--json"]), golden(&["--json"]));
    assert_ne!(golden(&["--csv", "--seed", "8"]), EXPECTED);
}

#[test]
fn the_library_gives_what_the_command_gives() {
    let report = Experiment::from_toml(GOLDEN).unwrap().run(Engine::Sim).unwrap();
    let json = serde_json::to_value(&report).unwrap();
    let printed: serde_json::Value = serde_json::from_str(&golden(&["--json"])).unwrap();
    assert_eq!(json, printed);
}

#[test]
fn a_fleet_is_answered_for_by_a_laptop() {
    let experiment = Experiment::new(puma().workers(64).threads(2)).workload([cpu(ms(10))]);
    let experiment = experiment.load(closed(128).duration(ms(2000))).cores(64);
    let report = experiment.run(Engine::Sim).unwrap();
    let row = &report.rows[0];
    assert_eq!((report.machine.cores, row.processes.len()), (64, 64));
    // 64 cores at 10 ms each; the first and the last requests are cut off.
    assert!(row.throughput_rps.is_some_and(|rps| rps > 6200.0 && rps <= 6400.0), "{row:?}");
}

#[test]
fn simulated_processes_are_not_looked_at() {
    let experiment = Experiment::new(puma()).workload([cpu(ms(1))]);
    let experiment = experiment.load(closed(1).requests(1));
    let error = experiment.run_with(Engine::Sim, RunOptions::new().snapshots(true)).unwrap_err();
    assert!(error.to_string().starts_with("snapshots: true is not allowed"), "{error}");
    let folder = Folder::with("golden.toml", GOLDEN);
    let ran = folder.run(&["run", "golden.toml", "--engine", "sim", "--ps"]);
    assert_eq!(ran.status, Some(2));
    assert!(ran.err.contains("'--ps' cannot be used with '--engine sim'"), "{}", ran.err);
}

/// What `calibrate` prints is a machine to simulate.
#[test]
fn this_machine_can_be_simulated() {
    let folder = Folder::with("golden.toml", GOLDEN);
    let calibrated = folder.run(&["calibrate"]);
    assert_eq!((calibrated.status, calibrated.err.as_str()), (Some(0), ""));
    folder.write("machine.toml", &calibrated.out);
    let machine = ["--engine", "sim", "--machine", "machine.toml"];
    let ran = folder.run(&[&["run", "golden.toml", "--json"], &machine[..]].concat());
    assert_eq!((ran.status, ran.err.as_str()), (Some(0), ""));
    let json: serde_json::Value = serde_json::from_str(&ran.out).unwrap();
    let toml: toml::Table = calibrated.out.parse().unwrap();
    let cores = toml["machine"]["cores"].as_integer();
    assert_eq!(json["machine"]["cores"].as_i64(), cores);
    let swept = ["sweep", "golden.toml", "--set", "repeat=1", "--machine", "machine.toml"];
    assert_eq!(folder.run(&swept).status, Some(0));
    // Only the simulator has a machine of its own.
    let ran = folder.run(&["run", "golden.toml", "--machine", "machine.toml"]);
    assert_eq!(ran.status, Some(2));
    let ran = folder.run(&["run", "golden.toml", "--engine", "sim", "--machine", "none.toml"]);
    assert_eq!(ran.status, Some(2));
    assert!(ran.err.starts_with("none.toml: "), "{}", ran.err);
}

/// Bad machines, one line each.
#[test]
fn a_machine_is_checked() {
    let folder = Folder::new();
    for (machine, expected) in [
        (
            "cores = 0",
            "x.toml: machine.cores: 0 is not allowed, expected a whole number in 1..=4096",
        ),
        (
            "switch = 5",
            "x.toml: machine.switch: 5 is not allowed, expected a duration from 0s to 100ms with a unit, \
             such as \"10us\"",
        ),
        (
            "wake = '1s'",
            "x.toml: machine.wake: \"1s\" is not allowed, expected 100ms at most in the mean",
        ),
        (
            "slice = '1us'",
            "x.toml: machine.slice: \"1us\" is not allowed, expected a duration from 10us to 1s with a \
             unit, such as \"10us\"",
        ),
        (
            "speed = 2",
            "x.toml: machine.speed: this key is not allowed, expected one of cores, wake, switch, slice, \
             together, client, receive, answer, quota, quota_period, somaxconn",
        ),
    ] {
        folder.write(
            "x.toml",
            format!(
                "machine = {{ {machine} }}\nworkload = {{ steps = [{{ cpu = '1ms' }}] }}\n\
                 load = {{ closed = {{ users = 1, requests = 1 }} }}\nmodel = [{{ puma = {{}} }}]\n"
            ),
        );
        let ran = folder.run(&["run", "x.toml", "--engine", "sim"]);
        assert_eq!((ran.status, ran.err.trim()), (Some(2), expected));
    }
}
