//! Timelines from outside: the files of `--trace`, worker processes, and both engines event by event.

use crate::command::Folder;
use gvl_lab::gvl::Gvl;
use gvl_lab::load::closed;
use gvl_lab::model::{Model, pool};
use gvl_lab::timeline::{Grant, Timeline, compare};
use gvl_lab::workload::{Endpoint, Workload, cpu, hold, io, ms};
use gvl_lab::{Engine, Experiment, RunOptions};
use serde_json::Value as Json;
use std::collections::BTreeMap;

const GOLDEN: &str = include_str!("golden/trace.toml");

/// Workers of threads and of loops, and a single process.
const WORKERS: &str = r#"
name = "workers"
[workload]
steps = [{ cpu = "200us" }, { io = "1ms" }, { cpu = "100us" }]
[load]
closed = { users = 6, requests = 60 }
[[model]]
puma = { workers = 2, threads = 2 }
[[model]]
uvicorn = { workers = 2, handlers = "def" }
[[model]]
gunicorn = { workers = 2 }
[[model]]
puma = { threads = 3 }
"#;

/// Made once, on x86_64 Linux; a change of the model or of the format makes them anew:
/// `gvl-lab run tests/it/golden/trace.toml --engine sim --trace tests/it/golden/trace.json --trace
/// tests/it/golden/trace.csv`.
#[test]
fn a_simulated_timeline_has_the_same_bytes_everywhere() {
    let folder = Folder::with("x.toml", GOLDEN);
    let ran =
        folder.run(&["run", "x.toml", "--engine", "sim", "--trace", "x.json", "--trace", "x.csv"]);
    assert_eq!((ran.status, ran.err.as_str()), (Some(0), ""));
    let written = |name| std::fs::read_to_string(folder.path().join(name)).unwrap();
    assert_eq!(written("x.json"), include_str!("golden/trace.json"));
    assert_eq!(written("x.csv"), include_str!("golden/trace.csv"));
    check_trace(&written("x.json"));
}

/// A slice of a track, in nanoseconds.
type Slice<'j> = (u64, u64, &'j str);

/// Checks a trace: who is who is told, phases have no gap, one holds a lock and one is on a core. Gives the
/// names of its processes, and what the slices of each are called.
fn check_trace(text: &str) -> Vec<(String, Vec<String>)> {
    let json: Json = serde_json::from_str(text).expect("a trace is JSON");
    let events = json["traceEvents"].as_array().expect("a list of events");
    let mut names = BTreeMap::new();
    let mut slices: BTreeMap<(u64, u64), Vec<Slice<'_>>> = BTreeMap::new();
    let mut begun = BTreeMap::new();
    for event in events {
        let number = |key: &str| event[key].as_u64().expect("a whole number");
        let ns = |key: &str| (event[key].as_f64().expect("a time") * 1000.0).round() as u64;
        let name = event["name"].as_str().expect("a name");
        let place = (number("pid"), number("tid"));
        match event["ph"].as_str() {
            Some("M") => {
                if name == "process_name" || name == "thread_name" {
                    let told = event["args"]["name"].as_str().expect("a name").to_owned();
                    assert_eq!(names.insert(place, told), None, "{event}");
                }
            }
            Some("X") => {
                assert!(names.contains_key(&place), "{event}");
                slices.entry(place).or_default().push((ns("ts"), ns("ts") + ns("dur"), name));
            }
            Some("b") => {
                let id = (place, event["id2"]["local"].to_string());
                assert_eq!(begun.insert(id, ns("ts")), None, "{event}");
            }
            Some("e") => {
                let id = (place, event["id2"]["local"].to_string());
                assert!(begun[&id] <= ns("ts"), "{event}");
            }
            other => panic!("{other:?}: {event}"),
        }
    }
    let mut held: BTreeMap<u64, Vec<(u64, u64)>> = BTreeMap::new();
    for ((pid, _), slices) in &slices {
        let on_core = names[&(*pid, 0)].ends_with(": cores");
        for two in slices.windows(2) {
            assert!(two[0].1 <= two[1].0, "{two:?}");
            assert!(on_core || two[0].1 == two[1].0, "a gap: {two:?}");
        }
        let holds = slices.iter().filter(|slice| slice.2 == "holding");
        held.entry(*pid).or_default().extend(holds.map(|(from, to, _)| (*from, *to)));
    }
    for spans in held.values_mut() {
        spans.sort_unstable();
        assert!(spans.windows(2).all(|two| two[0].1 <= two[1].0), "two hold the lock");
    }
    let processes = names.iter().filter(|((_, tid), _)| *tid == 0);
    let tracks = |pid: u64| {
        let tracks = names.iter().filter(|((of, tid), _)| *of == pid && *tid > 0);
        tracks.map(|(_, name)| name.clone()).collect()
    };
    processes.map(|((pid, _), name)| (name.clone(), tracks(*pid))).collect()
}

