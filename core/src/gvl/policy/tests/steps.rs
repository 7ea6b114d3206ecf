//! The numbered steps of SEMANTICS 2.1, 2.2, 2.3 and 7.1, one by one.

use super::*;

const A: ThreadId = ThreadId(0);
const B: ThreadId = ThreadId(1);
const C: ThreadId = ThreadId(2);
const WAITS: Decision = Decision::Wait { until: None };

/// A lock whose thread A holds it since the time 0, and to which B and C have joined.
fn held(gvl: Gvl) -> Sched {
    let mut sched = Sched::new(gvl, 1);
    assert_eq!([sched.join(0), sched.join(0), sched.join(0)], [A, B, C]);
    assert_eq!(sched.acquire(A, 0), Step::of(Decision::Go));
    sched
}

fn held_by_a(name: &str) -> Sched {
    held(policies::find(name).unwrap())
}

fn until(ms: Nanos) -> Decision {
    Decision::Wait { until: Some(ms * MS) }
}

/// Threads a step wakes.
fn wakes(step: &Step) -> &[ThreadId] {
    &step.wake
}

#[test]
fn cruby_3_1_step_1_a_newcomer_overtakes_a_signalled_waiter() {
    for name in ["cruby-3.1", "cpython-3.11"] {
        let mut sched = held_by_a(name);
        assert_ne!(sched.acquire(B, 0).decision, Decision::Go);
        assert_eq!(wakes(&sched.leave(A, Leave::Region, MS)), [B]);
        assert_eq!(sched.acquire(C, MS).decision, Decision::Go, "{name}");
        assert_ne!(sched.woken(B, false, MS).decision, Decision::Go, "{name}");
        assert_eq!(sched.running().0, Some(C));
    }
}

#[test]
fn cruby_3_1_step_2_one_waiter_keeps_the_time_and_interrupts_on_any_wake() {
    let mut sched = held_by_a("cruby-3.1");
    assert_eq!(sched.acquire(B, MS).decision, until(101));
    assert_eq!(sched.acquire(C, 2 * MS).decision, WAITS);
    // Its time ran out: a new period. Woken early: the rest of the old one.
    let late = sched.woken(B, true, 101 * MS);
    assert_eq!((late.interrupt, late.decision), (Some(A), until(201)));
    let early = sched.woken(B, false, 150 * MS);
    assert_eq!((early.interrupt, early.decision), (Some(A), until(201)));
    // The other waiter keeps no time, and asks nobody.
    let other = sched.woken(C, false, 160 * MS);
    assert_eq!((other.interrupt, other.decision), (None, WAITS));
}

#[test]
fn cruby_3_1_step_3_the_tail_becomes_the_timekeeper() {
    let mut sched = held_by_a("cruby-3.1");
    let _ = (sched.acquire(B, 0), sched.acquire(C, MS));
    let _ = sched.leave(A, Leave::Idle, 2 * MS);
    let _ = sched.acquire(A, 2 * MS);
    // A took the free lock while B keeps the time still.
    assert_ne!(sched.woken(B, false, 2 * MS).decision, Decision::Go);
    let _ = sched.leave(A, Leave::Idle, 3 * MS);
    let taken = sched.woken(B, false, 3 * MS);
    assert_eq!((taken.decision, wakes(&taken)), (Decision::Go, &[C][..]));
    assert!(matches!(sched.woken(C, false, 3 * MS).decision, Decision::Wait { until: Some(_) }));
}

