//! What cursors give and what demand expects.

use super::*;
use crate::random::Stream;

fn actions(workload: &Workload) -> Vec<Action> {
    let program = &workload.programs()[0];
    let mut cursor = Cursor::new(Stream::new(1, "request", 0));
    std::iter::from_fn(|| cursor.next(program)).collect()
}

#[test]
fn actions_come_in_order_and_loops_repeat() {
    let workload = Workload::of([
        repeat(2, [checkout("db", [io(ms(2)), repeat(2, [cpu(ms(1))])])]),
        native(ms(3)),
        hold(ms(4)),
    ])
    .pool(Pool::new("db", 1));
    let (out, back) = (Action::Checkout(PoolIndex(0)), Action::Checkin(PoolIndex(0)));
    let (wait, work) = (Action::Io(ms(2)), Action::Cpu(ms(1)));
    assert_eq!(
        actions(&workload),
        [
            out,
            wait,
            work,
            work,
            back,
            out,
            wait,
            work,
            work,
            back,
            Action::Native(ms(3)),
            Action::Hold(ms(4)),
        ]
    );
}

#[test]
fn a_failure_gives_connections_back_and_ends_the_request() {
    let inner = repeat(3, [checkout("b", [fail(503), cpu(ms(1))])]);
    let workload = Workload::of([checkout("a", [inner]), cpu(ms(1))])
        .pool(Pool::new("a", 1))
        .pool(Pool::new("b", 1));
    assert_eq!(
        actions(&workload),
        [
            Action::Checkout(PoolIndex(0)),
            Action::Checkout(PoolIndex(1)),
            Action::Checkin(PoolIndex(1)),
            Action::Checkin(PoolIndex(0)),
            Action::Fail(503),
        ]
    );
}

#[test]
fn choices_follow_their_weights() {
    const REQUESTS: u32 = 40_000;
    let workload = Workload::of([choose([(3.0, [cpu(ms(1))]), (1.0, [io(ms(1))])])]);
    let program = &workload.programs()[0];
    let cpu = (0..REQUESTS).filter(|n| {
        let mut cursor = Cursor::new(Stream::new(5, "request", (*n).into()));
        let action = cursor.next(program);
        assert_eq!(cursor.next(program), None);
        matches!(action, Some(Action::Cpu(_)))
    });
    // Four standard errors of a share of 0.75.
    let share = cpu.count() as f64 / f64::from(REQUESTS);
    assert!((share - 0.75).abs() < 4.0 * (0.1875 / f64::from(REQUESTS)).sqrt(), "{share}");
}

#[test]
fn demand_counts_what_is_expected_to_run() {
    let check_held = |steps: Vec<Step>, [service, cpu, locked, held]: [u64; 4]| {
        let demand = Workload::of(steps).programs()[0].demand();
        let expected =
            Demand { service: us(service), cpu: us(cpu), locked: us(locked), held: us(held) };
        assert_eq!(demand, expected);
    };
    let check = |steps: Vec<Step>, [service, cpu, locked]: [u64; 3]| {
        check_held(steps, [service, cpu, locked, 0]);
    };
    let work = || vec![cpu(ms(1)), io(ms(2)), native(ms(4)), hold(ms(8))];
    check_held(work(), [15_000, 5_000, 9_000, 8_000]);
    check_held(vec![repeat(10, [repeat(3, work())])], [450_000, 150_000, 270_000, 240_000]);
    check_held(
        vec![choose([(3.0, work()), (1.0, vec![])]), cpu(ms(1))],
        [12_250, 4_750, 7_750, 6_000],
    );
    check(vec![io(exp(ms(100)))], [100_000, 0, 0]);
    // What follows a certain failure does not count; what follows a likely one does in part.
    check(vec![cpu(ms(1)), fail(500), io(ms(9))], [1_000, 1_000, 1_000]);
    check(vec![repeat(5, [io(ms(1)), fail(500)]), io(ms(9))], [1_000, 0, 0]);
    let risky = || choose([(1.0, vec![fail(500)]), (1.0, vec![])]);
    check(vec![risky(), io(ms(8))], [4_000, 0, 0]);
    // 8 + 4 + 2 turns of 8, then 1/8 of what follows.
    check(vec![repeat(3, [io(ms(8)), risky()]), io(ms(8))], [15_000, 0, 0]);
}

#[test]
fn rare_failures_in_long_loops_are_counted_exactly() {
    let rare = choose([(1e-12, vec![fail(500)]), (1.0, vec![])]);
    let workload = Workload::of([repeat(300_000, [io(ms(1)), rare])]);
    let service = workload.programs()[0].demand().service.as_secs_f64();
    // The chance of a failure is 3x10^-7 in all; half of the turns are lost then.
    assert!((service / 300.0 - (1.0 - 1.5e-7)).abs() < 1e-9, "{service}");
}

#[test]
fn what_a_connection_is_held_for_is_expected_of_its_steps_alone() {
    let check = |steps: Vec<Step>, expected: [u64; 2]| {
        let workload = Workload::of(steps).pool(Pool::new("db", 2)).pool(Pool::new("cache", 2));
        let program = &workload.programs()[0];
        let held = [PoolIndex(0), PoolIndex(1)].map(|pool| program.held_of(pool));
        assert_eq!(held, expected.map(us));
    };
    check(vec![io(ms(1)), checkout("db", [io(ms(2)), cpu(ms(3))]), io(ms(4))], [5_000, 0]);
    check(vec![repeat(4, [checkout("db", [io(ms(2))])])], [8_000, 0]);
    check(vec![checkout("db", [checkout("cache", [io(ms(1))]), io(ms(1))])], [2_000, 1_000]);
    // A failure inside gives back what is held, one outside has nothing to give.
    let fails = || choose([(1.0, vec![fail(500)]), (1.0, vec![io(ms(2))])]);
    check(vec![checkout("db", [checkout("cache", [fails()]), io(ms(2))])], [2_000, 1_000]);
    check(
        vec![choose([(1.0, vec![checkout("db", [io(ms(2))]), fail(500)]), (1.0, vec![io(ms(9))])])],
        [1_000, 0],
    );
}