#[test]
fn every_worker_process_sends_its_timeline() {
    let folder = Folder::with("x.toml", WORKERS);
    let ran = folder.run(&["run", "x.toml", "--trace", "x.json", "--trace", "x.csv", "--json"]);
    assert_eq!((ran.status, ran.err.as_str()), (Some(0), ""));
    let report: Json = serde_json::from_str(&ran.out).expect("one document");
    assert!(report["rows"][0].get("timeline").is_none(), "the document has none");
    let trace = std::fs::read_to_string(folder.path().join("x.json")).unwrap();
    let processes = check_trace(&trace);
    let mut expected: Vec<String> = Vec::new();
    for row in report["rows"].as_array().unwrap() {
        let title = format!("{} {}x", row["model"].as_str().unwrap(), row["workers"]);
        let pids = row["by_worker"].as_array();
        match pids {
            Some(workers) => expected.extend(
                workers
                    .iter()
                    .map(|w| format!("{title} worker {} (pid {})", w["worker"], w["pids"][0])),
            ),
            None => {
                let pids = row["processes"].as_object().unwrap().keys();
                expected.extend(pids.map(|pid| format!("{title} (pid {pid})")));
            }
        }
    }
    assert_eq!(processes.len(), expected.len(), "{processes:?}");
    for ((name, _), expected) in processes.iter().zip(&expected) {
        let (title, who) = expected.split_once("x ").unwrap();
        assert!(name.starts_with(&format!("{title}x")) && name.ends_with(who), "{name} {expected}");
    }
    assert_eq!(processes[0].1, ["thread 0", "thread 1", "acceptor", "reactor"]);
    assert_eq!(processes[2].1[..2], ["loop", "offload 0"]);
    assert_eq!(processes.last().unwrap().1, ["thread 0", "thread 1", "thread 2"]);
    // Each request got the lock, twice where it had to wait or not.
    let mut csv = csv::Reader::from_path(folder.path().join("x.csv")).unwrap();
    let mut served: BTreeMap<String, Vec<u64>> = BTreeMap::new();
    for record in csv.records() {
        let record = record.unwrap();
        if let Ok(request) = record[1].parse() {
            served.entry(record[3].to_owned()).or_default().push(request);
        }
    }
    assert_eq!(served.len(), 4);
    for (row, mut requests) in served {
        requests.sort_unstable();
        requests.dedup();
        // A thread that takes its next request at once has the lock still.
        assert!(!requests.is_empty() && requests.iter().all(|n| *n < 60), "{row}: {requests:?}");
    }
}

#[test]
fn several_experiments_are_one_trace() {
    let folder = Folder::with("x.toml", GOLDEN);
    folder.write("y.toml", GOLDEN.replace("\"timeline\"", "\"again\""));
    let files = ["--trace", "x.json", "--trace", "x.csv"];
    let ran = folder.run(&[&["run", "x.toml", "y.toml", "--engine", "sim"], &files[..]].concat());
    assert_eq!((ran.status, ran.err.as_str()), (Some(0), ""));
    let processes = check_trace(&std::fs::read_to_string(folder.path().join("x.json")).unwrap());
    let of = |name: &str| processes.iter().filter(|(process, _)| process.starts_with(name)).count();
    // Four processes, and the cores of each of the three rows.
    assert_eq!((of("timeline: "), of("again: ")), (7, 7));
    let csv = std::fs::read_to_string(folder.path().join("x.csv")).unwrap();
    let lines = include_str!("golden/trace.csv").lines().count() - 1;
    assert_eq!((csv.lines().count(), csv.matches("worker,request").count()), (2 * lines + 1, 1));
}

