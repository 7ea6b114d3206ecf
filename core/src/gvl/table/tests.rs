//! A lock as a table: read, printed, checked.

use super::*;
use proptest::prelude::*;

fn read(toml: &str) -> Result<Gvl, String> {
    let value = Value::from_toml(&format!("gvl = {toml}")).unwrap();
    let read = |root: &Node<'_>| Gvl::read(root.table(&["gvl"])?.get("gvl")?);
    Node::read_all(&value, "", read).map_err(|error| error.to_string())
}

#[test]
fn a_table_sets_every_field_by_its_name() {
    let gvl = read(
        "{ base = 'cpython-3.11', timer = 'each-waiter', charge = 'per-tick', release = 'signal', \
           quantum = '20ms', tick = '2ms', order = 'priority', requeue = false, requester_steal = 0.25, \
           forced_switch = 'after-yield', priorities = true, always_reset = true, priority = -2 }",
    );
    let built = Gvl::named("cpython-3.11")
        .unwrap()
        .with_charge(Charge::PerTick)
        .with_quantum(Duration::from_millis(20))
        .with_tick(Duration::from_millis(2))
        .with_order(Order::Priority)
        .with_requeue(false)
        .with_requester_steal(0.25)
        .with_forced_switch(ForcedSwitch::AfterYield)
        .with_priorities(true)
        .with_always_reset(true)
        .with_priority(-2);
    assert_eq!(gvl.as_ref(), Ok(&built));
    assert_eq!(
        built.name(),
        "cpython-3.11, charge per-tick, quantum 20ms, tick 2ms, order priority, requeue false, \
         requester_steal 0.25, forced_switch after-yield, priorities true, always_reset true, \
         priority -2"
    );
    let delayed = read("{ base = 'cruby-4.0', delayed_handoff = true }").unwrap();
    assert_eq!(delayed, Gvl::cruby().with_delayed_handoff(true));
    assert_eq!(delayed.name(), "cruby-4.0, delayed_handoff true");
}

#[test]
fn what_changes_nothing_is_the_base() {
    for toml in ["'cruby-4.0'", "{ base = 'cruby-4.0', quantum = '100ms', fairness = 'fifo' }"] {
        assert_eq!(read(toml), Ok(Gvl::cruby()));
    }
    let there_and_back = Gvl::cruby().with_quantum(Duration::from_millis(5));
    assert_eq!(there_and_back.name(), "cruby-4.0, quantum 5ms");
    assert_eq!(there_and_back.with_quantum(Duration::from_millis(100)), Gvl::cruby());
    let later = Gvl::of_ruby("4.0.7").unwrap();
    assert_eq!(read(&later.to_value().to_string()), Ok(later));
}

#[test]
fn behaviours_that_exclude_each_other_are_told() {
    let check = |toml: &str, expected: &[&str]| {
        let told = read(toml).unwrap_err();
        assert_eq!(told.lines().collect::<Vec<_>>(), expected, "{toml}");
    };
    check(
        "{ base = 'cruby-4.0', timer = 'one-waiter', forced_switch = 'never', requeue = true }",
        &[
            "gvl.timer: \"one-waiter\" is not allowed, expected \"thread\" where the lock is handed \
             over: its waiters sleep until they have it",
            "gvl.requeue: true is not allowed, expected false unless each waiter keeps the time (timer \
             \"each-waiter\")",
        ],
    );
    check(
        "{ base = 'cruby-master', release = 'signal' }",
        &[
            "gvl: hot_steal true of the base is not allowed, expected hot_steal: false where the lock is \
           signalled: anyone may overtake",
        ],
    );
    check(
        "{ base = 'cruby-master', delayed_handoff = true }",
        &[
            "gvl.delayed_handoff: true is not allowed, expected false beside hot_steal: the lock is still \
           its own",
        ],
    );
    check(
        "{ base = 'cruby-3.1', order = 'lifo', priority = 4, requester_steal = 2, tick = '1us' }",
        &[
            "gvl.tick: \"1us\" is not allowed, expected a duration from 10us to 1h with a unit, such as \
             \"100ms\"",
            "gvl.order: \"lifo\" is not allowed, expected fifo or priority",
            "gvl.requester_steal: 2 is not allowed, expected a number in 0..=1",
            "gvl.priority: 4 is not allowed, expected a whole number in -3..=3",
        ],
    );
    check(
        "{ base = 'cruby-3.1', speed = 1 }",
        &[
            "gvl.speed: this key is not allowed, expected one of base, fairness, release, timer, charge, \
         quantum, tick, hot_steal, delayed_handoff, order, requeue, requester_steal, forced_switch, \
         priorities, always_reset, priority",
        ],
    );
}

