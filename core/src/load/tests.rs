//! The driver in virtual time, and loads in and out of documents.

use super::*;
use crate::clock::{Nanos, nanos};
use crate::error::Error;
use crate::value::{Node, Value};
use crate::workload::{Dist, Endpoint, Workload, cpu, exp, ms, secs};
use proptest::prelude::*;
use std::collections::{BTreeMap, BinaryHeap};

/// Endpoints by name, weight and bound users.
fn endpoints(all: &[(&str, f64, Option<u32>)]) -> Workload {
    all.iter().fold(Workload::new(), |workload, (name, weight, users)| {
        let mut endpoint = Endpoint::new(*name, [cpu(ms(1))]).weight(*weight);
        endpoint.users = *users;
        workload.endpoint(endpoint)
    })
}

fn one() -> Workload {
    Workload::of([cpu(ms(1))])
}

struct Run {
    arrivals: Vec<Arrival>,
    in_flight_max: usize,
    end: Nanos,
}

/// Runs a load to its end with a server that takes `service` for each request, without a queue.
fn run(load: &Load, workload: &Workload, seed: u64, service: Nanos) -> Run {
    let mut driver = Driver::new(load, workload, seed);
    let mut in_flight = BinaryHeap::new();
    let mut run = Run { arrivals: Vec::new(), in_flight_max: 0, end: 0 };
    while !driver.is_exhausted(run.end) {
        while let Some(arrival) = driver.take_due(run.end) {
            in_flight.push(std::cmp::Reverse((run.end + service, arrival.number, arrival.user)));
            run.arrivals.push(arrival);
            run.in_flight_max = run.in_flight_max.max(in_flight.len());
        }
        let finish = in_flight.peek().map(|std::cmp::Reverse((at, ..))| *at);
        match (driver.next_due(), finish) {
            (Some(due), at) if at.is_none_or(|at| due < at) => run.end = due,
            (_, Some(at)) => {
                let std::cmp::Reverse((_, _, user)) = in_flight.pop().unwrap();
                run.end = at;
                driver.finished(user, at);
            }
            (_, None) => assert!(driver.is_exhausted(run.end), "nothing is due or in flight"),
        }
    }
    run
}

fn read(value: &Value) -> Result<Load, Error> {
    Node::read_all(value, "load", Load::read)
}

/// The mistakes of a document, one a line.
fn check(toml: &str, expected: &[&str]) {
    let error = read(&Value::from_toml(toml).unwrap()).expect_err(toml).to_string();
    assert_eq!(error.lines().collect::<Vec<_>>(), expected, "{toml}");
}

fn check_built(load: &Load, expected: &str) {
    assert_eq!(load.check().unwrap_err().to_string(), expected);
}

#[test]
fn a_closed_loop_issues_exactly_its_requests() {
    for users in [1, 3, 12, 200] {
        let run = run(&closed(users).requests(120), &one(), 1, 1000);
        assert_eq!(run.arrivals.len(), 120);
        assert_eq!(run.in_flight_max, 120.min(users as usize));
        assert!(run.arrivals.iter().zip(0..).all(|(arrival, n)| arrival.number == n));
    }
}

#[test]
fn without_a_think_time_the_next_request_is_due_at_once() {
    let mut driver = Driver::new(&closed(1).requests(2), &one(), 1);
    assert!(driver.take_due(0).is_some());
    assert_eq!(driver.next_due(), None);
    assert!(!driver.is_exhausted(5));
    driver.finished(Some(0), 7);
    assert_eq!(driver.next_due(), Some(7));
    assert_eq!(driver.take_due(7).map(|a| (a.intended, a.number)), Some((7, 1)));
    assert!(driver.is_exhausted(7));
}

#[test]
fn no_request_starts_at_the_end_of_the_duration() {
    let closed = run(&closed(2).duration(ms(10)), &one(), 1, nanos(ms(5)));
    assert_eq!(closed.arrivals.len(), 4, "at 0 and 5 ms, not at 10");
    let open = run(&open(1000.0).constant().duration(ms(10)), &one(), 1, 1);
    assert_eq!(open.arrivals.len(), 10);
    assert_eq!(open.arrivals.last().map(|a| a.intended), Some(9_000_000));
}

