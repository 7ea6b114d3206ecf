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
