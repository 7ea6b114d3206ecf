//! A CPU quota, against what can be worked out by hand.

use super::{millis, run, servers};
use crate::experiment::Experiment;
use crate::gvl::Gvl;
use crate::load::closed;
use crate::machine::Machine;
use crate::measure::{Recording, Throttled};
use crate::model::{pool, puma};
use crate::run::Engine;
use crate::workload::{Workload, cpu, io, ms, native};
use std::time::Duration;

/// A machine on which nothing but computing takes time.
fn machine(cores: u32, quota: f64) -> Machine {
    Machine { quota: Some(quota), ..Machine::ideal(cores) }
}

/// The latencies in milliseconds that were met, each as far as the histogram tells it.
fn latencies(run: &Recording) -> (f64, f64) {
    let latency = run.overall("all").latency;
    (millis(latency.min().unwrap()), millis(latency.max().unwrap()))
}

/// Of c ms, b in each period of 100 ms: (c / b, rounded up, less one) periods, and the rest.
#[test]
fn one_thread_takes_as_many_periods_as_it_needs() {
    let took = |c, quota| {
        let steps = Workload::from([native(c)]);
        run(servers(1), &steps, &closed(1).requests(1), &machine(1, quota), 1)
    };
    for (c, quota, expected) in
        [(10, 0.2, 10.0), (20, 0.2, 20.0), (21, 0.2, 101.0), (50, 0.2, 210.0), (60, 0.2, 220.0)]
    {
        assert_eq!(latencies(&took(ms(c), quota)).1, expected, "{c} ms at {quota}");
    }
    let throttled = took(ms(50), 0.2).throttled.unwrap();
    assert_eq!(throttled, Throttled { periods: 3, periods_throttled: 2, time: ms(160) });
    let shorter = Machine { quota_period: Some(ms(10)), ..machine(1, 0.2) };
    let steps = Workload::from([native(ms(50))]);
    let run = run(servers(1), &steps, &closed(1).requests(1), &shorter, 1);
    assert_eq!(latencies(&run).1, 242.0);
}

/// The tail of threads that compute at once in a container: done with the quota in a quarter of the
/// period, they stand still for the rest of it.
#[test]
fn four_cores_use_one_cpu_in_a_quarter_of_the_period() {
    let steps = Workload::from([native(ms(50))]);
    let run = run(servers(4), &steps, &closed(4).requests(4), &machine(4, 1.0), 1);
    assert_eq!(latencies(&run), (125.0, 125.0));
    assert_eq!(run.cpu, ms(200));
    let throttled = Throttled { periods: 2, periods_throttled: 1, time: ms(75) };
    assert_eq!(run.throttled, Some(throttled));
}

/// What does not divide is owed: three threads use 100 ns of a budget that lasts them 33.3.
#[test]
fn what_several_cores_used_too_much_is_owed() {
    let steps = Workload::from([native(Duration::from_nanos(700_000))]);
    let short = Machine { quota_period: Some(ms(1)), ..machine(3, 1.0) };
    let run = run(servers(3), &steps, &closed(3).requests(3), &short, 1);
    // 333,334 ns of each period's 333,333.3, then 333,333, then what is left.
    assert_eq!(run.elapsed, Duration::from_nanos(2_000_000 + 700_000 - 333_334 - 333_333));
    assert_eq!(run.cpu, Duration::from_nanos(2_100_000));
}

/// A thread stopped while it holds the lock keeps it.
#[test]
fn who_is_stopped_keeps_the_lock() {
    let steps = Workload::from([cpu(ms(30))]);
    let model = pool().threads(2).gvl(Gvl::cruby());
    let run = run(model, &steps, &closed(2).requests(2), &machine(2, 0.2), 1);
    // The first request: 20 ms, 80 ms of rest, 10 ms. The second has 10 ms of that period, then 20. The
    // other thread waits for the lock all the time, and has no ten ticks of 10 ms to get it by.
    assert_eq!(latencies(&run), (110.0, 220.0));
    assert_eq!(run.gvl.wait, ms(220));
    assert_eq!((run.gvl.hold, run.gvl.forced_yields), (ms(220), 0));
}

