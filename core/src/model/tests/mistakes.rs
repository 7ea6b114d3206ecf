//! What models refuse, in the grammar of `error`.

use super::*;

/// The mistakes of a document, one a line.
fn check(toml: &str, expected: &[&str]) {
    let error = of_toml(toml).expect_err(toml).to_string();
    assert_eq!(error.lines().collect::<Vec<_>>(), expected, "{toml}");
}

#[test]
fn every_mistake_of_a_model_has_its_path() {
    check(
        "passenger = {}",
        &["model: a table of {passenger} is not allowed, \
           expected a model: one of puma, unicorn, pitchfork, webrick, uvicorn, gunicorn, \
           apache, nginx, pool, custom"],
    );
    check(
        "puma = {}\npool = {}",
        &["model: a table of {puma, pool} is not allowed, \
           expected one model: only one of puma, unicorn, pitchfork, webrick, uvicorn, \
           gunicorn, apache, nginx, pool, custom"],
    );
    check(
        "nginx = { backends = 2, weights = [1], policy = 'hash', server = { unicorn = {} } }",
        &[
            "model.nginx.server: a unicorn of several processes or with a socket of its own is not \
             allowed, expected a server of one process, such as { puma = { threads = 5 } } or \
             { uvicorn = {} }",
            "model.nginx.policy: \"hash\" is not allowed, expected \"round-robin\" or \"least-conn\"",
            "model.nginx.weights: a list of 1 is not allowed, expected a list of whole numbers, one for \
             each backend",
        ],
    );
    for server in ["puma = { workers = 'auto' }", "uvicorn = { workers = 'auto' }", "nginx = {}"] {
        let toml = format!("nginx = {{ server = {{ {server} }} }}");
        let told = of_toml(&toml).expect_err(&toml).to_string();
        assert!(told.contains("expected a server of one process"), "{told}");
    }
    check("puma = 5", &["model.puma: 5 is not allowed, expected a table"]);
    check(
        "puma = { worker = 1, workers = 1025, threads = 0, version = '9.0', ruby = '2.7' }\nx = 1",
        &[
            "model.x: this key is not allowed, expected one of puma",
            "model.puma.worker: this key is not allowed, expected one of workers, threads, \
             min_threads, queue_requests, version, ruby, timeslice, priority, backlog",
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
        &[
            "model.webrick.workers: this key is not allowed, expected one of max_clients, ruby, timeslice, \
           priority",
        ],
    );
    check(
        "unicorn = { workers = 0, threads = 2, version = 'main', ruby = '3.0' }",
        &[
            "model.unicorn.threads: this key is not allowed, expected one of workers, version, \
             ruby, timeslice, priority, backlog",
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
