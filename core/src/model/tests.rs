//! Models in and out of documents, and what they lower to.

use super::*;
use crate::cluster::accept::{Accept, AcceptWait, Backoff, Between};
use crate::error::Error;
use crate::gvl::Gvl;
use crate::value::{Node, Value};
use crate::workload::ms;
use proptest::option::of;
use proptest::prelude::*;
use std::time::Duration;

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
    check_shape("unicorn = {}", "unicorn", (1, 1, Some(1)));
    check_shape("unicorn = { workers = 4, version = '5.8.0' }", "unicorn 5.8.0", (4, 1, Some(4)));
    check_shape("gunicorn = { workers = 3 }", "gunicorn sync", (3, 1, Some(3)));
    check_shape(
        "gunicorn = { workers = 2, threads = 6, version = '23.0.0', python = '3.11' }",
        "gunicorn 23.0.0 gthread python 3.11",
        (2, 6, Some(12)),
    );
    check_shape(
        "gunicorn = { workers = 2, worker_class = 'uvicorn' }",
        "gunicorn uvicorn async",
        (2, 1, None),
    );
    check_shape(
        "gunicorn = { worker_class = 'uvicorn', handlers = 'def' }",
        "gunicorn uvicorn def",
        (1, 40, Some(40)),
    );
    check_shape("apache = {}", "apache event", (3, 25, Some(75)));
    check_shape("apache = { mpm = 'prefork' }", "apache prefork", (5, 1, Some(5)));
    check_shape(
        "apache = { mpm = 'worker', workers = 2, threads = 3, python = '3.13' }",
        "apache worker python 3.13",
        (2, 3, Some(6)),
    );
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
    assert_eq!(name(unicorn().ruby("3.1").into()), "cruby-3.1");
    assert_eq!(name(gunicorn().python("3.11").into()), "cpython-3.11");
    assert_eq!(name(apache().into()), "none");
    assert_eq!(name(apache().python("3.13").into()), "cpython-3.13");
}

#[test]
fn threads_are_there_from_the_start_as_puma_has_it() {
    check_min("puma = {}", 0);
    check_min("puma = { threads = 3 }", 3);
    check_min("puma = { threads = 3, min_threads = 1 }", 1);
    check_min("puma = { min_threads = 5 }", 5);
    check_min("pool = { threads = 8 }", 8);
    check_min("webrick = {}", 0);
    check_min("unicorn = {}", 1);
    check_min("gunicorn = {}", 1);
    check_min("gunicorn = { threads = 4 }", 0);
    check_min("apache = { mpm = 'worker' }", 25);
}

fn check_dispatch(toml: &str, expected: Dispatch) {
    assert_eq!(of_toml(toml).unwrap().topology().dispatch, expected, "{toml}");
}

fn check_accept(toml: &str, expected: Accept) {
    check_dispatch(toml, Dispatch::Accept(expected));
}

#[test]
fn one_process_is_not_a_cluster_of_one() {
    for single in ["puma = {}", "pool = {}", "webrick = {}", "uvicorn = {}"] {
        check_dispatch(single, Dispatch::InProcess);
    }
    check_dispatch("pool = { workers = 1 }", Dispatch::SharedQueue);
    check_dispatch("pool = { workers = 4, threads = 3 }", Dispatch::SharedQueue);
    for cluster in [
        "puma = { workers = 1 }",
        "unicorn = {}",
        "uvicorn = { workers = 2 }",
        "gunicorn = {}",
        "gunicorn = { worker_class = 'uvicorn' }",
        "apache = { workers = 1 }",
    ] {
        let topology = of_toml(cluster).unwrap().topology();
        assert!(matches!(topology.dispatch, Dispatch::Accept(_)), "{cluster}");
        assert_eq!(topology.processes, topology.workers, "{cluster}");
    }
}

