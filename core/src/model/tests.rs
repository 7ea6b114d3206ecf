//! Models in and out of documents, and what they lower to.

use super::*;
use crate::error::Error;
use crate::gvl::Gvl;
use crate::value::{Node, Value};
use crate::workload::ms;
use proptest::option::of;
use proptest::prelude::*;

fn read(value: &Value) -> Result<Model, Error> {
    Node::read_all(value, "model", |node| Model::read(node, &[]))
}

fn of_toml(text: &str) -> Result<Model, Error> {
    read(&Value::from_toml(text).unwrap())
}

/// The mistakes of a document, one a line.
fn check(toml: &str, expected: &[&str]) {
    let error = of_toml(toml).expect_err(toml).to_string();
    assert_eq!(error.lines().collect::<Vec<_>>(), expected, "{toml}");
}

/// A document's label, processes, threads and slots.
fn check_shape(toml: &str, label: &str, shape: (u32, u32, Option<u64>)) {
    let topology = of_toml(toml).unwrap().topology();
    assert_eq!(topology.label, label);
    assert_eq!((topology.processes, topology.threads, topology.slots), shape, "{toml}");
}

/// The threads of a pool that are there from the start.
fn check_min(toml: &str, expected: u32) {
    match of_toml(toml).unwrap().topology().serving {
        Serving::Pool { min_threads, .. } => assert_eq!(min_threads, expected, "{toml}"),
        Serving::EventLoop { .. } => panic!("{toml} is no pool"),
    }
}

#[test]
fn models_have_shapes_and_labels() {
    check_shape("puma = {}", "puma", (1, 5, Some(5)));
    check_shape("puma = { workers = 4, threads = 3 }", "puma", (4, 3, Some(12)));
    check_shape("puma = { version = '7.2.0' }", "puma 7.2.0", (1, 5, Some(5)));
    check_shape("puma = { ruby = '3.4' }", "puma ruby 3.4", (1, 5, Some(5)));
    check_shape("pool = { threads = 8, gvl = 'cruby-3.3' }", "pool cruby-3.3", (1, 8, Some(8)));
    check_shape("webrick = {}", "webrick", (1, 100, Some(100)));
    check_shape("uvicorn = {}", "uvicorn async", (1, 1, None));
    check_shape("uvicorn = { workers = 2, handlers = 'def' }", "uvicorn def", (2, 40, Some(80)));
    check_shape(
        "uvicorn = { workers = 4, handlers = 'blocking' }",
        "uvicorn blocking",
        (4, 1, Some(4)),
    );
}

#[test]
fn locks_are_those_of_the_versions() {
    let name = |model: Model| model.topology().gvl.name().to_owned();
    assert_eq!(name(puma().into()), "cruby-4.0");
    assert_eq!(name(webrick().ruby("3.1.2").into()), "cruby-3.1");
    assert_eq!(name(uvicorn().into()), "cpython-3.13");
    assert_eq!(name(uvicorn().python("3.14t").into()), "none");
    assert_eq!(name(pool().gvl(Gvl::none()).into()), "none");
}

#[test]
fn threads_are_there_from_the_start_as_puma_has_it() {
    check_min("puma = {}", 0);
    check_min("puma = { threads = 3 }", 3);
    check_min("puma = { threads = 3, min_threads = 1 }", 1);
    check_min("puma = { min_threads = 5 }", 5);
    check_min("pool = { threads = 8 }", 8);
    check_min("webrick = {}", 0);
}

