//! Clients that give up and try again: when, how often, and what the server does meanwhile.

use super::*;
use crate::load::{closed, open};
use crate::measure::ClientUse;
use crate::model::{apache, gunicorn, nginx, puma, unicorn, uvicorn};
use crate::workload::{choose, fail, io, ms, secs};
use proptest::prelude::*;

fn alone(model: impl Into<Model>, steps: impl Into<Workload>, load: &Load) -> Recording {
    run(model, &steps.into(), load, &Machine::ideal(8), 1)
}

/// Retries, abandoned, discarded.
fn counts(run: &Recording) -> (u64, u64, u64) {
    let ClientUse { retries, abandoned, discarded, .. } =
        run.clients.expect("a load with a timeout");
    (retries, abandoned, discarded)
}

fn failed(run: &Recording, kind: &str) -> u64 {
    run.overall("all").failed.get(kind).copied().unwrap_or(0)
}

/// One slot, a second each; whoever gives up does so after 400 ms, twice a request.
#[test]
fn a_server_works_on_for_nobody() {
    let load = closed(1).requests(3).timeout(ms(400)).retries(1);
    let run = alone(servers(1), [io(secs(1))], &load);
    let all = run.overall("all");
    assert_eq!((all.ok(), failed(&run, "timeout"), run.unfinished), (0, 3, 0));
    assert_eq!(counts(&run), (3, 6, 0));
    // Attempts begin every 400 ms and take a second each, one after the other.
    assert_eq!((run.elapsed, run.last_answer), (secs(6), ms(2400)));
    assert_eq!(run.clients.unwrap().demand.service, secs(6));
    assert_eq!(
        (all.failed_latency.min(), all.failed_latency.max()),
        (Some(ms(800)), Some(ms(800)))
    );
}

/// The second of two waits for the first, gives up while it is served, and is served once more.
#[test]
fn a_latency_counts_from_the_first_attempt() {
    for (pause, latency, elapsed) in [(0, 3000, 3000), (500, 3100, 3100)] {
        let load = closed(2).requests(2).timeout(ms(1600)).retries(3).retry_after(ms(pause));
        let run = alone(servers(1), [io(secs(1))], &load);
        let all = run.overall("all");
        assert_eq!((all.ok(), all.failures()), (2, 0));
        assert_eq!((all.latency.min(), all.latency.max()), (Some(secs(1)), Some(ms(latency))));
        assert_eq!((counts(&run), run.elapsed), ((1, 1, 0), ms(elapsed)));
    }
}

/// Three at once, one slot, a second each, a patience of 1.5 s: the second is being served when its
/// client leaves, the third waits.
#[test]
fn only_puma_looks_whether_anybody_is_there() {
    let load = closed(3).requests(3).timeout(ms(1500));
    for (model, expected, seconds) in [
        (puma().threads(1).into(), (0, 1, 1), 2),
        (Model::from(puma().workers(1).threads(1)), (0, 1, 1), 2),
        (unicorn().into(), (0, 2, 0), 3),
        (gunicorn().into(), (0, 2, 0), 3),
        (gunicorn().threads(2).into(), (0, 1, 0), 2),
        (servers(1), (0, 2, 0), 3),
    ] {
        let run = alone(model.clone(), [io(secs(1))], &load);
        let ok = if seconds == 2 && expected.2 == 0 { 2 } else { 1 };
        assert_eq!((run.overall("all").ok(), failed(&run, "timeout")), (ok, 3 - ok), "{model:?}");
        assert_eq!((counts(&run), run.elapsed), (expected, secs(seconds)), "{model:?}");
    }
}

#[test]
fn an_answer_that_fails_is_not_asked_for_again() {
    let load = closed(1).requests(4).timeout(secs(1)).retries(5);
    let run = alone(servers(1), [io(ms(10)), fail(500)], &load);
    assert_eq!((counts(&run), failed(&run, "status 500")), ((0, 0, 0), 4));
}

#[test]
fn a_load_without_a_timeout_tells_nothing() {
    let run = alone(servers(1), [io(ms(10))], &closed(1).requests(4));
    assert_eq!(run.clients, None);
}

/// What was not done when the time was over is no work for nobody, and what is left in the server is
/// no request.
#[test]
fn the_end_of_a_run_cuts_attempts_off() {
    let load = closed(1).duration(secs(1)).timeout(ms(300)).retries(1);
    let run = alone(servers(1), [io(secs(1)), io(secs(1))], &load);
    // 0 to 600 ms failed; the next one has begun its second attempt.
    assert_eq!((failed(&run, "timeout"), run.unfinished, counts(&run)), (1, 1, (2, 0, 0)));
}

