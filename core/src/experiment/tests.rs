//! The front door: documents, files and builders in, the same experiment or mistakes out.

use super::*;
use crate::cluster::balance::Policy;
use crate::error::ErrorKind;
use crate::load::{Load, WarmUp, closed, open};
use crate::machine::Machine;
use crate::model::{Model, Nginx, nginx, pool, puma};
use crate::workload::{Endpoint, Step, Workload, cpu, exp, io, ms, repeat};
use proptest::collection::vec;
use proptest::prelude::*;
use std::fs;
use std::path::PathBuf;

const SOUND: &str = "\
    workload = { steps = [{ cpu = '2ms' }] }\n\
    load = { closed = { users = 12, requests = 120 } }\n";

/// The mistakes of a document, one a line.
fn check(toml: &str, expected: &[&str]) {
    let error = Experiment::from_toml(toml).expect_err(toml).to_string();
    assert_eq!(error.lines().collect::<Vec<_>>(), expected, "{toml}");
}

/// The mistakes of a document that is sound but for the lines `toml`.
fn check_in(toml: &str, expected: &[&str]) {
    check(&format!("{toml}\n{SOUND}\nmodel = [{{ puma = {{}} }}]"), expected);
}

fn check_built(experiment: &Experiment, expected: &[&str]) {
    let error = experiment.check().expect_err("a mistake").to_string();
    assert_eq!(error.lines().collect::<Vec<_>>(), expected);
}

fn sound() -> Experiment {
    Experiment::new(puma().workers(4).threads(3))
        .workload([cpu(ms(2)), io(exp(ms(100)))])
        .load(closed(12).requests(120))
}

#[test]
fn the_spelling_of_the_design_is_read_and_built_alike() {
    let toml = r#"
        name = "io, twelve slots"
        seed = 1
        repeat = 5
        [machine]
        cores = 12
        [workload]
        steps = [{ cpu = "2ms" }, { io = "exp(100ms)" }]
        [load]
        closed = { users = 12, requests = 120 }
        connections = "keep-alive"
        [[model]]
        puma = { workers = 4, threads = 3, version = "8.0.2", ruby = "4.0.5" }
        published = { throughput_rps = 100.9, p99_ms = 7 }
        [[model]]
        pool = { workers = 0, threads = 8, gvl = "cruby-3.3" }
    "#;
    let built = sound()
        .name("io, twelve slots")
        .repeat(5)
        .cores(12)
        .load(closed(12).requests(120).keep_alive())
        .published("throughput_rps", 100.9)
        .published("p99_ms", 7.0)
        .model(pool().threads(8).gvl(crate::gvl::Gvl::named("cruby-3.3").unwrap()));
    built.check().unwrap();
    let read = Experiment::from_toml(toml).unwrap();
    assert_eq!(read, built);
    assert_eq!(Experiment::from_json(&built.to_json()).unwrap(), built);
    assert_eq!(Experiment::from_toml(&built.to_toml()).unwrap(), built);
}

#[test]
fn what_is_left_out_has_its_default() {
    let read = Experiment::from_toml(&format!("{SOUND}model = [{{ puma = {{}} }}]")).unwrap();
    let built = Experiment::new(puma()).workload([cpu(ms(2))]).load(closed(12).requests(120));
    assert_eq!(read, built);
    assert_eq!((read.name.as_str(), read.seed, read.repeat), ("experiment", 1, 1));
}