/// The lock's timer is a thread like the others: of ten ticks of 10 ms that would cut a thread off, those due
/// while all stand still come late. In periods of 24 ms, of which 18 compute, they are at 10, 24, 34, 48, 58,
/// 72, 82, 96 and 106 ms: the ninth is the last before the request's 90 ms are over.
#[test]
fn the_locks_timer_stands_still_too() {
    let steps = Workload::from([cpu(ms(90))]);
    let machine = Machine { quota_period: Some(ms(24)), ..machine(2, 0.75) };
    let model = pool().threads(2).gvl(Gvl::cruby());
    let run = run(model, &steps, &closed(2).requests(2), &machine, 1);
    assert_eq!(latencies(&run).0, 114.0);
}

/// A thread that wakes when nothing is left waits, even if it only has to answer.
#[test]
fn who_wakes_too_late_waits_for_the_next_period() {
    use crate::workload::Endpoint;
    let steps = Workload::new()
        .endpoint(Endpoint::new("computes", [native(ms(30))]).users(1))
        .endpoint(Endpoint::new("waits", [io(ms(25))]).users(1));
    let run = run(servers(2), &steps, &closed(2).requests(2), &machine(2, 0.2), 1);
    let max = |n: usize| millis(run.endpoints[n].latency.max().unwrap());
    assert_eq!((max(0), max(1)), (110.0, 100.0));
    assert_eq!(run.throttled.map(|throttled| throttled.time), Some(ms(80)));
}

/// Whoever computes all the time gets the quota, no more and no less.
#[test]
fn a_long_run_uses_the_quota() {
    let steps = Workload::from([cpu(ms(3))]);
    for (quota, period) in [(0.5, 100), (1.3, 7), (2.0, 1), (3.999, 250)] {
        let bound = Some(ms(period));
        let machine =
            Machine { cores: Some(4), quota: Some(quota), quota_period: bound, ..<_>::default() };
        let load = closed(32).duration(Duration::from_secs(20));
        let run = run(servers(32), &steps, &load, &machine, 1);
        // The last period may be used up though its rest is not in the run; a switch of 2 us begun
        // with nothing left is owed.
        let whole = 20_000_u64.div_ceil(period) as f64 * quota * period as f64 + 0.01;
        let cpu = millis(run.cpu);
        assert!(cpu <= whole && cpu > whole * 0.99, "{quota}: {cpu} of {whole}");
    }
}

#[test]
fn as_much_as_all_cores_have_is_no_bound() {
    let steps = Workload::from([cpu(ms(3)), io(ms(1))]);
    let load = closed(12).requests(500);
    let ran = |machine: &Machine| run(pool().threads(12), &steps, &load, machine, 7);
    let (without, with) =
        (ran(&Machine::default()), { ran(&Machine { quota: Some(8.0), ..Machine::default() }) });
    assert_eq!((with.elapsed, with.cpu, with.throttled), (without.elapsed, without.cpu, None));
}

#[test]
fn automatic_workers_follow_the_quota() {
    let rows = |quota| {
        let machine = Machine { quota: Some(quota), ..Machine::default() };
        let experiment = Experiment::new(puma().workers(crate::model::Workers::Auto));
        let experiment = experiment.workload([cpu(ms(1))]).load(closed(1).requests(2));
        let experiment = Experiment { machine: Some(machine), ..experiment };
        assert_eq!(
            experiment.check_for(Engine::Real).unwrap_err().to_string(),
            format!(
                "machine.quota: {quota} is not allowed, expected no quota on the real engine, which \
                 has that of the control group it runs in, or the simulator"
            )
        );
        let row = experiment.run(Engine::Sim).unwrap().rows.remove(0);
        (row.title(), row.throttled.is_some())
    };
    assert_eq!(rows(2.5), ("puma (auto: 2 of 8 processors) 2x5".to_owned(), true));
    assert_eq!(rows(0.5), ("puma (auto: 0 of 8 processors) 0x5".to_owned(), true));
    assert_eq!(rows(9.0), ("puma (auto: 8 of 8 processors) 8x5".to_owned(), false));
}
