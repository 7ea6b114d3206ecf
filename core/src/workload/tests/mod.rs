//! The room as a whole: documents and builders in, the same workload or mistakes out.

mod limits;
mod programs;
mod random;

use super::*;
use crate::error::Error;
use crate::value::{Node, Value};

fn read(value: &Value) -> Result<Workload, Error> {
    Node::read_all(value, "workload", Workload::read)
}

fn of_toml(text: &str) -> Result<Workload, Error> {
    read(&Value::from_toml(text).unwrap())
}

/// The mistakes of a document, one a line.
fn check(toml: &str, expected: &[&str]) {
    let error = of_toml(toml).expect_err(toml).to_string();
    assert_eq!(error.lines().collect::<Vec<_>>(), expected, "{toml}");
}

/// The mistakes of a built workload, which are those of its document.
fn check_built(workload: &Workload, expected: &str) {
    let error = workload.check().unwrap_err();
    assert_eq!(error.to_string(), expected);
}

#[test]
fn every_step_is_read_and_built_alike() {
    let toml = r#"
        [[endpoint]]
        name = "a"
        weight = 3
        users = 2
        steps = [
          { cpu = "2ms" }, { io = "exp(100ms)" }, { native = "lognormal(80ms, 0.5)" },
          { hold = { empirical = ["1ms", "2ms"] } },
          { checkout = "db", steps = [{ io = "1ms" }] },
          { repeat = 5, steps = [{ cpu = "1us" }] },
          { choose = [{ weight = 0.5, steps = [] }, { weight = 2, steps = [{ fail = 500 }] }] },
        ]
        [[endpoint]]
        name = "b"
        steps = [{ cpu = "1ms" }]
        [pools]
        db = { size = 5 }
        cache = { size = 1, timeout = "1s", max_connections = 100 }
    "#;
    let none: [Step; 0] = [];
    let steps = [
        cpu(ms(2)),
        io(exp(ms(100))),
        native(lognormal(ms(80), 0.5)),
        hold(empirical([ms(1), ms(2)]).unwrap()),
        checkout("db", [io(ms(1))]),
        repeat(5, [cpu(us(1))]),
        choose([(0.5, none.to_vec()), (2.0, vec![fail(500)])]),
    ];
    let built = Workload::new()
        .endpoint(Endpoint::new("a", steps).weight(3.0).users(2))
        .endpoint(Endpoint::new("b", [cpu(ms(1))]))
        .pool(Pool::new("db", 5))
        .pool(Pool::new("cache", 1).timeout(secs(1)).max_connections(100));
    built.check().unwrap();
    assert_eq!(of_toml(toml).unwrap(), built);
}

#[test]
fn steps_stand_alone_or_in_endpoints() {
    let built = Workload::of([cpu(ms(2))]);
    assert_eq!(of_toml("steps = [{ cpu = '2ms' }]").unwrap(), built);
    assert_eq!(built, Workload::from([cpu(ms(2))]));
    check(
        "steps = [{ cpu = '2ms' }]\nendpoint = []",
        &["workload: steps beside endpoint is not allowed, expected one of the two"],
    );
    check("", &["workload: neither steps nor endpoint is not allowed, expected one of the two"]);
    check_built(
        &Workload::new(),
        "workload.endpoint: a list of 0 is not allowed, expected 1 to 1000 endpoints",
    );
    check_built(
        &Workload::of([]),
        "workload.steps: a list of 0 is not allowed, expected at least one step",
    );
}

#[test]
fn every_mistake_of_a_step_has_its_path() {
    check(
        "steps = [{ sleep = '1ms' }, { cpu = '1ms', io = '1ms' }, { fail = 200 }, \
         { cpu = '1ms', steps = [] }, 5, { repeat = 0, steps = [{ fail = 'x' }] }]",
        &[
            "workload.steps[0]: a table of {sleep} is not allowed, expected a step: one of \
             cpu, io, native, hold, checkout, repeat, choose, fail",
            "workload.steps[1]: a table of {cpu, io} is not allowed, expected one step: only one \
             of cpu, io, native, hold, checkout, repeat, choose, fail",
            "workload.steps[2].fail: 200 is not allowed, expected a whole number in 400..=599",
            "workload.steps[3].steps: this key is not allowed, expected one of cpu",
            "workload.steps[4]: 5 is not allowed, expected a step such as { cpu = \"2ms\" }",
            "workload.steps[5].repeat: 0 is not allowed, expected a whole number in 1..=1000000",
            "workload.steps[5].steps[0].fail: \"x\" is not allowed, expected a whole number in \
             400..=599",
        ],
    );
}

#[test]
fn times_weights_and_users_are_within_bounds() {
    let error = of_toml("steps = [{ cpu = 2 }, { io = '2' }]").unwrap_err();
    for mistake in error.mistakes() {
        assert!(mistake.expected.starts_with(duration::EXPECTED), "{mistake}");
    }
    let error = Workload::of([cpu(secs(90_000))]).check().unwrap_err();
    assert!(error.to_string().starts_with("workload.steps[0].cpu: \"25h\" is not allowed"));
    for weight in [0.0, -1.0, f64::NAN, f64::INFINITY] {
        let workload = Workload::of([choose([(weight, [fail(500)])])]);
        check_built(
            &workload,
            &format!(
                "workload.steps[0].choose[0].weight: {weight} is not allowed, \
                 expected a number above 0"
            ),
        );
        let endpoint = Endpoint::new("a", [fail(500)]).weight(weight);
        assert!(Workload::new().endpoint(endpoint).check().is_err());
    }
    let endpoint = Endpoint::new("a", [fail(500)]).users(0);
    check_built(
        &Workload::new().endpoint(endpoint),
        "workload.endpoint[0].users: 0 is not allowed, expected a whole number in 1..=1000000",
    );
}