#[test]
fn cruby_3_1_step_6_a_yield_lasts_until_a_waiter_has_the_lock() {
    let mut sched = held_by_a("cruby-3.1");
    let _ = sched.acquire(B, 0);
    let _ = sched.woken(B, true, 100 * MS);
    let yielded = sched.safepoint(A, 100 * MS);
    assert_eq!((yielded.decision, wakes(&yielded)), (WAITS, &[B][..]));
    // A passer-by does not let A go on, nor does a wake for no reason.
    assert_eq!(wakes(&sched.acquire(C, 100 * MS)), []);
    assert_eq!(sched.woken(A, false, 101 * MS).decision, WAITS);
    assert_eq!(wakes(&sched.leave(C, Leave::Idle, 101 * MS)), [B]);
    assert_eq!(wakes(&sched.woken(B, false, 101 * MS)), [A]);
    assert_ne!(sched.woken(A, false, 101 * MS).decision, Decision::Go);
}

#[test]
fn cruby_3_3_step_1_the_tick_keeps_its_phase() {
    let mut sched = held_by_a("cruby-3.3");
    assert_eq!(sched.next_tick(), None);
    assert_eq!(sched.acquire(B, 3 * MS).decision, WAITS);
    assert_eq!(sched.next_tick(), Some(13 * MS));
    let _ = sched.acquire(C, 9 * MS);
    assert_eq!(sched.next_tick(), Some(13 * MS));
    // A slice that begins between two ticks gets the rest of this one.
    let _ = sched.leave(A, Leave::Region, 10 * MS);
    assert_eq!(sched.woken(B, false, 11 * MS).decision, Decision::Go);
    assert_eq!(sched.next_tick(), Some(13 * MS));
    assert_eq!(sched.tick(13 * MS).interrupt, Some(B));
    assert_eq!(sched.next_tick(), Some(23 * MS));
    // Nobody waits: the timer rests.
    let _ = sched.leave(B, Leave::Idle, 14 * MS);
    assert_eq!(sched.woken(C, false, 14 * MS).decision, Decision::Go);
    assert_eq!(sched.tick(23 * MS).interrupt, None);
    assert_eq!(sched.next_tick(), None);
}

#[test]
fn cruby_3_3_step_3_the_sleeping_head_owns_the_lock() {
    let mut sched = held_by_a("cruby-3.3");
    let _ = (sched.acquire(B, 0), sched.acquire(C, 1));
    assert_eq!(wakes(&sched.leave(A, Leave::Region, 2)), [B]);
    assert_eq!(sched.running().0, Some(B));
    // Back after a microsecond: the tail.
    assert_eq!(sched.acquire(A, 1002).decision, WAITS);
    assert_eq!(sched.woken(A, false, 1003).decision, WAITS);
    assert_eq!(sched.woken(C, false, 1003).decision, WAITS);
    assert_eq!(sched.woken(B, false, 1004).decision, Decision::Go);
    assert_eq!(wakes(&sched.leave(B, Leave::Idle, 1005)), [C]);
    let _ = sched.woken(C, false, 1006);
    assert_eq!(wakes(&sched.leave(C, Leave::Idle, 1007)), [A]);
}

/// Interrupts the holder and lets it reach a safepoint, as often as its ticks fall due.
fn charge(sched: &mut Sched, holder: ThreadId, ticks: u64) -> Decision {
    let mut decision = Decision::Go;
    for _ in 0..ticks {
        assert_eq!(decision, Decision::Go);
        let at = sched.next_tick().expect("someone waits");
        assert_eq!(sched.tick(at).interrupt, Some(holder));
        decision = sched.safepoint(holder, at).decision;
    }
    decision
}

#[test]
fn cruby_3_3_step_6_a_switch_forgets_the_charged_time() {
    let mut sched = held_by_a("cruby-3.3");
    let _ = (sched.acquire(B, 0), sched.acquire(C, 0));
    assert_eq!(charge(&mut sched, A, 9), Decision::Go);
    let _ = sched.leave(A, Leave::Region, 95 * MS);
    let _ = sched.woken(B, false, 95 * MS);
    assert_eq!(charge(&mut sched, B, 9), Decision::Go);
    assert_eq!(charge(&mut sched, B, 1), WAITS);
    assert_eq!(sched.running().0, Some(C));
}