#[test]
fn a_busy_worker_of_puma_accepts_as_its_version_does() {
    let most = Duration::from_millis(5);
    let until_one_ends = Backoff::UntilOneEnds { most };
    let when_full = Backoff::WhenFull { unit: Duration::from_micros(100) };
    let proportional = Backoff::Proportional { most };
    for (workers, version, queue_requests, gate, backoff) in [
        (2, "5.0", true, true, Backoff::None),
        (2, "5.6.9", true, true, Backoff::None),
        (2, "6.0.0", true, true, until_one_ends),
        (1, "6.6.1", true, true, until_one_ends),
        (2, "6.6.1", false, true, until_one_ends),
        (2, "7.0", true, false, when_full),
        (1, "7.0.3", true, false, when_full),
        (2, "7.0.4", true, false, proportional),
        (1, "7.0.4", true, false, Backoff::None),
        (2, "7.2.0", true, false, proportional),
        (2, "8.0.2", false, false, proportional),
        (4, "main", true, false, proportional),
        (1, "main", true, false, Backoff::None),
        (4, "main", false, true, Backoff::None),
    ] {
        let between = if queue_requests { Between::Watched } else { Between::Closed };
        let accept =
            Accept { wait: AcceptWait::Herd, only_when_free: gate, backoff, burst: 1, between };
        check_accept(
            &format!(
                "puma = {{ workers = {workers}, version = '{version}', \
                 queue_requests = {queue_requests} }}"
            ),
            accept,
        );
    }
}

#[test]
fn each_server_accepts_in_its_way() {
    let one_at_a_time = Accept {
        wait: AcceptWait::Exclusive,
        only_when_free: true,
        backoff: Backoff::None,
        burst: 1,
        between: Between::Closed,
    };
    let herd = Accept { wait: AcceptWait::Herd, ..one_at_a_time };
    check_accept("unicorn = { workers = 4 }", one_at_a_time);
    check_accept("unicorn = { version = '6.1' }", one_at_a_time);
    check_accept("unicorn = { version = '6.0.0' }", herd);
    check_accept("gunicorn = {}", herd);
    let watched = Accept { only_when_free: false, between: Between::Watched, ..herd };
    check_accept("gunicorn = { threads = 2, version = '23.0.0' }", watched);
    check_accept("gunicorn = { worker_class = 'gthread' }", watched);
    let greedy = Accept { burst: 2048, ..watched };
    check_accept("uvicorn = { workers = 2 }", greedy);
    check_accept("uvicorn = { workers = 2, handlers = 'def' }", greedy);
    check_accept("gunicorn = { worker_class = 'uvicorn' }", greedy);
    check_accept("apache = {}", Accept { between: Between::Watched, ..herd });
    let blocking = Accept {
        wait: AcceptWait::Blocking,
        between: Between::HeldByThread { most: Duration::from_secs(5) },
        ..herd
    };
    check_accept("apache = { mpm = 'worker' }", blocking);
    check_accept("apache = { mpm = 'prefork' }", blocking);
}

#[test]
fn auto_is_resolved_where_the_model_lowers_and_written_as_it_was() {
    for key in ["puma", "unicorn", "uvicorn", "gunicorn", "apache", "pool"] {
        let model = of_toml(&format!("{key} = {{ workers = 'auto' }}")).unwrap();
        let topology = model.topology();
        let words = format!("(auto: {} of ", topology.workers);
        assert!(topology.label.contains(&words), "{}", topology.label);
        assert!(topology.label.ends_with(" processors)"), "{}", topology.label);
        assert_eq!(topology.processes, topology.workers.max(1));
        let written = model.to_value().to_toml();
        assert!(written.contains("workers = \"auto\""), "{written}");
    }
    assert!(
        Model::from(puma().workers(Workers::Auto)) == of_toml("puma.workers = 'auto'").unwrap()
    );
}