#[test]
fn a_file_that_cannot_be_written_is_told_before_anything_runs() {
    let folder = Folder::with("x.toml", WORKERS);
    for (path, why) in [
        ("none/x.json", "No such file or directory (os error 2)"),
        (".", "Is a directory (os error 21)"),
    ] {
        let ran = folder.run(&["run", "x.toml", "--trace", path]);
        let told = format!("{path}: {why}, expected a file that can be written");
        assert_eq!((ran.status, ran.out.as_str(), ran.err.trim()), (Some(2), "", told.as_str()));
    }
    let ran = folder.run(&["run", "x.toml", "--trace", "/dev/full"]);
    assert_eq!((ran.status, ran.complaints().len()), (Some(2), 1), "{}", ran.err);
}

/// The timelines of both engines.
fn both(experiment: &Experiment) -> (Timeline, Timeline) {
    let run = |engine| {
        let report =
            experiment.run_with(engine, RunOptions::new().timeline(true)).expect("it runs");
        report.rows[0].timeline.clone().expect("it was told to record it")
    };
    (run(Engine::Sim), run(Engine::Real))
}

/// Runs users that come one after another, each of which holds the lock three tenths of a second and is away
/// for its own time in milliseconds; the order of grants has to be the same. What decides it is the queue:
/// whoever asks is a tenth of a second before or after the others.
fn check_order(lock: &str, away_ms: &[u64], requests: u64) {
    let users = away_ms.len() as u32;
    let model: Model = pool().threads(users).gvl(Gvl::named(lock).expect("a known lock")).into();
    let endpoint = |(n, away): (usize, &u64)| {
        Endpoint::new(format!("user {n}"), [hold(ms(300)), io(ms(*away))]).users(1)
    };
    let endpoints = away_ms.iter().enumerate().map(endpoint);
    let experiment = Experiment::new(model)
        .workload(endpoints.fold(Workload::new(), Workload::endpoint))
        .load(closed(users).spawn_rate(10.0).requests(requests));
    let (sim, real) = both(&experiment);
    let orders = compare(&sim, &real);
    let numbers = |grants: &[Grant<'_>]| -> Vec<u64> {
        grants.iter().filter_map(|grant| Some(grant.request?.number)).collect()
    };
    let (sim, real) = (numbers(&orders.one), numbers(&orders.other));
    assert!(sim.len() as u64 > requests, "{lock}: {sim:?}");
    assert_eq!((orders.differs_at, &sim), (None, &real), "{lock}");
}

/// Whoever comes back finds the others in line.
#[test]
fn a_lock_that_is_handed_over_passes_in_the_same_order_on_both_engines() {
    check_order("cruby-4.0", &[10, 10, 10], 9);
    check_order("cruby-3.3", &[10, 120, 10], 9);
}

/// Whoever kept the lock for longer than its quantum gives way when the call returns, and then leaves.
#[test]
fn a_lock_that_is_signalled_passes_in_the_same_order_on_both_engines() {
    check_order("cpython-3.13", &[100, 200], 4);
    check_order("cruby-3.1", &[100, 200], 4);
}

/// Slices are of real time, in which a busy machine computes less: how many there are may differ, whose
/// turn it is may not. Neither is done after its first slice, however late the timer is.
#[test]
fn pre_empted_threads_take_turns_on_both_engines() {
    let model: Model = pool().threads(2).gvl(Gvl::named("cruby-4.0").unwrap()).into();
    let experiment = Experiment::new(model)
        .workload([cpu(ms(450))])
        .load(closed(2).spawn_rate(20.0).requests(2));
    let (sim, real) = both(&experiment);
    for timeline in [&sim, &real] {
        let order: Vec<_> =
            timeline.grants().filter_map(|grant| Some(grant.request?.number)).collect();
        assert!(order.len() >= 4, "{order:?}");
        assert!(order[..4] == [0, 1, 0, 1], "{order:?}");
    }
    assert!(compare(&sim, &real).differs_at.is_none_or(|place| place >= 4));
}