#[test]
fn cruby_3_3_step_6_ticks_are_charged_over_blocking_regions() {
    let mut sched = held_by_a("cruby-3.3");
    let _ = sched.acquire(B, 0);
    assert_eq!(charge(&mut sched, A, 5), Decision::Go);
    // Nobody else ran: A goes on with what it was charged.
    let mut alone = held_by_a("cruby-3.3");
    alone.running_time = 50 * MS;
    let _ = alone.leave(A, Leave::Region, 50 * MS);
    let _ = alone.acquire(A, 60 * MS);
    assert_eq!(alone.running_time, 50 * MS);
    // One that comes with the number of a thread that left has been charged nothing.
    let _ = alone.leave(A, Leave::Idle, 61 * MS);
    alone.part(A);
    assert_eq!(alone.join(0), A);
    let _ = alone.acquire(A, 62 * MS);
    assert_eq!(alone.running_time, 0);
}

#[test]
fn cruby_4_0_step_11_a_yield_to_nobody_forgets_the_charged_time() {
    let check = |name, left: Nanos| {
        let mut sched = held_by_a(name);
        sched.running_time = 95 * MS;
        sched.threads[0].interrupt = true;
        assert_eq!(sched.safepoint(A, 0).decision, Decision::Go);
        assert_eq!(sched.running_time, left * MS, "{name}");
    };
    check("cruby-3.3", 105);
    check("cruby-4.0", 0);
}

#[test]
fn cruby_master_step_3_the_head_goes_back_to_the_front() {
    let mut sched = held_by_a("cruby-master");
    let _ = (sched.acquire(B, 0), sched.acquire(C, 0));
    assert_eq!(wakes(&sched.leave(A, Leave::Region, 1)), [B]);
    assert_eq!(sched.acquire(A, 2).decision, Decision::Go);
    assert_eq!(wakes(&sched.leave(A, Leave::Idle, 3)), [B]);
}

#[test]
fn cruby_master_step_3_only_the_hot_thread_steals() {
    let mut sched = held_by_a("cruby-master");
    let _ = sched.acquire(B, 0);
    let _ = sched.leave(A, Leave::Region, 1);
    assert_eq!(sched.acquire(C, 2).decision, WAITS);
}

#[test]
fn cruby_master_step_4_a_take_over_closes_the_window() {
    let mut sched = held_by_a("cruby-master");
    let _ = (sched.acquire(B, 0), sched.acquire(C, 0));
    let _ = sched.leave(A, Leave::Region, 1);
    let _ = sched.woken(B, false, 2);
    assert_eq!(charge(&mut sched, B, 10), WAITS);
    // C is the owner and asleep, and A was hot before B's slice.
    assert_eq!(sched.running().0, Some(C));
    assert_eq!(sched.acquire(A, 101 * MS).decision, WAITS);
}

#[test]
fn cpython_step_2_a_waiter_asks_once_it_waited_through_without_a_switch() {
    let mut sched = held_by_a("cpython-3.11");
    assert_eq!(sched.acquire(B, 0).decision, until(5));
    assert_eq!(sched.acquire(C, MS).decision, until(6));
    let asked = sched.woken(B, true, 5 * MS);
    assert_eq!((asked.interrupt, asked.decision), (Some(A), until(10)));
    // B has lost its place. It asked too long ago to be on its way to sleep still.
    let yielded = sched.safepoint(A, 5 * MS + 300_000);
    assert_eq!(wakes(&yielded), [C]);
    assert_eq!(wakes(&sched.woken(C, false, 5 * MS + 300_000)), [A]);
    // The lock passed to C since B's wait began: B starts another wait, and does not ask.
    let again = sched.woken(B, true, 10 * MS);
    assert_eq!((again.interrupt, again.decision), (None, until(15)));
    assert_eq!(sched.woken(B, true, 15 * MS).interrupt, Some(C));
}

