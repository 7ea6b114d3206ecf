//! Queueing theory, exact: each mean is within the simulation's own 99 % interval, from 20 runs of
//! 50,000 requests each.

use super::*;
use crate::load::{closed, open};
use crate::workload::{Dist, Pool, Step, checkout, exp, io, lognormal, ms, us};

const RUNS: u64 = 20;
const REQUESTS: u64 = 50_000;
/// The 99.5th percentile of Student's distribution with 19 degrees of freedom.
const T: f64 = 2.861;

/// Compares a figure of each run with theory.
fn check(
    threads: u32,
    workload: &Workload,
    load: &Load,
    theory: f64,
    figure: impl Fn(&Recording) -> f64,
) {
    let machine = Machine::ideal(1);
    let runs =
        (1..=RUNS).map(|seed| figure(&run(servers(threads), workload, load, &machine, seed)));
    let figures: Vec<f64> = runs.collect();
    let n = RUNS as f64;
    let mean = figures.iter().sum::<f64>() / n;
    let variance = figures.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / (n - 1.0);
    let half = T * (variance / n).sqrt();
    assert!(half < theory * 0.05, "{mean} +- {half} says nothing");
    assert!((mean - theory).abs() < half, "{mean} +- {half}, in theory {theory}");
}

/// `servers` that take `service` each, at Poisson arrivals; the mean response time in milliseconds.
fn open_queue(servers: u32, rate: f64, service: Dist, theory: f64) {
    let workload = Workload::from([io(service)]);
    check(servers, &workload, &open(rate).requests(REQUESTS), theory, mean_ms);
}

#[test]
fn m_m_1() {
    // 1 / (mu - lambda).
    open_queue(1, 800.0, exp(ms(1)), 1e3 / (1000.0 - 800.0));
}

/// Erlang's C: the probability that an arrival waits (Erlang 1917), by his B's recursion.
fn erlang_c(servers: u32, load: f64) -> f64 {
    let b = (1..=servers).fold(1.0, |b, n| load * b / (f64::from(n) + load * b));
    let c = f64::from(servers);
    c * b / (c - load * (1.0 - b))
}

#[test]
fn m_m_c() {
    for (servers, rate) in [(3, 2400.0), (12, 10_800.0)] {
        let waits = erlang_c(servers, rate / 1000.0);
        let theory = 1.0 + waits * 1e3 / (f64::from(servers) * 1000.0 - rate);
        open_queue(servers, rate, exp(ms(1)), theory);
    }
}

/// Pollaczek and Khinchine: service s, its squared coefficient of variation, utilisation.
fn pollaczek_khinchine(service_ms: f64, scv: f64, utilisation: f64) -> f64 {
    service_ms + utilisation * service_ms * (1.0 + scv) / (2.0 * (1.0 - utilisation))
}

#[test]
fn m_d_1() {
    open_queue(1, 800.0, ms(1).into(), pollaczek_khinchine(1.0, 0.0, 0.8));
}

#[test]
fn m_g_1() {
    // A log-normal of median m has mean m exp(s^2/2), and the square of its variation is exp(s^2) - 1.
    let sigma = 0.8_f64;
    let mean = libm::exp(sigma * sigma / 2.0);
    let theory = pollaczek_khinchine(mean, libm::exp(sigma * sigma) - 1.0, 0.7);
    open_queue(1, 700.0 / mean, lognormal(ms(1), sigma), theory);
}

#[test]
fn machine_repair() {
    // M/M/1//N: n of N users wait or are served with probability p0 N!/(N-n)! (s/z)^n.
    let (users, think, service) = (10_u32, 8.0, 1.0);
    let mut term = 1.0;
    let mut sum = 1.0;
    for n in 0..users {
        term *= f64::from(users - n) * service / think;
        sum += term;
    }
    let throughput = (1.0 - 1.0 / sum) / service;
    let response = f64::from(users) / throughput - think;
    let load = closed(users).think(exp(ms(8))).requests(REQUESTS);
    check(1, &Workload::from([io(exp(ms(1)))]), &load, response, mean_ms);
}

#[test]
fn mean_value_analysis() {
    // Reiser and Lavenberg 1980: a closed network of two stations and a time to think.
    let (users, think, services) = (15_u32, 20.0, [1.0, 1.6]);
    let mut queues = [0.0; 2];
    let mut response = 0.0;
    for n in 1..=users {
        let at = [services[0] * (1.0 + queues[0]), services[1] * (1.0 + queues[1])];
        response = at[0] + at[1];
        let throughput = f64::from(n) / (think + response);
        queues = [throughput * at[0], throughput * at[1]];
    }
    let station = |name, time| -> Step { checkout(name, [io(exp(time))]) };
    let workload = Workload::from([station("first", ms(1)), station("second", us(1600))]);
    let workload = workload.pool(Pool::new("first", 1)).pool(Pool::new("second", 1));
    let load = closed(users).think(exp(ms(20))).requests(REQUESTS);
    check(users, &workload, &load, response, mean_ms);
}

#[test]
fn littles_law() {
    // What waits in the queue is arrivals x the time they wait there.
    let workload = Workload::from([io(exp(ms(1)))]);
    let load = open(1600.0).requests(REQUESTS);
    for seed in 1..=3 {
        let run = run(servers(2), &workload, &load, &Machine::ideal(1), seed);
        let all = run.overall("all");
        let waited = all.latency.sum() - all.demand.service;
        let depth = waited.as_secs_f64() / run.elapsed.as_secs_f64();
        assert!((run.queue.depth_mean - depth).abs() < 1e-6, "{} {depth}", run.queue.depth_mean);
    }
}