#[test]
fn every_mistake_is_told_in_one_pass() {
    check(
        "name = 5\nseed = -1\nrepeat = 0\nspeed = 1\nmachine = { cores = 0 }\n\
         workload = { steps = [{ sleep = '1ms' }, { cpu = '5' }] }\n\
         load = { closed = { users = 0, requests = -1 } }\n\
         model = [{ passenger = {} }, { puma = { threads = 0 }, published = { x = nan } }, 5]",
        &[
            "speed: this key is not allowed, expected one of name, seed, repeat, machine, \
             workload, load, warmup, model",
            "name: 5 is not allowed, expected text of 1 to 200 characters",
            "seed: -1 is not allowed, expected a whole number in 0..=9223372036854775807",
            "repeat: 0 is not allowed, expected a whole number in 1..=1000",
            "machine.cores: 0 is not allowed, expected a whole number in 1..=4096",
            "workload.steps[0]: a table of {sleep} is not allowed, expected a step: one of \
             cpu, io, native, hold, checkout, repeat, choose, fail",
            "workload.steps[1].cpu: \"5\" is not allowed, expected a duration from 0ns to 24h \
             with a unit, such as \"100ms\", or \"exp(100ms)\", \"lognormal(80ms, 0.5)\" \
             (sigma 0 to 4), { empirical = [\"1ms\", ...] }",
            "load.closed.users: 0 is not allowed, expected a whole number in 1..=1000000",
            "load.closed.requests: -1 is not allowed, expected a whole number in 1..=100000000",
            "model[0]: a table of {passenger} is not allowed, expected a model: one of puma, \
             unicorn, pitchfork, webrick, uvicorn, gunicorn, apache, nginx, pool, custom",
            "model[1].puma.threads: 0 is not allowed, expected a whole number in 1..=1024",
            "model[1].published.x: NaN is not allowed, expected a finite number, 0 or more",
            "model[2]: 5 is not allowed, expected a model such as { puma = { threads = 5 } }",
        ],
    );
}

#[test]
fn sections_are_needed() {
    check(
        "",
        &[
            "workload: nothing is not allowed, expected a [workload] with steps or endpoints",
            "load: nothing is not allowed, expected a [load], closed or open",
            "model: nothing is not allowed, expected at least one [[model]]",
        ],
    );
    check(
        &format!("{SOUND}model = []"),
        &["model: a list of 0 is not allowed, expected 1 to 1000 models"],
    );
    check(
        &format!("{SOUND}[model.puma]"),
        &["model: a table of {puma} is not allowed, expected a list of models, [[model]]"],
    );
    let error = Experiment::from_json("[]").unwrap_err().to_string();
    assert_eq!(error, "experiment: a list of 0 is not allowed, expected a table");
}

#[test]
fn names_and_seeds_are_within_bounds() {
    check_in("name = ''", &["name: \"\" is not allowed, expected text of 1 to 200 characters"]);
    check_in(
        "name = \"a\\nb\"",
        &["name: \"a\\nb\" is not allowed, expected text of 1 to 200 characters"],
    );
    check_in(
        "\"a\\nb\" = 1",
        &["a\\nb: this key is not allowed, expected one of name, seed, repeat, machine, \
           workload, load, warmup, model"],
    );
    check_built(
        &sound().seed(u64::MAX),
        &["seed: 18446744073709552000 is not allowed, \
           expected a whole number in 0..=9223372036854775807"],
    );
    sound().seed(i64::MAX as u64).check().unwrap();
}

#[test]
fn published_figures_are_named_finite_and_few() {
    check_built(
        &sound().published("Rps", 1.0).published("a", -1.0).published("b", f64::INFINITY),
        &[
            "model[0].published.Rps: this name is not allowed, expected lower case letters, \
             digits and _, a letter first, 1 to 100 of them",
            "model[0].published.a: -1 is not allowed, expected a finite number, 0 or more",
            "model[0].published.b: inf is not allowed, expected a finite number, 0 or more",
        ],
    );
    check_built(
        &sound().published("a", 1.0).published("a", 2.0),
        &["model[0].published.a: a second figure of this name is not allowed, \
           expected each name once"],
    );
    let many = (0..33).fold(sound(), |e, n| e.published(format!("n{n}"), 1.0));
    check_built(&many, &["model[0].published: 33 figures is not allowed, expected at most 32"]);
}

/// Endpoints `a`, `b` and so on with these users.
fn bound(users: &[Option<u32>]) -> Workload {
    users.iter().zip('a'..).fold(Workload::new(), |workload, (users, name)| {
        let mut endpoint = Endpoint::new(name, [cpu(ms(1))]);
        endpoint.users = *users;
        workload.endpoint(endpoint)
    })
}

