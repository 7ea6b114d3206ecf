//! The limits of a workload hold for anything that builders can make.

use super::*;

#[test]
fn too_many_steps_in_one_request_are_refused_at_once() {
    let nested = (0..31).fold(cpu(ms(1)), |inner, _| repeat(1_000_000, [inner]));
    let error = Workload::of([nested]).check().unwrap_err().to_string();
    assert_eq!(
        error,
        format!(
            "workload.steps: {} steps run by one request is not allowed, \
             expected at most 1000000 after all repeats",
            u64::MAX
        )
    );
    Workload::of([repeat(999_999, [cpu(ms(1))])]).check().unwrap();
    assert!(Workload::of([repeat(1_000_000, [cpu(ms(1))])]).check().is_err());
    let long = repeat(999_999, [cpu(ms(1))]);
    Workload::of([choose([(1.0, [long.clone()])])]).check().unwrap_err();
    let short = repeat(600_000, [cpu(ms(1))]);
    Workload::of([choose([(1.0, [short.clone()]), (1.0, [short])])]).check().unwrap();
}

#[test]
fn too_many_written_steps_are_refused_however_they_are_shared() {
    Workload::of(vec![cpu(ms(1)); 10_000]).check().unwrap();
    let error = "is not allowed, expected at most 10000 in a workload";
    let endless = Workload::of(std::iter::repeat_with(|| cpu(ms(1))));
    check_built(&endless, &format!("workload.steps[10000]: one step more {error}"));
    let doubled = (0..25).fold(cpu(ms(1)), |inner, _| repeat(1, [inner.clone(), inner]));
    assert!(Workload::of([doubled.clone()]).check().unwrap_err().to_string().ends_with(error));
    let wide = choose(std::iter::repeat_with(|| (1.0, [doubled.clone()])));
    assert!(Workload::of([wide]).check().is_err());
    let endpoint = |n: u32| Endpoint::new(n.to_string(), vec![cpu(ms(1)); 6_000]);
    let many = (0..1_000).map(endpoint).fold(Workload::new(), Workload::endpoint);
    check_built(&many, &format!("workload.endpoint[1].steps[4000]: one step more {error}"));
    let few = |n: u32| Endpoint::new(n.to_string(), [cpu(ms(1))]);
    let many = (0..1_001).map(few).fold(Workload::new(), Workload::endpoint);
    check_built(
        &many,
        "workload.endpoint: a list of 1001 is not allowed, expected 1 to 1000 endpoints",
    );
}

#[test]
fn too_many_recorded_durations_are_refused_however_they_are_shared() {
    let recorded = io(empirical(vec![ms(1); 100_000]).unwrap());
    check_built(
        &Workload::of(vec![recorded; 10_000]),
        "workload.steps[10].io: 1100000 recorded durations is not allowed, \
         expected at most 1000000 in a workload",
    );
}

#[test]
fn too_deep_nesting_is_refused_and_costs_no_stack() {
    let nest = |levels| (1..levels).fold(cpu(ms(1)), |inner, _| repeat(1, [inner]));
    Workload::of([nest(32)]).check().unwrap();
    for levels in [33, 34, 1_000_000] {
        let error = Workload::of([nest(levels)]).check().unwrap_err().to_string();
        let expected = ".steps: one level more is not allowed, expected at most 32 of steps";
        assert!(error.ends_with(expected), "{error}");
    }
}
