//! The experiment files: they parse, print and read back, and carry the published figures unchanged.

use gvl_lab::experiment::Entry;
use gvl_lab::load::{Arrivals, Pattern, Until};
use gvl_lab::{Engine, Experiment};
use std::collections::{BTreeSet, HashSet};
use std::path::PathBuf;
use toml::{Table, Value};

/// The folder `examples` of the workspace.
pub fn folder() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../examples")
}

/// A file of published figures.
pub fn reference(name: &str) -> Table {
    let path = folder().join("reference").join(name).with_extension("toml");
    std::fs::read_to_string(path).expect("published figures").parse().expect("a file of TOML")
}

/// What the folder `reproduce` has beside experiments.
const NOT_SIMULATED: &str = "not-simulated";

/// The experiment files, without their extension.
pub fn names() -> BTreeSet<String> {
    let mut names = names_in("experiments");
    names.extend(names_in("reproduce"));
    names.remove(NOT_SIMULATED);
    names
}

fn names_in(part: &str) -> BTreeSet<String> {
    let files = std::fs::read_dir(folder().join(part)).expect("the experiments");
    let stem = |file: std::io::Result<std::fs::DirEntry>| {
        let path = file.expect("a file").path();
        path.file_stem().expect("a name").to_string_lossy().into_owned()
    };
    files.map(stem).collect()
}

/// The experiment of a file.
pub fn experiment(name: &str) -> Experiment {
    let path = |part| folder().join(part).join(name).with_extension("toml");
    let (own, published) = (path("experiments"), path("reproduce"));
    let path = if own.exists() { own } else { published };
    Experiment::from_path(path).unwrap_or_else(|error| panic!("{name}: {error}"))
}

#[test]
fn every_file_reads_and_reads_back() {
    assert!(names().len() >= 17);
    for name in names() {
        let experiment = experiment(&name);
        assert_eq!(Experiment::from_toml(&experiment.to_toml()).as_ref(), Ok(&experiment));
        assert_eq!(Experiment::from_json(&experiment.to_json()).as_ref(), Ok(&experiment));
        assert_eq!(experiment.check(), Ok(()), "{name}");
    }
}

/// What is no figure of a published row: the server's shape, and what was seen beside.
const NO_FIGURES: [&str; 5] =
    ["workers", "threads", "in_flight_together", "server_time_ms", "processes_answering"];

/// Compares an experiment's published figures with one run of a reference file: its rows in order,
/// each figure under the key that it has there.
fn check_figures(name: &str, file: &str, run: usize) {
    let experiment = experiment(name);
    let published = reference(file);
    let run = &published["run"][run];
    let rows = run["rows"].as_array().expect("rows");
    assert_eq!(experiment.models.len(), rows.len(), "{name}");
    for (entry, row) in experiment.models.iter().zip(rows) {
        let row = row.as_table().expect("a row");
        let topology = entry.model.topology();
        assert_eq!(row["workers"].as_integer(), Some(topology.workers.into()), "{name}");
        assert_eq!(row["threads"].as_integer(), Some(topology.threads.into()), "{name}");
        let figures: Vec<_> =
            row.keys().filter(|key| !NO_FIGURES.contains(&key.as_str())).collect();
        assert_eq!(entry.published.len(), figures.len(), "{name}");
        for key in figures {
            assert_eq!(figure(entry, key), number(&row[key]), "{name}: {key}");
        }
    }
}

fn figure(entry: &Entry, key: &str) -> f64 {
    let found = entry.published.iter().find(|(name, _)| name == key);
    found.unwrap_or_else(|| panic!("no published {key}")).1
}

fn number(value: &Value) -> f64 {
    value.as_float().or(value.as_integer().map(|n| n as f64)).expect("a number")
}