#[test]
fn every_mistake_of_a_model_has_its_path() {
    check(
        "unicorn = {}",
        &["model: a table of {unicorn} is not allowed, \
           expected a model: one of puma, uvicorn, webrick, pool"],
    );
    check(
        "puma = {}\npool = {}",
        &["model: a table of {puma, pool} is not allowed, \
           expected one model: only one of puma, uvicorn, webrick, pool"],
    );
    check("puma = 5", &["model.puma: 5 is not allowed, expected a table"]);
    check(
        "puma = { worker = 1, workers = 1025, threads = 0, version = '9.0', ruby = '2.7' }\nx = 1",
        &[
            "model.x: this key is not allowed, expected one of puma",
            "model.puma.worker: this key is not allowed, expected one of workers, threads, \
             min_threads, version, ruby",
            "model.puma.workers: 1025 is not allowed, expected a whole number in 0..=1024",
            "model.puma.threads: 0 is not allowed, expected a whole number in 1..=1024",
            "model.puma.version: \"9.0\" is not allowed, expected a Puma version from 5.0 to 8.x \
             as text, such as \"8.0.2\"",
            "model.puma.ruby: \"2.7\" is not allowed, expected a CRuby version from 3.1 on",
        ],
    );
    check(
        "puma = { threads = 3, min_threads = 4, ruby = 3.4 }",
        &[
            "model.puma.min_threads: 4 is not allowed, expected a whole number in 0..=3",
            "model.puma.ruby: 3.4 is not allowed, expected a CRuby version as text, \
             such as \"4.0.5\"",
        ],
    );
    check(
        "uvicorn = { workers = 0, handlers = 'sync', python = '4.0', offload_threads = 0 }",
        &[
            "model.uvicorn.workers: 0 is not allowed, expected a whole number in 1..=1024",
            "model.uvicorn.handlers: \"sync\" is not allowed, \
             expected \"async\", \"def\" or \"blocking\"",
            "model.uvicorn.python: \"4.0\" is not allowed, expected a CPython version from 3.8 \
             to 3.14, or 3.13t and 3.14t",
            "model.uvicorn.offload_threads: 0 is not allowed, expected a whole number in 1..=1024",
        ],
    );
    check(
        "webrick = { max_clients = 0 }",
        &["model.webrick.max_clients: 0 is not allowed, expected a whole number in 1..=10000"],
    );
    let long = Model::from(puma().ruby(format!("4.{}", "0".repeat(1000))));
    assert!(long.check().is_err());
}

#[test]
fn the_listing_has_every_model_with_its_keys() {
    let text = listing().to_string();
    for record in listing().models {
        assert!(text.contains(&format!("{}: {}", record.key, record.summary)), "{}", record.key);
        assert!(record.fields.iter().all(|field| text.contains(field.key)));
        let empty = Value::table([(record.key, Value::table::<String>([]))]);
        let Value::Table(written) = read(&empty).unwrap().to_value() else { panic!("no table") };
        let Value::Table(written) = &written[0].1 else { panic!("no table") };
        for (key, _) in written {
            assert!(record.fields.iter().any(|field| field.key == key), "{key} is not listed");
        }
    }
}

pub(crate) fn models() -> impl Strategy<Value = Model> {
    let puma = (0..=1024_u32, of(5..=1024_u32), of(0..=5_u32), "[5-8]\\.[0-9]\\.[0-9]").prop_map(
        |(workers, threads, min_threads, version)| {
            let puma = puma().workers(workers).version(version).ruby("3.4.1");
            let puma = threads.into_iter().fold(puma, Puma::threads);
            min_threads.into_iter().fold(puma, Puma::min_threads).into()
        },
    );
    let handlers = [Handlers::Async, Handlers::Offloaded, Handlers::Blocking];
    let uvicorn = (1..=1024_u32, prop::sample::select(handlers.to_vec()), 1..=1024_u32).prop_map(
        |(workers, handlers, threads)| {
            uvicorn().workers(workers).handlers(handlers).offload_threads(threads).into()
        },
    );
    let gvl = prop::sample::select(crate::gvl::NAMES).prop_map(|name| Gvl::named(name).unwrap());
    let pool = (0..=1024_u32, 1..=1024_u32, gvl, of(101..=1000_u64)).prop_map(
        |(workers, threads, gvl, quantum)| {
            let gvl = quantum.map(ms).into_iter().fold(gvl, Gvl::with_quantum);
            pool().workers(workers).threads(threads).gvl(gvl).into()
        },
    );
    let webrick = (1..=10_000_u32).prop_map(|n| webrick().max_clients(n).into());
    prop_oneof![puma, uvicorn, pool, webrick]
}

proptest! {
    #[test]
    fn what_is_printed_reads_back(model in models()) {
        let read = read(&model.to_value()).unwrap();
        prop_assert_eq!(read.topology(), model.topology());
        prop_assert_eq!(read, model);
    }
}
