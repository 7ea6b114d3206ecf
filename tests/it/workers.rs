//! Models with worker processes: through the command, which can be a worker, and through the library
//! in this program, which cannot.

use crate::command::Folder;
use gvl_lab::load::{Load, closed};
use gvl_lab::model::{Model, gunicorn, puma, uvicorn};
use gvl_lab::workload::{io, us};
use gvl_lab::{Engine, ErrorKind, Experiment};
use serde_json::Value as Json;

/// Each way of handing requests over; the number of workers is the second number here.
const MODELS: [(&str, u64); 15] = [
    ("puma = { workers = 2, threads = 3 }", 2),
    ("puma = { workers = 3, threads = 2, version = '7.0.4' }", 3),
    ("puma = { workers = 1, threads = 2 }", 1),
    ("unicorn = { workers = 3 }", 3),
    ("pitchfork = { workers = 2 }", 2),
    ("nginx = { policy = 'least-conn', server = { puma = { threads = 2 } } }", 2),
    ("nginx = { backends = 3, server = { uvicorn = {} } }", 3),
    (
        "custom = { workers = 3, threads = 2, accept = { only_when_free = true, \
         backoff = { until_one_ends = '5ms' }, between = { then = 'watch', requests_max = 3 } } }",
        3,
    ),
    ("gunicorn = { workers = 2 }", 2),
    ("gunicorn = { workers = 2, threads = 3, worker_class = 'gthread' }", 2),
    ("gunicorn = { worker_class = 'uvicorn' }", 1),
    ("uvicorn = { workers = 2 }", 2),
    ("uvicorn = { workers = 2, handlers = 'def' }", 2),
    // As many as users: a process is its connection's as long as that is kept.
    ("apache = { mpm = 'prefork', workers = 6 }", 6),
    ("pool = { workers = 2, threads = 3 }", 2),
];

const REQUESTS: u64 = 60;

/// Runs all models on a load and hands over each row with its number of workers.
fn check(connections: &str, repeat: u64, each: impl Fn(&Json, u64)) {
    let models = MODELS.map(|(model, _)| format!("[[model]]\n{model}\n")).concat();
    let text = format!(
        "repeat = {repeat}\n[workload]\nsteps = [{{ cpu = '100us' }}, {{ io = '1ms' }}]\n[load]\n\
         closed = {{ users = 6, requests = {REQUESTS} }}\nconnections = '{connections}'\n{models}"
    );
    let ran = Folder::with("x.toml", text).run(&["run", "x.toml", "--json"]);
    assert_eq!((ran.status, ran.err.as_str()), (Some(0), ""));
    let json: Json = serde_json::from_str(&ran.out).expect("one document");
    for (n, (_, workers)) in MODELS.into_iter().enumerate() {
        let row = &json["rows"][n];
        assert_eq!(row["ok"], REQUESTS * repeat, "{row}");
        assert_eq!(row["failed"], serde_json::json!({}), "{row}");
        each(row, workers);
    }
}

/// Every attempt takes longer than its client waits; or none does.
#[test]
fn clients_of_workers_give_up() {
    let models = MODELS.map(|(model, _)| format!("[[model]]\n{model}\n")).concat();
    for connections in ["new", "keep-alive"] {
        for (timeout, ok, retries) in [("300us", 0, 24), ("1h", 12, 0)] {
            let text = format!(
                "[workload]\nsteps = [{{ io = '3ms' }}]\n[load]\nconnections = '{connections}'\n\
                 timeout = '{timeout}'\nretries = 2\nretry_after = '100us'\n\
                 closed = {{ users = 6, requests = 12 }}\n{models}"
            );
            let ran = Folder::with("x.toml", text).run(&["run", "x.toml", "--json"]);
            let status = if ok == 0 { 1 } else { 0 };
            assert_eq!((ran.status, ran.err.as_str()), (Some(status), ""));
            let json: Json = serde_json::from_str(&ran.out).expect("one document");
            for (n, (model, _)) in MODELS.into_iter().enumerate() {
                let row = &json["rows"][n];
                assert_eq!((&row["ok"], &row["requests"]), (&ok.into(), &12.into()), "{row}");
                let clients = &row["clients"];
                assert_eq!(clients["retries"], retries, "{row}");
                let count = |key: &str| clients[key].as_u64().expect("a count");
                assert_eq!(count("abandoned") + count("discarded"), 36 - 3 * ok, "{row}");
                assert!(model.contains("puma") || count("discarded") == 0, "{model}: {row}");
            }
        }
    }
}

/// A connection that its client has left is closed once it is answered: a process that keeps its thread for
/// the next request, for 5 s, is free for another connection.
#[test]
fn a_connection_that_was_left_holds_no_thread() {
    let text = "[workload]\nsteps = [{ io = '3ms' }]\n[load]\nconnections = 'keep-alive'\n\
                timeout = '300us'\nclosed = { users = 1, duration = '3s' }\n[[model]]\n\
                apache = { mpm = 'prefork', workers = 1 }\n";
    let ran = Folder::with("x.toml", text).run(&["run", "x.toml", "--json"]);
    assert_eq!((ran.status, ran.err.as_str()), (Some(1), ""));
    let json: Json = serde_json::from_str(&ran.out).expect("one document");
    let abandoned = json["rows"][0]["clients"]["abandoned"].as_u64();
    assert!(abandoned > Some(1), "{abandoned:?}");
}