#[test]
fn a_built_lock_is_checked_in_the_same_words() {
    let told = |gvl: Gvl| gvl.check().unwrap_err().to_string();
    assert_eq!(
        told(Gvl::cruby().with_release(Release::Signal).with_hot_steal(true)),
        "gvl.hot_steal: true is not allowed, expected false where the lock is signalled: anyone may \
         overtake"
    );
    assert_eq!(
        told(Gvl::cruby().with_priority(9)),
        "gvl.priority: 9 is not allowed, expected a whole number in -3..=3"
    );
    assert!(
        told(Gvl::cpython().with_requester_steal(f64::NAN)).starts_with("gvl.requester_steal: NaN")
    );
    assert!(policies::NAMES.iter().all(|name| Gvl::named(name).unwrap().check().is_ok()));
}

/// Any lock that may be: what excludes each other is tried, and left out.
pub(crate) fn locks() -> impl Strategy<Value = Gvl> {
    fn any_of<T: Copy + std::fmt::Debug>(names: &'static [(&str, T)]) -> impl Strategy<Value = T> {
        (0..names.len()).prop_map(|n| names[n].1)
    }
    let names: Vec<&str> = policies::NAMES.iter().copied().filter(|n| *n != "none").collect();
    let shape = (
        proptest::sample::select(names),
        proptest::option::of(any_of(FAIRNESSES)),
        proptest::option::of(any_of(TIMERS)),
        proptest::option::of(any_of(CHARGES)),
        proptest::option::of(any_of(SWITCHES)),
        any_of(ORDERS),
    );
    let more = (
        proptest::option::of(1..80_u64),
        proptest::option::of(1..40_u64),
        any::<[bool; 4]>(),
        proptest::option::of(0.0..=1.0),
        -3..=3_i8,
    );
    (shape, more).prop_map(|(shape, more)| {
        let (name, fairness, timer, charge, forced_switch, order) = shape;
        let (quantum, tick, [hot, delayed, requeue, reset], steal, priority) = more;
        let ms = Duration::from_millis;
        let mut gvl = Gvl::named(name).unwrap().with_order(order).with_always_reset(reset);
        gvl = fairness.into_iter().fold(gvl, Gvl::with_fairness);
        gvl = quantum.map(ms).into_iter().fold(gvl, Gvl::with_quantum);
        gvl = tick.map(ms).into_iter().fold(gvl, Gvl::with_tick).with_priority(priority);
        gvl = charge.into_iter().fold(gvl, Gvl::with_charge);
        // Each of these only where it is allowed.
        let maybe = |gvl: Gvl, change: &dyn Fn(Gvl) -> Gvl| {
            let changed = change(gvl.clone());
            if changed.check().is_ok() { changed } else { gvl }
        };
        gvl = maybe(gvl, &|gvl| timer.into_iter().fold(gvl, Gvl::with_timer));
        gvl = maybe(gvl, &|gvl| forced_switch.into_iter().fold(gvl, Gvl::with_forced_switch));
        gvl = maybe(gvl, &|gvl| gvl.with_hot_steal(hot));
        gvl = maybe(gvl, &|gvl| gvl.with_delayed_handoff(delayed));
        gvl = maybe(gvl, &|gvl| gvl.with_requeue(requeue));
        maybe(gvl, &|gvl| steal.into_iter().fold(gvl, Gvl::with_requester_steal))
    })
}

proptest! {
    #[test]
    fn what_is_printed_reads_back(gvl in locks()) {
        prop_assert!(gvl.check().is_ok(), "{:?}", gvl);
        let value = gvl.to_value();
        prop_assert_eq!(Node::read_all(&value, "gvl", Gvl::read), Ok(gvl));
    }
}