#[test]
fn the_figures_of_puma_on_rails_are_the_published_ones() {
    for (name, run) in [
        ("puma-rails-2026-io-24", 0),
        ("puma-rails-2026-cpu-24", 1),
        ("puma-rails-2026-io-120", 2),
        ("puma-rails-2026-io-development", 3),
    ] {
        check_figures(name, "puma-rails-2026", run);
        let published = reference("puma-rails-2026");
        let run = &published["run"][run];
        let load = experiment(name).load;
        let requests = run["requests"].as_integer().map(|n| Until::Requests(n as u64));
        assert_eq!(load.until(), requests, "{name}");
        assert_eq!(load.users().map(i64::from), run["concurrency"].as_integer(), "{name}");
    }
    let impossible = experiment("impossible");
    let published = reference("puma-rails-2026");
    let claimed = &published["impossible"];
    assert_eq!(figure(&impossible.models[0], "reported_rps"), number(&claimed["reported_rps"]));
    let topology = impossible.models[0].model.topology();
    assert_eq!(claimed["threads"].as_integer(), Some(topology.threads.into()));
}

#[test]
fn the_figures_of_locust_are_the_published_ones() {
    check_figures("puma-locust-2026-io", "puma-locust-2026", 0);
    check_figures("puma-locust-2026-cpu", "puma-locust-2026", 1);
    let published = reference("puma-locust-2026");
    for name in ["puma-locust-2026-io", "puma-locust-2026-cpu"] {
        let load = experiment(name).load;
        let Pattern::Closed { users, spawn_rate, .. } = load.pattern else {
            panic!("{name}: a closed loop")
        };
        assert_eq!(published["load"]["users"].as_integer(), Some(users.into()));
        // Locust starts users in batches of its rate, here all of them.
        assert_eq!(published["load"]["spawn_rate_per_s"].as_integer(), Some(users.into()));
        assert_eq!(spawn_rate, None);
    }
}

#[test]
fn the_figures_of_siege_are_the_published_ones_in_milliseconds() {
    // The key here, the key there, and what it is multiplied by.
    let keys = [
        ("requests", "transactions", 1.0),
        ("ok", "transactions", 1.0),
        ("failed", "failed", 1.0),
        ("availability_pct", "availability_pct", 1.0),
        ("throughput_rps", "rate_tps", 1.0),
        ("concurrency", "concurrency", 1.0),
        ("avg_ms", "response_time_s", 1000.0),
        ("max_ms", "longest_s", 1000.0),
        ("min_ms", "shortest_s", 1000.0),
    ];
    let published = reference("siege-2013");
    for (n, (name, figures)) in
        [("siege-2013", 7), ("siege-2013-failing", 4)].into_iter().enumerate()
    {
        let experiment = experiment(name);
        let rows = published["run"][n]["rows"].as_array().expect("rows");
        assert_eq!(experiment.models.len(), rows.len(), "{name}");
        for (entry, row) in experiment.models.iter().zip(rows) {
            let server = row["server"].as_str().expect("a server");
            assert!(server.starts_with(entry.model.key()), "{server}");
            let workers = entry.model.topology().workers;
            assert_eq!(server.contains("workers"), workers > 0, "{server}");
            assert!(workers == 0 || server.contains(&format!(" {workers} ")), "{server}");
            assert_eq!(entry.published.len(), figures, "{name}");
            for (key, value) in &entry.published {
                let (_, there, scale) =
                    keys.iter().find(|(here, ..)| here == key).expect("a known figure");
                assert_eq!(*value, (number(&row[there]) * scale).round_to(2), "{name}: {key}");
            }
        }
        assert_eq!(experiment.load.users(), Some(5));
    }
}

trait RoundTo {
    fn round_to(self, decimals: i32) -> Self;
}

impl RoundTo for f64 {
    fn round_to(self, decimals: i32) -> Self {
        let scale = 10_f64.powi(decimals);
        (self * scale).round() / scale
    }
}

