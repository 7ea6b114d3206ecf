//! How requests come to the workers, by model and version.

use super::*;
use crate::cluster::accept::{Accept, AcceptWait, Backoff, Between, Keep, Room, Then};
use std::time::Duration;

fn check_dispatch(toml: &str, expected: Dispatch) {
    assert_eq!(of_toml(toml).unwrap().topology().dispatch, expected, "{toml}");
}

fn check_accept(toml: &str, expected: Accept) {
    check_dispatch(toml, Dispatch::Accept(expected));
}

#[test]
fn one_process_is_not_a_cluster_of_one() {
    for single in ["puma = {}", "puma = { version = '5.0', queue_requests = false }"] {
        let topology = of_toml(single).unwrap().topology();
        assert!(matches!(topology.dispatch, Dispatch::Alone(_)), "{single}");
        assert!(!topology.dispatch.has_workers(), "{single}");
    }
    for single in ["pool = {}", "webrick = {}", "uvicorn = {}"] {
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
        (0, "5.6.9", true, true, Backoff::None),
        (0, "6.4.3", true, true, until_one_ends),
        (0, "6.5.0", true, true, Backoff::None),
        (0, "7.0.3", true, false, Backoff::WhenFullFor { length: Duration::from_micros(100) }),
        (0, "7.0.4", true, false, Backoff::None),
        (0, "main", false, true, Backoff::None),
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
        let toml = format!(
            "puma = {{ workers = {workers}, version = '{version}', \
             queue_requests = {queue_requests} }}"
        );
        let accept = of_toml(&toml).unwrap().topology().dispatch.accept().unwrap();
        assert_eq!(matches!(accept.between, Between::Kept(_)), queue_requests, "{toml}");
        let between = accept.between;
        let wait = AcceptWait::Herd;
        let expected = Accept { wait, only_when_free: gate, backoff, burst: 1, between };
        assert_eq!(accept, expected, "{toml}");
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
    check_accept("pitchfork = { workers = 3 }", one_at_a_time);
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
fn puma_keeps_a_connection_by_its_version() {
    let waits = |room| Keep {
        requests_max: None,
        then: Then::Wait { most: Duration::from_millis(200), in_a_row: 10, room },
    };
    let from_7 = |then| Keep { requests_max: Some(1000), then };
    for (version, keep) in [
        ("5.0", waits(Room::Always)),
        ("5.3.1", waits(Room::Always)),
        ("5.3.2", waits(Room::WhereOthersWait)),
        ("6.6.1", waits(Room::WhereOthersWait)),
        ("7.0.0", from_7(Then::Watch)),
        ("7.0.3", from_7(Then::Watch)),
        ("7.0.4", from_7(Then::Queue)),
        ("7.1", from_7(Then::ServeWhereOneWaits)),
        ("8.0.2", from_7(Then::ServeWhereOneWaits)),
        ("main", from_7(Then::ServeWhereOneWaits)),
    ] {
        let model = of_toml(&format!("puma = {{ workers = 2, version = '{version}' }}")).unwrap();
        let Dispatch::Accept(accept) = model.topology().dispatch else { panic!("{version}") };
        assert_eq!(accept.between, Between::Kept(keep), "{version}");
    }
}
