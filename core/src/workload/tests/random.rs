//! Properties of random workloads and of random values that are none.

use super::*;
use crate::random::Stream;
use proptest::collection::vec;
use proptest::prelude::*;
use std::time::Duration;

fn durations() -> impl Strategy<Value = Duration> {
    prop_oneof![(0..=86_400_000_u64).prop_map(ms), (0..=86_400_000_000_000_u64).prop_map(ns)]
}

fn dists() -> impl Strategy<Value = Dist> {
    prop_oneof![
        durations().prop_map(Dist::Constant),
        durations().prop_map(exp),
        (durations(), 0.0..=4.0).prop_map(|(median, sigma)| lognormal(median, sigma)),
        vec(durations(), 1..5).prop_map(|all| empirical(all).unwrap()),
    ]
}

fn steps_of<S: Strategy<Value = Dist> + 'static>(dist: fn() -> S) -> impl Strategy<Value = Step> {
    let leaf = prop_oneof![
        dist().prop_map(cpu),
        dist().prop_map(io),
        dist().prop_map(native),
        dist().prop_map(hold),
    ];
    // Checkouts hold leaves only, so that no two pools nest.
    let held = (prop::sample::select(vec!["db", "c\"a che"]), vec(leaf.clone(), 1..3))
        .prop_map(|(pool, steps)| checkout(pool, steps));
    let flat = prop_oneof![8 => leaf, 2 => held, 1 => (400..=599_u16).prop_map(fail)];
    flat.prop_recursive(4, 24, 4, |inner| {
        prop_oneof![
            (1..6_u32, vec(inner.clone(), 1..4)).prop_map(|(n, steps)| repeat(n, steps)),
            vec((1e-9..1e9, vec(inner, 0..3)), 1..4).prop_map(choose),
        ]
    })
}

fn pooled(workload: Workload) -> Workload {
    workload.pool(Pool::new("db", 3)).pool(Pool::new("c\"a che", 1).timeout(ns(1)))
}

fn workloads() -> impl Strategy<Value = Workload> {
    let endpoint = ("[a-z\"'\\\\. é]{1,8}", 1e-6..1e6, any::<bool>(), vec(steps_of(dists), 1..5));
    vec(endpoint, 1..4).prop_map(|endpoints| {
        let named = endpoints.into_iter().enumerate().map(|(n, (name, weight, bound, steps))| {
            let endpoint = Endpoint::new(format!("{name}{n}"), steps).weight(weight);
            if bound { endpoint.users(n as u32 + 1) } else { endpoint }
        });
        pooled(named.fold(Workload::new(), Workload::endpoint))
    })
}

/// Values that look enough like a workload to get past the first check.
fn values() -> impl Strategy<Value = Value> {
    let text = prop_oneof![
        ".{0,12}",
        "(exp|lognormal)?\\(?[0-9.]{0,9}(ms|s|h)?,? ?[0-9.]{0,5}\\)?",
        Just("db".to_owned()),
    ];
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::Bool),
        any::<i64>().prop_map(Value::Int),
        (0..600_i64).prop_map(Value::Int),
        any::<f64>().prop_map(Value::Float),
        text.prop_map(Value::Text),
    ];
    let keys = vec![
        "steps",
        "endpoint",
        "pools",
        "name",
        "weight",
        "users",
        "size",
        "timeout",
        "max_connections",
        "db",
        "cpu",
        "io",
        "native",
        "hold",
        "checkout",
        "repeat",
        "choose",
        "fail",
        "empirical",
        "other",
        "",
    ];
    leaf.prop_recursive(6, 60, 6, move |inner| {
        let key = prop::sample::select(keys.clone());
        prop_oneof![
            vec(inner.clone(), 0..5).prop_map(Value::List),
            vec((key, inner), 0..5).prop_map(Value::table),
        ]
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    #[test]
    fn a_workload_reads_back(workload in workloads()) {
        workload.check().unwrap();
        let value = workload.to_value();
        prop_assert_eq!(&read(&value).unwrap(), &workload);
        prop_assert_eq!(&of_toml(&value.to_toml()).unwrap(), &workload);
        let json = Value::from_json(&value.to_json()).unwrap();
        prop_assert_eq!(&read(&json).unwrap(), &workload);
    }

    #[test]
    fn no_value_panics_the_reader(value in values(), steps in vec(values(), 0..4)) {
        let _ = read(&value);
        let steps = Value::table([("steps", Value::List(steps)), ("pools", value)]);
        let _ = read(&steps);
    }

    #[test]
    fn what_is_drawn_agrees_with_the_demand(
        steps in vec(steps_of(|| durations().prop_map(Dist::Constant)), 1..6),
        seed in any::<u64>(),
    ) {
        let workload = pooled(Workload::of(steps.into_iter().filter(is_certain)));
        let program = &workload.programs()[0];
        let mut cursor = Cursor::new(Stream::new(seed, "request", 0));
        let mut drawn = Demand::default();
        while let Some(action) = cursor.next(program) {
            let (cpu, locked, time) = match action {
                Action::Cpu(time) => (time, time, time),
                Action::Io(time) => (Duration::ZERO, Duration::ZERO, time),
                Action::Native(time) => (time, Duration::ZERO, time),
                Action::Hold(time) => (Duration::ZERO, time, time),
                _ => continue,
            };
            drawn.cpu += cpu;
            drawn.locked += locked;
            drawn.service += time;
        }
        let demand = program.demand();
        for (a, b) in [
            (drawn.service, demand.service),
            (drawn.cpu, demand.cpu),
            (drawn.locked, demand.locked),
        ] {
            let (a, b) = (a.as_nanos() as f64, b.as_nanos() as f64);
            prop_assert!((a - b).abs() <= 1.0 + 1e-12 * a, "{a} {b}");
        }
    }
}

/// Whether nothing is left to chance in a step of constant times.
fn is_certain(step: &Step) -> bool {
    !step.to_value().to_json().contains("choose")
}