#[test]
fn bound_users_agree_with_the_load() {
    let with = |users: &[Option<u32>], load| sound().workload(bound(users)).load(load);
    let load = || closed(3).requests(9);
    with(&[Some(1), Some(2)], load()).check().unwrap();
    with(&[Some(1), None], load()).check().unwrap();
    for users in [[Some(1), Some(1)], [Some(2), Some(2)]] {
        let sum = users[0].unwrap() * 2;
        check_built(
            &with(&users, load()),
            &[&format!(
                "load.closed.users: 3 is not allowed, expected the {sum} bound to endpoints"
            )],
        );
    }
    for sum in [3, 4] {
        check_built(
            &with(&[Some(sum), None], load()),
            &[&format!(
                "load.closed.users: 3 is not allowed, expected more than the {sum} bound to \
                 endpoints, to ask for \"b\""
            )],
        );
    }
    check_built(
        &with(&[Some(1), None, Some(2)], open(5.0).requests(9)),
        &[
            "workload.endpoint[0].users: 1 is not allowed, \
             expected no users where the load is open",
            "workload.endpoint[2].users: 2 is not allowed, \
             expected no users where the load is open",
        ],
    );
}

#[test]
fn a_builder_without_workload_and_load_is_told_what_is_missing() {
    check_built(
        &Experiment::new(puma()),
        &[
            "workload.endpoint: a list of 0 is not allowed, expected 1 to 1000 endpoints",
            "load.closed: neither requests nor duration is not allowed, expected one of the two",
        ],
    );
    // Sixteen million steps in little memory are refused, not printed.
    let doubled = (0..24).fold(cpu(ms(1)), |step, _| repeat(1, [step.clone(), step]));
    assert!(sound().workload([doubled]).check().is_err());
}

#[test]
fn nesting_without_end_is_one_line_of_error() {
    let deep =
        |open: &str, close: &str| format!("{}{}", open.repeat(100_000), close.repeat(100_000));
    let tables = format!("a = {}1{}", "{a=".repeat(100_000), "}".repeat(100_000));
    let dotted = format!("a{} = 1", ".a".repeat(100_000));
    let header = format!("[a{}]", ".a".repeat(100_000));
    let lists = format!("a = {}", deep("[", "]"));
    for toml in [lists, format!("a = {}", "[".repeat(100_000)), tables, dotted, header] {
        let error = Experiment::from_toml(&toml).unwrap_err().to_string();
        assert_eq!(error.lines().count(), 1, "{error}");
        assert!(error.starts_with("line 1: `"), "{error}");
    }
    for json in [deep("[", "]"), "[".repeat(100_000), deep("{\"a\":", "}")] {
        let error = Experiment::from_json(&json).unwrap_err().to_string();
        assert_eq!(error.lines().count(), 1, "{error}");
        assert!(error.starts_with("line 1: `"), "{error}");
    }
}

#[test]
fn text_that_is_no_document_is_one_line_of_error() {
    for toml in ["a = = 1", "\0", "a = 1\na = 2", "\"x\\ny\" = 1\n\"x\\ny\" = 2", "a = [1,\n\n"] {
        let error = Experiment::from_toml(toml).unwrap_err().to_string();
        assert_eq!(error.lines().count(), 1, "{error}");
    }
    for json in ["", "{", "{\"a\\nb\": 1, \"a\\nb\": 2}", "{\"a\": 1e999}", "\n\n]"] {
        let error = Experiment::from_json(json).unwrap_err().to_string();
        assert_eq!(error.lines().count(), 1, "{error}");
    }
}

