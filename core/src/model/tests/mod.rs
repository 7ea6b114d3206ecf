//! Models in and out of documents, and what they lower to.

mod accept;
mod custom;
mod mistakes;

use super::*;
use crate::cluster::balance::Policy;
use crate::error::Error;
use crate::gvl::Gvl;
use crate::value::{Node, Value};
use crate::workload::ms;
use custom::accepts;
use proptest::option::of;
use proptest::prelude::*;

fn read(value: &Value) -> Result<Model, Error> {
    Node::read_all(value, "model", |node| Model::read(node, &[]))
}

fn of_toml(text: &str) -> Result<Model, Error> {
    read(&Value::from_toml(text).unwrap())
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
    check_shape("pitchfork = {}", "pitchfork", (1, 1, Some(1)));
    check_shape("pitchfork = { workers = 4, version = '0.17' }", "pitchfork 0.17", (4, 1, Some(4)));
    check_shape("nginx = {}", "nginx round-robin: puma", (2, 5, Some(10)));
    check_shape(
        "nginx = { backends = 3, policy = 'least-conn', weights = [5, 1, 1], workers = 2, \
         server = { puma = { threads = 3, ruby = '3.4' } } }",
        "nginx of 2 workers least-conn weights 5,1,1: puma ruby 3.4",
        (3, 3, Some(9)),
    );
    check_shape("nginx.server.uvicorn = {}", "nginx round-robin: uvicorn async", (2, 1, None));
    check_shape("custom = {}", "custom", (1, 1, Some(1)));
    check_shape(
        "custom = { name = 'iodine', workers = 2, threads = 4 }",
        "iodine",
        (2, 4, Some(8)),
    );
    check_shape("custom = { handlers = 'async' }", "custom", (1, 1, None));
    check_shape(
        "custom = { workers = 2, handlers = 'def', offload_threads = 9, accept = {} }",
        "custom",
        (2, 9, Some(18)),
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

#[test]
fn slices_are_those_of_the_lock_and_stand_in_the_label() {
    let of = |toml: &str| of_toml(toml).unwrap().topology();
    let ruby = of("puma = { timeslice = '10ms', priority = -2, ruby = '3.4' }");
    assert_eq!(ruby.label, "puma ruby 3.4 timeslice 10ms priority -2");
    assert_eq!(ruby.gvl.name(), "cruby-3.4, quantum 10ms, priority -2");
    assert_eq!(of("unicorn = { priority = 1, ruby = '3.1' }").gvl.name(), "cruby-3.1, priority 1");
    assert_eq!(of("webrick = { timeslice = '1ms', ruby = '4.0.6' }").gvl.quantum(), Some(ms(1)));
    let python = of("uvicorn = { switch_interval = '1ms' }");
    assert_eq!(python.label, "uvicorn async interval 1ms");
    assert_eq!(python.gvl.quantum(), Some(ms(1)));
    let gunicorn = of("gunicorn = { switch_interval = '20ms', python = '3.11' }");
    assert_eq!(gunicorn.gvl.name(), "cpython-3.11, quantum 20ms");
}

#[test]
fn slices_are_checked_by_version() {
    let check = |toml: &str, expected: &str| {
        let told = of_toml(toml).unwrap_err().to_string();
        assert!(told.ends_with(expected), "{told}");
    };
    let timeslice =
        "expected whole milliseconds from 1ms to 1h, such as \"10ms\", on Ruby 3.4 or later";
    for given in ["'10ms', ruby = '3.3'", "'1500us'", "'0s'", "'2h'"] {
        let told = of_toml(&format!("puma = {{ timeslice = {given} }}")).unwrap_err().to_string();
        assert!(told.contains("puma.timeslice: ") && told.ends_with(timeslice), "{told}");
    }
    check(
        "unicorn = { priority = 4 }",
        "unicorn.priority: 4 is not allowed, expected a whole number in -3..=3",
    );
    let interval =
        "expected a duration from 10us to 1h with a unit, such as \"1ms\", on a CPython with a GIL";
    check("uvicorn = { switch_interval = '1ms', python = '3.13t' }", interval);
    check("gunicorn = { switch_interval = '1us' }", interval);
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
            let puma = if queue_requests { puma.timeslice(ms(10)).priority(-2) } else { puma };
            let puma = threads.into_iter().fold(puma.queue_requests(queue_requests), Puma::threads);
            min_threads.into_iter().fold(puma, Puma::min_threads).into()
        },
    );
    let unicorn = (workers(1), "[4-6]\\.[0-9]\\.[0-9]", of(1..=65_535_u32)).prop_map(
        |(workers, version, backlog)| {
            let unicorn = unicorn().workers(workers).version(version);
            backlog.into_iter().fold(unicorn, Unicorn::backlog).into()
        },
    );
    let uvicorn =
        (workers(1), handlers(), 1..=1024_u32).prop_map(|(workers, handlers, threads)| {
            let uvicorn = uvicorn().workers(workers).handlers(handlers).offload_threads(threads);
            if threads % 2 == 0 { uvicorn.switch_interval(ms(1)).into() } else { uvicorn.into() }
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
    let custom = (workers(1), 1..=1024_u32, accepts(), any::<bool>()).prop_map(
        |(workers, threads, accept, accepts)| {
            let custom = custom().name("mine").workers(workers).threads(threads);
            let custom = custom.min_threads(threads / 2);
            if accepts { custom.accept(accept).into() } else { custom.into() }
        },
    );
    let pitchfork = (workers(1), "0\\.[0-9]{1,2}\\.[0-9]")
        .prop_map(|(workers, version)| pitchfork().workers(workers).version(version).into());
    let policy = prop::sample::select(vec![Policy::RoundRobin, Policy::LeastConn]);
    let weights = of(proptest::collection::vec(1..=1000_u32, 1..5));
    let nginx = (1..=1024_u32, policy, weights, 1..=1024_u32, 1..=1024_u32).prop_map(
        |(backends, policy, weights, workers, threads)| {
            let backends = weights.as_ref().map_or(backends, |weights| weights.len() as u32);
            let nginx = nginx().backends(backends).policy(policy).workers(workers);
            let nginx = nginx.server(super::puma().threads(threads));
            weights.into_iter().fold(nginx, Nginx::weights).into()
        },
    );
    let webrick = (1..=10_000_u32).prop_map(|n| webrick().max_clients(n).into());
    prop_oneof![puma, unicorn, pitchfork, uvicorn, gunicorn, apache, pool, webrick, custom, nginx]
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