/// Workers accept from a Unix socket, whose backlog is another thing.
#[test]
fn a_backlog_is_for_the_simulator() {
    let text = "[workload]\nsteps = [{ io = '1ms' }]\n[load]\n\
                closed = { users = 1, requests = 1 }\n[[model]]\npool = {}\n[[model]]\n\
                unicorn = { backlog = 5 }\n";
    let folder = Folder::with("x.toml", text);
    let ran = folder.run(&["run", "x.toml"]);
    assert_eq!(ran.status, Some(2));
    let expected =
        "model[1].unicorn.backlog: 5 is not allowed, expected no backlog on the real engine";
    assert!(ran.err.contains(expected), "{}", ran.err);
    assert_eq!(folder.run(&["run", "x.toml", "--engine", "sim"]).status, Some(0));
}

fn sum(counts: impl Iterator<Item = u64>) -> Json {
    counts.sum::<u64>().into()
}

#[test]
fn every_worker_is_told_and_all_requests_are_theirs() {
    for connections in ["new", "keep-alive"] {
        check(connections, 1, |row, workers| {
            let processes = row["processes"].as_object().expect("answers by process");
            assert_eq!(processes.len() as u64, workers, "{row}");
            assert_eq!(sum(processes.values().filter_map(Json::as_u64)), row["ok"]);
            let by_worker = row["by_worker"].as_array().cloned().unwrap_or_default();
            if workers == 1 {
                assert!(by_worker.is_empty(), "a single worker is the row itself");
                return;
            }
            let numbers: Vec<_> = by_worker.iter().filter_map(|w| w["worker"].as_u64()).collect();
            assert_eq!(numbers, (0..workers).collect::<Vec<_>>());
            assert_eq!(sum(by_worker.iter().filter_map(|w| w["ok"].as_u64())), row["ok"]);
            for worker in by_worker {
                let pid = worker["pids"][0].to_string();
                assert_eq!(processes.get(&pid), Some(&worker["ok"]), "{row}");
            }
        });
    }
}

#[test]
fn replications_have_processes_of_their_own() {
    check("new", 2, |row, workers| {
        let processes = row["processes"].as_object().expect("answers by process");
        assert_eq!(processes.len() as u64, 2 * workers, "{row}");
        for worker in row["by_worker"].as_array().into_iter().flatten() {
            assert_eq!(worker["pids"].as_array().map(Vec::len), Some(2), "{row}");
        }
    });
}

#[test]
fn a_seed_decides_what_is_asked_of_workers_too() {
    // What all requests asked for is behind the ceilings, to the nanosecond.
    let ceilings = |model: &str| {
        let text = format!(
            "[workload]\nsteps = [{{ cpu = 'exp(100us)' }}, {{ io = 'exp(1ms)' }}]\n[load]\n\
             closed = {{ users = 6, requests = 60 }}\n[[model]]\n{model}"
        );
        let ran = Folder::with("x.toml", text).run(&["run", "x.toml", "--json", "--seed", "7"]);
        let json: Json = serde_json::from_str(&ran.out).expect("one document");
        json["rows"][0]["ceilings"].as_array().expect("ceilings")[0].clone()
    };
    let slots = ceilings("pool = { workers = 0, threads = 6 }");
    assert_eq!(ceilings("pool = { workers = 2, threads = 3 }"), slots);
    assert_eq!(ceilings("puma = { workers = 3, threads = 2 }"), slots);
}

#[test]
fn failures_of_workers_are_counted_by_kind() {
    let text = "[workload]\nsteps = [{ fail = 503 }]\n[load]\n\
                closed = { users = 4, requests = 40 }\n[[model]]\nunicorn = { workers = 2 }";
    let ran = Folder::with("x.toml", text).run(&["run", "x.toml", "--json"]);
    let json: Json = serde_json::from_str(&ran.out).expect("one document");
    assert_eq!(ran.status, Some(1));
    let row = &json["rows"][0];
    assert_eq!((&row["ok"], &row["failed"]), (&0.into(), &serde_json::json!({ "status 503": 40 })));
    let failed = row["by_worker"].as_array().expect("two workers").iter();
    assert_eq!(sum(failed.filter_map(|w| w["failed"]["status 503"].as_u64())), 40);
}

/// libtest has the main function of this program, and it has no first line of ours.
#[test]
fn a_program_that_cannot_be_a_worker_is_told_what_to_do() {
    let load: Load = closed(2).requests(4);
    for model in [Model::from(puma().workers(2)), uvicorn().workers(2).into(), gunicorn().into()] {
        let experiment = Experiment::new(model).workload([io(us(10))]).load(load.clone());
        assert_eq!(experiment.check_for(Engine::Real), Ok(()));
        let error = experiment.run(Engine::Real).expect_err("no worker can come of this program");
        assert_eq!(error.kind(), ErrorKind::Failed, "{error}");
        assert!(error.to_string().contains("gvl_lab::init"), "{error}");
        assert_eq!(error.to_string().lines().count(), 1, "{error}");
    }
}