/// Clients that ask again leave the server no time for anybody; a short queue does.
#[test]
fn a_retry_storm_is_named_and_a_short_backlog_ends_it() {
    let report = experiment("retry-storm").run(Engine::Sim).unwrap();
    let (storms, short) = report.rows.split_at(3);
    for row in storms {
        let clients = row.clients.expect("a load with a timeout");
        assert!(row.throughput_rps < Some(30.0), "{row:?}");
        assert!(clients.abandoned_share > Some(0.7) && clients.retries > row.requests, "{row:?}");
        assert!(row.warnings.iter().any(|warning| warning.kind == "retry storm"), "{row:?}");
        assert_eq!(clients.discarded > 0, row.model == "puma", "{row:?}");
    }
    let short = &short[0];
    assert!(short.throughput_rps > Some(99.0), "{short:?}");
    assert_eq!(short.clients.unwrap().abandoned, 0);
    assert!(short.warnings.iter().all(|warning| warning.kind != "retry storm"), "{short:?}");
    assert!(short.warnings.iter().any(|warning| warning.kind == "backlog"), "{short:?}");
}

/// Whoever is dropped comes again a second later, and no latency is in between.
#[test]
fn a_full_backlog_makes_steps_of_seconds() {
    let report = experiment("backlog").run(Engine::Sim).unwrap();
    let [long, short] = &report.rows[..] else { panic!("two rows") };
    assert_eq!(long.backlog, None);
    assert!(long.latency_ms.max < Some(1000.0), "{long:?}");
    let backlog = short.backlog.expect("it is given");
    assert!(backlog.size == 16 && backlog.drops > 1000, "{backlog:?}");
    assert!(short.latency_ms.p95 < Some(500.0) && short.latency_ms.p99 > Some(1000.0));
    assert!(short.latency_ms.p999 > Some(3000.0), "{short:?}");
}

#[test]
fn no_published_figure_but_the_impossible_one_is_above_its_ceiling() {
    for name in names() {
        let experiment = experiment(&name);
        for entry in &experiment.models {
            let topology = entry.model.topology();
            let demand = experiment.workload.programs()[0].demand();
            let published = entry.published.iter().filter(|(key, _)| key.ends_with("_rps"));
            for (key, rps) in published {
                let slots = topology.slots.expect("a published server has slots") as f64;
                let bound = slots / demand.service.as_secs_f64();
                let locked = f64::from(topology.processes) / demand.locked.as_secs_f64();
                let possible = *rps <= bound.min(locked) * 1.03;
                assert_eq!(possible, name != "impossible", "{name}: {key}");
            }
        }
    }
}

#[test]
fn what_a_file_is_named_for_is_in_it() {
    let shape = |name: &str| {
        let experiment = experiment(name);
        let slots = experiment.models[0].model.topology().slots;
        (experiment.load.users().map(u64::from), slots, experiment.load.until())
    };
    assert_eq!(shape("load-limited"), (Some(24), Some(48), Some(Until::Requests(480))));
    assert_eq!(shape("short-sample"), (Some(12), Some(12), Some(Until::Requests(24))));
    let overloaded = experiment("overloaded-open-loop");
    let Pattern::Open { rate, arrivals, .. } = overloaded.load.pattern else {
        panic!("an open load")
    };
    let served = 3.0 / overloaded.workload.programs()[0].demand().service.as_secs_f64();
    assert!(arrivals == Arrivals::Poisson && rate > served);
    let ways: HashSet<_> = experiment("cluster-dispatch")
        .models
        .iter()
        .map(|entry| {
            let topology = entry.model.topology();
            assert!(topology.processes > 1, "{topology:?}");
            format!("{:?}", topology.dispatch)
        })
        .collect();
    assert_eq!(ways.len(), 7, "each row hands requests over in a way of its own");
    let mixed = experiment("mixed");
    let users: Vec<_> = mixed.workload.endpoints.iter().map(|e| (&*e.name, e.users)).collect();
    assert_eq!(users, [("io", Some(10)), ("cpu", Some(1))]);
}