#[test]
fn cpython_step_7_a_thread_that_takes_the_lock_back_is_no_switch() {
    let mut sched = held_by_a("cpython-3.11");
    let _ = (sched.acquire(B, 0), sched.acquire(C, 0));
    assert_eq!(wakes(&sched.leave(A, Leave::Region, MS)), [B]);
    let _ = sched.acquire(A, MS);
    // C's clock runs on; B, which was woken, begins a new wait.
    assert_eq!(sched.woken(B, false, MS).decision, until(6));
    assert_eq!(sched.woken(C, true, 5 * MS).interrupt, Some(A));
}

/// Who is signalled when C asked for the switch and B waits for longer, `after` C asked.
fn signalled_after_a_request(steal: f64, after: Nanos) -> ThreadId {
    let mut sched = held(Gvl { requester_steal: steal, ..policies::find("cpython-3.11").unwrap() });
    let _ = (sched.acquire(C, 0), sched.acquire(B, 0));
    assert_eq!(sched.woken(C, true, 5 * MS).interrupt, Some(A));
    let yielded = sched.safepoint(A, 5 * MS + after);
    assert_eq!(yielded.decision, WAITS);
    yielded.wake[0]
}

#[test]
fn cpython_who_asked_steals_the_switch_with_the_given_chance_while_it_is_awake() {
    assert_eq!(signalled_after_a_request(1.0, 0), C);
    assert_eq!(signalled_after_a_request(0.0, 0), B);
    assert_eq!(signalled_after_a_request(1.0, 250_000), B);
}

#[test]
fn cpython_step_5_without_a_request_nobody_is_held_back() {
    let mut sched = held_by_a("cpython-3.11");
    let _ = sched.acquire(B, 0);
    let left = sched.leave(A, Leave::Region, MS);
    assert_eq!((left.decision, wakes(&left)), (Decision::Go, &[B][..]));
}

fn delayed() -> Sched {
    held(Gvl::cruby().with_delayed_handoff(true))
}

#[test]
fn a_delayed_hand_off_scenario_1_a_thread_back_before_the_tick_goes_on() {
    let mut sched = delayed();
    assert_eq!(sched.acquire(B, 2 * MS).decision, WAITS);
    let switches = sched.switch_number;
    for at in [3, 5, 7] {
        let left = sched.leave(A, Leave::Region, at * MS);
        assert_eq!((left.decision, wakes(&left)), (Decision::Go, &[][..]));
        assert_eq!((sched.running().0, sched.is_quiet()), (Some(A), false));
        // Whoever comes meanwhile waits.
        if at == 5 {
            assert_eq!(sched.acquire(C, at * MS).decision, WAITS);
        }
        assert_eq!(sched.acquire(A, (at + 1) * MS), Step::of(Decision::Go));
    }
    assert_eq!(sched.switch_number, switches);
    // The tick meets it computing: it is charged as ever.
    assert_eq!(sched.next_tick(), Some(12 * MS));
    assert_eq!(sched.tick(12 * MS).interrupt, Some(A));
}

#[test]
fn a_delayed_hand_off_scenario_2_the_tick_gives_the_lock_of_one_that_is_away() {
    let mut sched = delayed();
    let _ = (sched.acquire(B, 0), sched.acquire(C, 1));
    let _ = sched.leave(A, Leave::Region, 9 * MS);
    let tick = sched.tick(10 * MS);
    assert_eq!((wakes(&tick), tick.interrupt), (&[B][..], None));
    assert_eq!(sched.running().0, Some(B));
    assert_eq!(sched.acquire(A, 11 * MS).decision, WAITS);
    assert_eq!(sched.woken(B, false, 12 * MS).decision, Decision::Go);
    // The phase is a new one, since the timer rested while B was waking.
    assert_eq!(sched.next_tick(), Some(22 * MS));
    assert_eq!(wakes(&sched.leave(B, Leave::Idle, 13 * MS)), [C]);
}