#[test]
fn users_start_one_after_another_at_the_spawn_rate() {
    let load = closed(4).spawn_rate(10.0).requests(4);
    let run = run(&load, &one(), 1, nanos(secs(9)));
    let starts: Vec<_> = run.arrivals.iter().map(|a| (a.user, a.intended)).collect();
    let expected = (0..4).map(|n| (Some(n), u64::from(n) * 100_000_000));
    assert_eq!(starts, expected.collect::<Vec<_>>());
}

#[test]
fn constant_arrivals_are_exact() {
    let intended = |rate: f64, n: u64| {
        let run = run(&open(rate).constant().requests(n), &one(), 1, 1);
        run.arrivals.iter().map(|a| a.intended).collect::<Vec<_>>()
    };
    let expected: Vec<_> = (0..10_000).map(|n| n * 20_000_000).collect();
    assert_eq!(intended(50.0, 10_000), expected);
    assert_eq!(intended(3.0, 4), [0, 333_333_333, 666_666_667, 1_000_000_000]);
    assert_eq!(intended(1e6, 3), [0, 1000, 2000]);
}

#[test]
fn poisson_gaps_have_the_mean_and_the_deviation_of_the_rate() {
    let run = run(&open(50.0).requests(100_000), &one(), 1, 1);
    let times = std::iter::once(0).chain(run.arrivals.iter().map(|a| a.intended));
    let times: Vec<_> = times.map(|t| t as f64 / 1e9).collect();
    let gaps: Vec<_> = times.windows(2).map(|pair| pair[1] - pair[0]).collect();
    let mean = gaps.iter().sum::<f64>() / gaps.len() as f64;
    let variance = gaps.iter().map(|g| (g - mean).powi(2)).sum::<f64>() / gaps.len() as f64;
    // Four standard errors of 0.02/sqrt(100,000), and as much of the deviation.
    assert!((mean - 0.02).abs() < 0.000_26, "{mean}");
    assert!((variance.sqrt() - 0.02).abs() < 0.000_4, "{}", variance.sqrt());
}

#[test]
fn the_same_seed_gives_the_same_arrivals() {
    let workload = endpoints(&[("a", 1.0, None), ("b", 3.0, None)]);
    let seen = |load: &Load, seed| {
        let run = run(load, &workload, seed, 1000);
        let draw = |a: Arrival| (a.user, a.endpoint, a.intended, { a.stream }.unit());
        run.arrivals.into_iter().map(draw).collect::<Vec<_>>()
    };
    for load in [closed(5).think(exp(ms(1))).requests(100), open(100.0).requests(100)] {
        assert_eq!(seen(&load, 7), seen(&load, 7));
        assert_ne!(seen(&load, 7), seen(&load, 8));
    }
}

#[test]
fn a_user_more_does_not_move_the_draws_of_the_others() {
    let workload = endpoints(&[("a", 1.0, None), ("b", 3.0, None)]);
    let seen = |users| {
        let mut by_user = BTreeMap::<_, Vec<_>>::new();
        let load = closed(users).think(exp(ms(1))).duration(ms(50));
        for arrival in run(&load, &workload, 7, 1000).arrivals {
            by_user.entry(arrival.user).or_default().push((arrival.endpoint, arrival.intended));
        }
        by_user
    };
    let (five, mut six) = (seen(5), seen(6));
    assert!(six.remove(&Some(5)).is_some());
    assert_eq!(five, six);
}

#[test]
fn bound_users_ask_for_their_endpoint_and_the_others_by_weight() {
    let workload = endpoints(&[("a", 1.0, None), ("b", 1.0, Some(2)), ("c", 3.0, None)]);
    let run = run(&closed(12).requests(24_000), &workload, 1, 1000);
    let mut counts = [0; 3];
    for arrival in &run.arrivals {
        counts[arrival.endpoint] += 1;
        assert_eq!(arrival.endpoint == 1, arrival.user < Some(2), "{:?}", arrival.user);
    }
    assert_eq!(counts[1], 4000);
    // A quarter of 20,000, within four standard errors of 61.
    assert!((4755..=5245).contains(&counts[0]), "{counts:?}");
}

#[test]
fn a_million_users_are_no_trouble() {
    let run = run(&closed(1_000_000).requests(2_000_000), &one(), 1, 1000);
    assert_eq!(run.in_flight_max, 1_000_000);
    assert_eq!(run.arrivals.len(), 2_000_000);
}

#[test]
fn a_load_without_an_end_has_no_requests() {
    let mut driver = Driver::new(&closed(5), &one(), 1);
    assert!(driver.is_exhausted(0));
    assert!(driver.take_due(0).is_none());
}