/// 1.2 times what one slot serves, and clients that ask again: what is served is ever older, until
/// nobody waits for it any more. The same without a timeout serves all the time.
#[test]
fn a_retry_storm_comes_of_itself_and_stays() {
    let steps = [io(ms(100))];
    let rate = |load: Load| load.constant().duration(secs(300));
    let goodput = |load: &Load| alone(unicorn(), steps.clone(), load).overall("all").ok();
    let patient = goodput(&rate(open(12.0)));
    let hasty = alone(unicorn(), steps.clone(), &rate(open(12.0)).timeout(secs(2)).retries(3));
    assert_eq!(patient, 3000);
    let ok = hasty.overall("all").ok();
    assert!(ok < 300, "{ok}");
    let (retries, abandoned, _) = counts(&hasty);
    // All slots' work is done, and most of it for nobody.
    assert!((2999..=3000).contains(&(ok + abandoned)), "{ok} + {abandoned}");
    assert!(retries > 5000, "{retries}");
    // Below what is served, nobody gives up.
    let calm = alone(unicorn(), steps, &rate(open(9.0)).timeout(secs(2)).retries(3));
    assert_eq!((calm.overall("all").failures(), counts(&calm)), (0, (0, 0, 0)));
}

fn model() -> impl Strategy<Value = Model> {
    prop_oneof![
        Just(servers(2)),
        Just(pool().workers(2).threads(2).into()),
        Just(puma().threads(2).into()),
        Just(puma().workers(2).threads(2).into()),
        Just(puma().workers(2).threads(2).version("6.6.1").into()),
        Just(puma().workers(1).threads(3).version("5.0.0").into()),
        Just(puma().threads(2).version("6.6.1").into()),
        Just(puma().workers(2).threads(2).version("7.0.4").into()),
        Just(nginx().backends(2).server(puma().threads(2)).into()),
        Just(unicorn().workers(2).into()),
        Just(gunicorn().workers(2).threads(2).into()),
        Just(uvicorn().into()),
        Just(uvicorn().workers(2).into()),
        Just(apache().workers(2).threads(2).into()),
        Just(apache().mpm(crate::model::Mpm::Prefork).workers(3).into()),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    /// Each request ends once, each attempt is accounted for, whatever clients do.
    #[test]
    fn every_request_has_one_outcome(
        model in model(),
        users in 1_u32..12,
        timeout in 1_u64..60,
        retries in 0_u32..4,
        pause in 0_u64..30,
        is_kept in any::<bool>(),
        is_open in any::<bool>(),
        client in prop_oneof![Just(0_u64), 1_u64..8],
        seed in any::<u64>(),
    ) {
        let pattern = if is_open { open(f64::from(users) * 40.0) } else { closed(users) };
        let mut load = pattern.requests(60).timeout(ms(timeout)).retries(retries);
        if pause > 0 {
            load = load.retry_after(crate::workload::exp(ms(pause)));
        }
        if is_kept {
            load = load.keep_alive();
        }
        let steps = [
            crate::workload::cpu(ms(1)),
            choose([(2.0, vec![io(ms(5))]), (1.0, vec![io(crate::workload::exp(ms(20)))])]),
            choose([(9.0, vec![]), (1.0, vec![fail(500)])]),
        ];
        let workload = Workload::from(steps);
        let machine = Machine { client: Some(ms(client)), ..Machine::default() };
        let run = super::run(model.clone(), &workload, &load, &machine, seed);
        let all = run.overall("all");
        let (again, abandoned, discarded) = counts(&run);
        prop_assert_eq!((all.requests(), run.unfinished), (60, 0));
        prop_assert!(again <= 60 * u64::from(retries));
        let answered = all.ok() + failed(&run, "status 500");
        let attempts = answered + abandoned + discarded;
        prop_assert!(attempts <= 60 + again);
        if client == 0 {
            // Without a cost of the client every attempt comes to the server.
            prop_assert_eq!(attempts, 60 + again);
        }
        // Who waits at most so long, so often, has an answer or none by then.
        let longest = ms(timeout) * (retries + 1);
        let pauses = if pause > 0 { secs(60) } else { ms(0) };
        prop_assert!(all.latency.max() <= Some(longest + pauses));
    }
}