#[test]
fn a_delayed_hand_off_is_none_for_who_sleeps_and_where_nobody_waits() {
    let mut sched = delayed();
    assert_eq!(sched.leave(A, Leave::Region, MS), Step::of(Decision::Go));
    assert_eq!((sched.running().0, sched.next_tick()), (None, None));
    assert_eq!(sched.acquire(B, 2 * MS).decision, Decision::Go);
    let _ = sched.acquire(A, 3 * MS);
    assert_eq!(wakes(&sched.leave(B, Leave::Idle, 4 * MS)), [A]);
}

/// A and C compute for a quantum each while the other waits; then B asks, which has used nothing.
fn two_that_compute(gvl: Gvl, priority: i8) -> Sched {
    let mut sched = held(gvl);
    let _ = sched.acquire(C, 0);
    assert_eq!(charge(&mut sched, A, 10), WAITS);
    sched.threads[0].priority = priority;
    let _ = sched.woken(C, false, 100 * MS);
    assert_eq!(sched.acquire(B, 150 * MS).decision, WAITS);
    sched
}

#[test]
fn by_priority_who_used_the_lock_least_comes_first() {
    let by_priority = || Gvl::cruby().with_order(Order::Priority);
    let next = |gvl, priority| two_that_compute(gvl, priority).readyq.front();
    assert_eq!(next(Gvl::cruby(), 0), Some(A));
    assert_eq!(next(by_priority(), 0), Some(B));
    // A waits since 100 ms, with 16 x 100 ms of use: a priority of 3 makes that 200 ms.
    assert_eq!(two_that_compute(by_priority(), 3).at(A).used.left(100 * MS, 100 * MS), 100 * MS);
    let rank = |priority| two_that_compute(by_priority(), priority).rank(A, 100 * MS) / MS;
    assert_eq!([-1, 0, 1].map(rank), [3300, 1700, 900]);
}

#[test]
fn by_priority_use_is_forgotten_by_halves_and_counts_for_two_quanta_at_most() {
    let mut sched = two_that_compute(Gvl::cruby().with_order(Order::Priority), 0);
    let used = |sched: &Sched, now: Nanos| sched.at(A).used.left(now * MS, 100 * MS);
    assert_eq!([100, 199, 200, 400, 9000].map(|now| used(&sched, now) / MS), [100, 100, 50, 12, 0]);
    // C keeps the lock for ten seconds, which are two quanta.
    let _ = sched.leave(C, Leave::Idle, 10_100 * MS);
    assert_eq!(sched.at(C).used.left(10_100 * MS, 100 * MS), 200 * MS);
}

#[test]
fn time_alone_is_no_use() {
    let mut sched = held(Gvl::cruby().with_order(Order::Priority));
    // A computes alone for a second, and B waits for its last ten milliseconds.
    let _ = sched.acquire(B, 990 * MS);
    let _ = sched.leave(A, Leave::Idle, 1000 * MS);
    assert_eq!(sched.at(A).used.left(1000 * MS, 100 * MS), 10 * MS);
}

/// A line of ten thousand that queue anew: the requester is taken from its middle.
#[test]
fn a_release_among_ten_thousand_waiters_takes_one_of_them() {
    let mut sched = Sched::new(Gvl::cpython().with_requester_steal(1.0), 1);
    let ids: Vec<_> = (0..10_000).map(|_| sched.join(0)).collect();
    for id in &ids {
        let _ = sched.acquire(*id, 0);
    }
    assert_eq!(sched.waiting(), 9_999);
    let mut holder = ids[0];
    for n in 1..2_000_u64 {
        let at = n * 5 * MS;
        let asks = ids[5_000 + n as usize];
        assert_eq!(sched.woken(asks, true, at).decision, until(n * 5 + 5));
        // Only the first of them has waited through without a switch.
        let left = sched.leave(holder, Leave::Region, at);
        let next = left.wake[0];
        let _ = sched.woken(next, false, at);
        assert_eq!(sched.waiting(), 9_999 - n as usize);
        holder = next;
    }
}