/// A folder that is removed at the end.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("gvl-lab-{name}-{}", std::process::id()));
        fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    fn file(&self, name: &str, content: &[u8]) -> PathBuf {
        let path = self.0.join(name);
        fs::write(&path, content).unwrap();
        path
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

#[test]
fn files_are_read_by_their_extension() {
    let folder = Folder::new("read");
    let toml = folder.file("a.toml", sound().to_toml().as_bytes());
    let json = folder.file("a.JSON", sound().to_json().as_bytes());
    assert_eq!(Experiment::from_path(toml).unwrap(), sound());
    assert_eq!(Experiment::from_path(json).unwrap(), sound());
    let bad = Experiment::from_path(folder.file("b.toml", b"name = 5")).unwrap_err();
    assert_eq!(bad.kind(), ErrorKind::Invalid);
}

#[test]
fn files_that_cannot_be_read_are_one_line_of_error() {
    let folder = Folder::new("refuse");
    let refuse = |path: PathBuf, expected: &str| {
        let error = Experiment::from_path(&path).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Unreadable);
        let name = path.display().to_string().escape_default().to_string();
        assert_eq!(error.to_string(), format!("{name}: {expected}"));
    };
    let allowed = "expected a readable file of TOML or JSON";
    refuse(folder.file("a.yaml", b""), "named *.yaml, expected a name that ends in .toml or .json");
    refuse("/dev/zero".into(), "no extension, expected a name that ends in .toml or .json");
    refuse(
        folder.0.join("a\nb.toml"),
        &format!("No such file or directory (os error 2), {allowed}"),
    );
    fs::create_dir(folder.0.join("d.toml")).unwrap();
    refuse(folder.0.join("d.toml"), &format!("a directory, {allowed}"));
    std::os::unix::fs::symlink("/dev/zero", folder.0.join("z.toml")).unwrap();
    refuse(folder.0.join("z.toml"), &format!("not a regular file, {allowed}"));
    refuse(folder.file("u.json", b"{\"a\xff\"}"), &format!("not UTF-8 at byte 3, {allowed}"));
    let large = folder.file("l.toml", b"");
    fs::File::options().write(true).open(&large).unwrap().set_len(1 << 30).unwrap();
    refuse(large, "1073741824 bytes, expected at most 1048576 bytes");
    // Files that do not know their size say nought, and are read to the limit only.
    std::os::unix::fs::symlink("/proc/self/status", folder.0.join("p.toml")).unwrap();
    assert!(Experiment::from_path(folder.0.join("p.toml")).unwrap_err().is_invalid());
}

#[test]
fn a_warm_up_leaves_something_to_measure() {
    let check = |load: &str, warmup: &str, expected: &str| {
        let text = format!(
            "warmup = {warmup}\nworkload = {{ steps = [{{ io = '1ms' }}] }}\n\
             load = {{ open = {{ rate = 9, {load} }} }}\nmodel = [{{ puma = {{}} }}]"
        );
        let told = Experiment::from_toml(&text).map_err(|error| error.to_string()).err();
        let expected = (!expected.is_empty())
            .then(|| format!("warmup: {warmup} is not allowed, expected {expected}"));
        assert_eq!(told, expected);
    };
    check("requests = 100", "99", "");
    check("requests = 100", "100", "less than the 100 requests of the run");
    check("requests = 100", "\"1h\"", "");
    check("duration = '10s'", "\"10s\"", "less than the run of 10s");
    check("duration = '10s'", "\"auto\"", "");
}

#[test]
fn a_warm_up_is_found_in_virtual_time_alone() {
    let experiment = Experiment::new(puma()).workload([io(ms(1))]).load(closed(1).requests(9));
    let experiment = experiment.warmup(WarmUp::Auto);
    assert!(experiment.check_for(crate::Engine::Sim).is_ok());
    assert_eq!(
        experiment.check_for(crate::Engine::Real).unwrap_err().to_string(),
        "warmup: \"auto\" is not allowed, expected a duration or a number of requests: a run in real \
         time is not the same twice"
    );
}

#[test]
fn a_proxy_that_counts_apart_is_only_simulated() {
    let told = |nginx: Nginx| {
        let experiment = Experiment::new(nginx).workload([io(ms(1))]);
        let experiment = experiment.load(closed(1).requests(9));
        experiment.check_for(crate::Engine::Sim).unwrap();
        experiment.check_for(crate::Engine::Real).map_err(|error| error.to_string())
    };
    assert_eq!(told(nginx().policy(Policy::LeastConn).weights([1, 1])), Ok(()));
    let expected = |label| {
        Err(format!(
            "model: model[0] ({label}) is not allowed, expected one nginx worker and no weights, or the \
             simulator: the real engine has one proxy, and backends that count alike"
        ))
    };
    assert_eq!(told(nginx().weights([2, 1])), expected("nginx round-robin weights 2,1: puma"));
    assert_eq!(told(nginx().workers(2)), expected("nginx of 2 workers round-robin: puma"));
}