#[test]
fn every_mistake_of_a_load_has_its_path() {
    check("", &["load: neither closed nor open is not allowed, expected one of the two"]);
    check(
        "closed = { users = 0, spawn_rate = -1, think = '1', requests = 0 }\nconnections = 'old'",
        &[
            "load.closed.users: 0 is not allowed, expected a whole number in 1..=1000000",
            "load.closed.spawn_rate: -1 is not allowed, expected a number above 0, \
             at most 1000000",
            "load.closed.think: \"1\" is not allowed, expected a duration from 0ns to 24h with a \
             unit, such as \"100ms\", or \"exp(100ms)\", \"lognormal(80ms, 0.5)\" (sigma 0 to 4), \
             { empirical = [\"1ms\", ...] }",
            "load.closed.requests: 0 is not allowed, expected a whole number in 1..=100000000",
            "load.connections: \"old\" is not allowed, expected \"new\" or \"keep-alive\"",
        ],
    );
    check(
        "open = { rate = nan, arrivals = 'even', duration = '0s', think = '1s' }",
        &[
            "load.open.think: this key is not allowed, expected one of rate, arrivals, requests, \
             duration",
            "load.open.rate: NaN is not allowed, expected a number above 0, at most 1000000",
            "load.open.arrivals: \"even\" is not allowed, expected \"poisson\" or \"constant\"",
            "load.open.duration: \"0s\" is not allowed, expected a duration from 1ns to 24h with \
             a unit, such as \"60s\"",
        ],
    );
    check(
        "closed = { requests = 1, duration = '1s' }",
        &[
            "load.closed.users: nothing is not allowed, expected a number of users",
            "load.closed: requests beside duration is not allowed, expected one of the two",
        ],
    );
    check_built(
        &closed(1),
        "load.closed: neither requests nor duration is not allowed, expected one of the two",
    );
    check_built(
        &open(1.0).requests(1).think(ms(1)),
        "load.open.think: this key is not allowed, expected one of rate, arrivals, requests, \
         duration",
    );
    check_built(
        &closed(1).requests(u64::MAX),
        "load.closed.requests: 9223372036854775807 is not allowed, expected a whole number in \
         1..=100000000",
    );
    for rate in [0.0, -1.0, f64::NAN, f64::INFINITY, 1_000_001.0] {
        assert!(open(rate).requests(1).check().is_err(), "{rate}");
    }
}

pub(crate) fn loads() -> impl Strategy<Value = Load> {
    let until = prop_oneof![
        (1..=100_000_000_u64).prop_map(Until::Requests),
        (1..=86_400_000_u64).prop_map(|n| Until::Duration(ms(n))),
    ];
    let rate = prop_oneof![1e-6..=1e6, Just(50.0)];
    let think = prop_oneof![(0..1000_u64).prop_map(|n| Dist::Constant(ms(n))), Just(exp(ms(5)))];
    let spawn_rate = proptest::option::of(rate.clone());
    let closed = (1..=1_000_000_u32, spawn_rate, think, until.clone()).prop_map(
        |(users, spawn_rate, think, until)| Pattern::Closed {
            users,
            spawn_rate,
            think,
            until: Some(until),
        },
    );
    let arrivals = prop_oneof![Just(Arrivals::Constant), Just(Arrivals::Poisson)];
    let open = (rate, arrivals, until).prop_map(|(rate, arrivals, until)| Pattern::Open {
        rate,
        arrivals,
        until: Some(until),
    });
    let retries = proptest::option::of((0..=100_u32, proptest::option::of(0..1000_u64)));
    let patience = proptest::option::of((1..=86_400_000_u64, retries));
    (prop_oneof![closed, open], any::<bool>(), patience).prop_map(|(pattern, keep, patience)| {
        let load = Load::new(pattern);
        let load = if keep { load.keep_alive() } else { load };
        let Some((timeout, retries)) = patience else { return load };
        let load = load.timeout(ms(timeout));
        let Some((retries, pause)) = retries else { return load };
        pause
            .into_iter()
            .fold(load.retries(retries), |load, pause| load.retry_after(exp(ms(pause))))
    })
}

proptest! {
    #[test]
    fn what_is_printed_reads_back(load in loads()) {
        prop_assert_eq!(read(&load.to_value()).unwrap(), load);
    }
}