#[test]
fn every_mistake_of_a_model_has_its_path() {
    check(
        "passenger = {}",
        &["model: a table of {passenger} is not allowed, \
           expected a model: one of puma, unicorn, webrick, uvicorn, gunicorn, apache, pool"],
    );
    check(
        "puma = {}\npool = {}",
        &["model: a table of {puma, pool} is not allowed, \
           expected one model: only one of puma, unicorn, webrick, uvicorn, gunicorn, apache, \
           pool"],
    );
    check("puma = 5", &["model.puma: 5 is not allowed, expected a table"]);
    check(
        "puma = { worker = 1, workers = 1025, threads = 0, version = '9.0', ruby = '2.7' }\nx = 1",
        &[
            "model.x: this key is not allowed, expected one of puma",
            "model.puma.worker: this key is not allowed, expected one of workers, threads, \
             min_threads, queue_requests, version, ruby",
            "model.puma.workers: 1025 is not allowed, expected a whole number in 0..=1024, \
             or \"auto\"",
            "model.puma.threads: 0 is not allowed, expected a whole number in 1..=1024",
            "model.puma.version: \"9.0\" is not allowed, expected a Puma version from 5.0 to 8.x \
             as text, such as \"8.0.2\", or \"main\"",
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
            "model.uvicorn.workers: 0 is not allowed, expected a whole number in 1..=1024, \
             or \"auto\"",
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
    check(
        "puma = { workers = 'Auto', threads = 'auto', queue_requests = 1, version = 'master' }",
        &[
            "model.puma.workers: \"Auto\" is not allowed, expected a whole number in 0..=1024, \
             or \"auto\"",
            "model.puma.threads: \"auto\" is not allowed, expected a whole number in 1..=1024",
            "model.puma.queue_requests: 1 is not allowed, expected true or false",
            "model.puma.version: \"master\" is not allowed, expected a Puma version from 5.0 to \
             8.x as text, such as \"8.0.2\", or \"main\"",
        ],
    );
    check(
        "webrick = { workers = 'auto' }",
        &["model.webrick.workers: this key is not allowed, expected one of max_clients, ruby"],
    );
    check(
        "unicorn = { workers = 0, threads = 2, version = 'main', ruby = '3.0' }",
        &[
            "model.unicorn.threads: this key is not allowed, expected one of workers, version, \
             ruby",
            "model.unicorn.workers: 0 is not allowed, expected a whole number in 1..=1024, \
             or \"auto\"",
            "model.unicorn.version: \"main\" is not allowed, expected a Unicorn version from 4.0 \
             to 6.x as text, such as \"6.1.0\"",
            "model.unicorn.ruby: \"3.0\" is not allowed, expected a CRuby version from 3.1 on",
        ],
    );
    check(
        "gunicorn = { worker_class = 'gevent', workers = 1.5, version = '19.9', python = '3.7' }",
        &[
            "model.gunicorn.workers: 1.5 is not allowed, expected a whole number in 1..=1024, \
             or \"auto\"",
            "model.gunicorn.worker_class: \"gevent\" is not allowed, expected \"sync\", \
             \"gthread\" or \"uvicorn\"",
            "model.gunicorn.version: \"19.9\" is not allowed, expected a gunicorn version from \
             20.0 to 27.x as text, such as \"27.0.1\"",
            "model.gunicorn.python: \"3.7\" is not allowed, expected a CPython version from 3.8 \
             to 3.14, or 3.13t and 3.14t",
        ],
    );
    check(
        "gunicorn = { worker_class = 'sync', threads = 4, handlers = 'async' }",
        &[
            "model.gunicorn.threads: 4 is not allowed, expected 1 with the class \"sync\"; \
             \"gthread\" has threads",
            "model.gunicorn.handlers: this key is not allowed, expected the worker_class \
             \"uvicorn\" beside it",
        ],
    );
    check(
        "apache = { mpm = 'prefork', threads = 2, workers = 0, python = 3 }",
        &[
            "model.apache.workers: 0 is not allowed, expected a whole number in 1..=1024, \
             or \"auto\"",
            "model.apache.threads: 2 is not allowed, expected 1 with the mpm \"prefork\"; \
             \"worker\" and \"event\" have threads",
            "model.apache.python: 3 is not allowed, expected a CPython version as text, such as \
             \"3.13\"",
        ],
    );
    check(
        "apache = { mpm = 'winnt' }",
        &["model.apache.mpm: \"winnt\" is not allowed, expected \"prefork\", \"worker\" or \
           \"event\""],
    );
    // What a builder was given is refused in the same words.
    let built = Model::from(gunicorn().worker_class(WorkerClass::Uvicorn).threads(2));
    assert_eq!(
        built.check().unwrap_err().to_string(),
        "model.gunicorn.threads: 2 is not allowed, expected 1 with the class \"uvicorn\"; \
         \"gthread\" has threads"
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

/// Any number of workers from `least` on, or `auto`.
fn workers(least: u32) -> impl Strategy<Value = Workers> {
    of(least..=1024).prop_map(|count| count.map_or(Workers::Auto, Workers::Count))
}

pub(crate) fn models() -> impl Strategy<Value = Model> {
    let version = prop_oneof!["[5-8]\\.[0-9]\\.[0-9]", Just("main".to_owned())];
    let puma = (workers(0), of(5..=1024_u32), of(0..=5_u32), any::<bool>(), version).prop_map(
        |(workers, threads, min_threads, queue_requests, version)| {
            let puma = puma().workers(workers).version(version).ruby("3.4.1");
            let puma = threads.into_iter().fold(puma.queue_requests(queue_requests), Puma::threads);
            min_threads.into_iter().fold(puma, Puma::min_threads).into()
        },
    );
    let unicorn = (workers(1), "[4-6]\\.[0-9]\\.[0-9]")
        .prop_map(|(workers, version)| unicorn().workers(workers).version(version).into());
    let uvicorn =
        (workers(1), handlers(), 1..=1024_u32).prop_map(|(workers, handlers, threads)| {
            uvicorn().workers(workers).handlers(handlers).offload_threads(threads).into()
        });
    let gunicorn = (workers(1), of(1..=1024_u32), of(handlers()), "2[0-7]\\.[0-9]\\.[0-9]")
        .prop_map(|(workers, threads, handlers, version)| {
            let gunicorn = gunicorn().workers(workers).version(version);
            match (threads, handlers) {
                (_, Some(h)) => gunicorn.worker_class(WorkerClass::Uvicorn).handlers(h),
                (Some(n), None) => gunicorn.threads(n),
                (None, None) => gunicorn.worker_class(WorkerClass::Sync),
            }
            .into()
        });
    let mpm = prop::sample::select(vec![Mpm::Worker, Mpm::Event]);
    let apache = (of(workers(1)), of((mpm, 1..=1024_u32)), any::<bool>()).prop_map(
        |(workers, threads, python)| {
            let apache = threads
                .into_iter()
                .fold(apache().mpm(Mpm::Prefork), |apache, (mpm, n)| apache.mpm(mpm).threads(n));
            let apache = workers.into_iter().fold(apache, Apache::workers);
            if python { apache.python("3.13").into() } else { apache.into() }
        },
    );
    let gvl = prop::sample::select(crate::gvl::NAMES).prop_map(|name| Gvl::named(name).unwrap());
    let pool = (workers(0), 1..=1024_u32, gvl, of(101..=1000_u64)).prop_map(
        |(workers, threads, gvl, quantum)| {
            let gvl = quantum.map(ms).into_iter().fold(gvl, Gvl::with_quantum);
            pool().workers(workers).threads(threads).gvl(gvl).into()
        },
    );
    let webrick = (1..=10_000_u32).prop_map(|n| webrick().max_clients(n).into());
    prop_oneof![puma, unicorn, uvicorn, gunicorn, apache, pool, webrick]
}

fn handlers() -> impl Strategy<Value = Handlers> {
    prop::sample::select(vec![Handlers::Async, Handlers::Offloaded, Handlers::Blocking])
}

proptest! {
    #[test]
    fn what_is_printed_reads_back(model in models()) {
        let read = read(&model.to_value()).unwrap();
        prop_assert_eq!(read.topology(), model.topology());
        prop_assert_eq!(read, model);
    }
}