#[test]
fn names_are_given_once() {
    let endpoint = || Endpoint::new("a", [cpu(ms(1))]);
    check_built(
        &Workload::new().endpoint(endpoint()).endpoint(endpoint()),
        "workload.endpoint[1]: the name \"a\" is not allowed, \
         expected a name that no other endpoint has",
    );
    check_built(
        &Workload::of([cpu(ms(1))]).pool(Pool::new("db", 1)).pool(Pool::new("db", 2)),
        "workload.pools.db: a second pool of this name is not allowed, expected each name once",
    );
}

#[test]
fn checkouts_name_a_pool_they_can_get() {
    let steps = || [io(ms(1))];
    let with = |workload: Workload| workload.pool(Pool::new("a", 1)).pool(Pool::new("b", 1));
    check_built(
        &Workload::of([checkout("a", steps())]),
        "workload.steps[0].checkout: \"a\" is not allowed, \
         expected one of the workload's pools (none)",
    );
    check_built(
        &with(Workload::of([checkout("c", steps())])),
        "workload.steps[0].checkout: \"c\" is not allowed, \
         expected one of the workload's pools (a, b)",
    );
    check_built(
        &with(Workload::of([checkout("a", [checkout("b", [checkout("a", steps())])])])),
        "workload.steps[0].steps[0].steps[0].checkout: \"a\" is not allowed, \
         expected a pool that the request does not hold (it would wait for itself)",
    );
    let one = Endpoint::new("one", [checkout("a", [repeat(2, [checkout("b", steps())])])]);
    let two = Endpoint::new("two", [checkout("b", [checkout("a", steps())])]);
    check_built(
        &with(Workload::new().endpoint(one.clone()).endpoint(two)),
        "workload.endpoint[1].steps[0].steps[0].checkout: \"a\" inside \"b\" is not allowed, \
         expected pools nested in one order everywhere (requests would wait for each other)",
    );
    // One after the other, and twice in the same order, is fine.
    let two = Endpoint::new("two", [checkout("b", steps()), checkout("a", steps())]);
    with(Workload::new().endpoint(one).endpoint(two)).check().unwrap();
}

#[test]
fn a_circle_of_three_pools_is_found() {
    let pair = |a, b| checkout(a, [checkout(b, [io(ms(1))])]);
    let workload = Workload::of([pair("a", "b"), pair("b", "c"), pair("c", "a")]);
    let workload = ["a", "b", "c"].into_iter().fold(workload, |w, n| w.pool(Pool::new(n, 1)));
    let error = workload.check().unwrap_err().to_string();
    assert!(
        error.starts_with("workload.steps[2].steps[0].checkout: \"a\" inside \"c\""),
        "{error}"
    );
}

#[test]
fn a_pool_has_a_size_and_a_timeout() {
    check(
        "steps = [{ checkout = 'db', steps = [{ cpu = '1ms' }] }]\n\
         pools = { db = { size = 0, timeout = 5, max_connections = 0 }, \"\" = { size = 1 } }",
        &[
            "workload.pools.db.size: 0 is not allowed, expected a whole number in 1..=100000",
            "workload.pools.db.timeout: 5 is not allowed, expected a duration from 0ns to 24h \
             with a unit, such as \"100ms\"",
            "workload.pools.db.max_connections: 0 is not allowed, expected a whole number in \
             1..=100000",
            "workload.pools.: this name is not allowed, expected a name of 1 to 100 characters",
        ],
    );
    let many =
        (0..101).fold(Workload::of([cpu(ms(1))]), |w, n| w.pool(Pool::new(n.to_string(), 1)));
    check_built(&many, "workload.pools: 101 pools is not allowed, expected at most 100");
}

#[test]
fn an_interlock_is_read_and_built_alike() {
    let toml = "steps = [{ cpu = '2ms' }]\ninterlock = { reload = 'exp(300ms)', chance = 0.02 }";
    let built = Workload::of([cpu(ms(2))]).interlock(Interlock::new(exp(ms(300)), 0.02));
    assert_eq!(of_toml(toml).unwrap(), built);
    assert_eq!(read(&built.to_value()).unwrap(), built);
    // 2 ms, and one time in fifty 300 ms.
    assert_eq!(built.programs()[0].demand().service, ms(8));
    check(
        "steps = [{ cpu = '2ms' }]\ninterlock = { reload = '300', chance = 2, first = true }",
        &[
            "workload.interlock.first: this key is not allowed, expected one of reload, chance",
            "workload.interlock.reload: \"300\" is not allowed, expected a duration from 0ns to 24h with \
             a unit, such as \"100ms\", or \"exp(100ms)\", \"lognormal(80ms, 0.5)\" (sigma 0 to 4), \
             { empirical = [\"1ms\", ...] }",
            "workload.interlock.chance: 2 is not allowed, expected a number in 0..=1",
        ],
    );
    check(
        "steps = [{ cpu = '2ms' }]\ninterlock = {}",
        &[
            "workload.interlock.reload: nothing is not allowed, expected how long reloading takes",
            "workload.interlock.chance: nothing is not allowed, expected the chance of a request to \
             reload",
        ],
    );
}