#[test]
fn a_thread_that_waits_at_its_connection_is_only_simulated() {
    let of = |version| puma().workers(2).version(version);
    let experiment =
        |version, load| Experiment::new(puma()).model(of(version)).workload([io(ms(1))]).load(load);
    let kept = closed(1).requests(9).keep_alive();
    let told = experiment("6.6.1", kept.clone()).check_for(crate::Engine::Real).unwrap_err();
    assert_eq!(
        told.to_string(),
        "load.connections: \"keep-alive\" is not allowed, expected \"new\", or the simulator, with \
         model[1] (puma 6.6.1): its threads wait at the connection that they have answered over, \
         which is only simulated"
    );
    assert!(experiment("6.6.1", kept.clone()).check_for(crate::Engine::Sim).is_ok());
    assert!(experiment("8.0.2", kept).check_for(crate::Engine::Real).is_ok());
    let new = closed(1).requests(9);
    assert!(experiment("6.6.1", new).check_for(crate::Engine::Real).is_ok());
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        (0..100_u64).prop_map(|n| cpu(ms(n))),
        (0..100_u64).prop_map(|n| io(exp(ms(n)))),
        (1..5_u32).prop_map(|n| repeat(n, [cpu(ms(1))])),
    ];
    vec(step, 1..4)
}

fn workloads() -> impl Strategy<Value = Workload> {
    let several = vec((steps(), 1e-3..1e3), 1..4).prop_map(|all| {
        all.into_iter().enumerate().fold(Workload::new(), |workload, (n, (steps, weight))| {
            workload.endpoint(Endpoint::new(format!("e{n}"), steps).weight(weight))
        })
    });
    prop_oneof![steps().prop_map(Workload::from), several]
}

fn experiments() -> impl Strategy<Value = Experiment> {
    let figures = proptest::collection::btree_map("[a-z][a-z0-9_]{0,8}", 0.0..1e12, 0..4);
    let entry = (crate::model::tests::models(), figures);
    let head = ("[a-z\"'\\\\., é]{1,12}", 0..=i64::MAX as u64, 1..=1000_u32);
    let machine = proptest::option::of(proptest::option::of(1..=4096_u32));
    let rest = (machine, workloads(), crate::load::tests::loads(), vec(entry, 1..4));
    let warmup = proptest::option::of(prop_oneof![
        Just(WarmUp::Auto),
        (1..1000_u64).prop_map(|n| WarmUp::Time(ms(n))),
        (1..1000_u64).prop_map(WarmUp::Requests),
    ]);
    let all = (head, rest, warmup);
    all.prop_map(|((name, seed, repeat), (machine, workload, load, models), warmup)| {
        let entry = |(model, figures): (Model, std::collections::BTreeMap<_, _>)| Entry {
            model,
            published: figures.into_iter().rev().collect(),
        };
        let machine =
            machine.map(|cores| Machine { cores, somaxconn: cores, ..Machine::default() });
        let models = models.into_iter().map(entry).collect();
        // One that would leave nothing is none.
        let fits = |warmup: &WarmUp| load.until().and_then(|until| warmup.beyond(until)).is_none();
        let warmup = warmup.filter(fits);
        Experiment { name, seed, repeat, machine, workload, load, warmup, models }
    })
}

proptest! {
    #[test]
    fn what_is_printed_reads_back(experiment in experiments()) {
        let toml = experiment.to_toml();
        prop_assert_eq!(&Experiment::from_toml(&toml).unwrap(), &experiment, "{}", toml);
        prop_assert_eq!(&Experiment::from_json(&experiment.to_json()).unwrap(), &experiment);
        prop_assert!(experiment.check().is_ok());
    }

    #[test]
    fn no_text_panics(text in ".*", toml in "(name|load|\\[\\[model\\]\\]|[=.{}\\[\\]\"0-9a-z\n]){0,40}") {
        let _ = Experiment::from_toml(&text);
        let _ = Experiment::from_toml(&toml);
        let _ = Experiment::from_json(&text);
    }
}

/// A load is one value, whichever builder made it.
#[test]
fn loads_are_taken_whole() {
    let load: Load = open(50.0).constant().requests(5);
    assert_eq!(sound().load(load.clone()).load, load);
}
