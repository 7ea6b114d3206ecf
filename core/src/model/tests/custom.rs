//! Servers from parts: what they read, print and refuse.

use super::*;
use crate::cluster::accept::{Accept, AcceptWait, Backoff, Between, Keep, Room, Then};
use std::time::Duration;

/// Every record that a document can have.
pub(super) fn accepts() -> impl Strategy<Value = Accept> {
    let length = || (0..10_000_000_u64).prop_map(Duration::from_micros);
    let wait = prop::sample::select(vec![AcceptWait::Herd, AcceptWait::Exclusive]);
    let backoff = prop_oneof![
        Just(Backoff::None),
        length().prop_map(|most| Backoff::UntilOneEnds { most }),
        length().prop_map(|unit| Backoff::WhenFull { unit }),
        length().prop_map(|length| Backoff::WhenFullFor { length }),
        length().prop_map(|most| Backoff::Proportional { most }),
    ];
    let room = prop::sample::select(vec![Room::Always, Room::WhereOthersWait]);
    let then = prop_oneof![
        Just(Then::Watch),
        Just(Then::Queue),
        Just(Then::ServeWhereOneWaits),
        (length(), 1..100_u32, room).prop_map(|(most, in_a_row, room)| Then::Wait {
            most,
            in_a_row,
            room
        }),
    ];
    let between = prop_oneof![
        Just(Between::Closed),
        Just(Between::Watched),
        length().prop_map(|most| Between::HeldByThread { most }),
        (of(1..2000_u32), then)
            .prop_map(|(requests_max, then)| Between::Kept(Keep { requests_max, then })),
    ];
    (wait, any::<bool>(), backoff, 1..=65_535_u32, between).prop_map(
        |(wait, only_when_free, backoff, burst, between)| {
            let holds = matches!(between, Between::HeldByThread { .. });
            Accept { wait, only_when_free: only_when_free || holds, backoff, burst, between }
        },
    )
}

fn check(accept: &str, expected: Accept) {
    let toml = format!("custom = {{ threads = 2, accept = {accept} }}");
    assert_eq!(of_toml(&toml).unwrap().topology().dispatch, Dispatch::Accept(expected), "{toml}");
}

#[test]
fn every_field_of_accepting_has_a_key() {
    let plain = Accept {
        wait: AcceptWait::Herd,
        only_when_free: false,
        backoff: Backoff::None,
        burst: 1,
        between: Between::Watched,
    };
    check("{}", plain);
    check(
        "{ burst = 9, backoff = 'none', between = 'watched', wait = 'herd' }",
        Accept { burst: 9, ..plain },
    );
    check(
        "{ wait = 'blocking', only_when_free = true, between = { held_by_thread = '5s' } }",
        Accept {
            wait: AcceptWait::Blocking,
            only_when_free: true,
            between: Between::HeldByThread { most: Duration::from_secs(5) },
            ..plain
        },
    );
    let backoff = Backoff::Proportional { most: Duration::from_millis(5) };
    check(
        "{ backoff = { proportional = '5ms' }, between = 'closed' }",
        Accept { backoff, between: Between::Closed, ..plain },
    );
    let then =
        Then::Wait { most: Duration::from_millis(200), in_a_row: 10, room: Room::WhereOthersWait };
    check(
        "{ between = { then = { wait = '200ms', in_a_row = 10 } } }",
        Accept { between: Between::Kept(Keep { requests_max: None, then }), ..plain },
    );
    check(
        "{ between = { then = 'queue', requests_max = 7 } }",
        Accept {
            between: Between::Kept(Keep { requests_max: Some(7), then: Then::Queue }),
            ..plain
        },
    );
}

fn refused(toml: &str, expected: &str) {
    let told = of_toml(&format!("custom = {{ {toml} }}")).expect_err(toml).to_string();
    assert_eq!(told, format!("model.custom.{expected}"), "{toml}");
}

#[test]
fn parts_that_do_not_fit_are_refused() {
    refused(
        "workers = 0, accept = {}",
        "workers: 0 is not allowed, expected a whole number in 1..=1024, or \"auto\"",
    );
    refused("name = ''", "name: \"\" is not allowed, expected text of 1 to 40 characters");
    refused(
        "handlers = 'async', threads = 2",
        "threads: this key is not allowed, expected either threads or handlers",
    );
    refused(
        "handlers = 'async', workers = 2",
        "handlers: this key is not allowed, expected accept beside workers that have an event loop each",
    );
    refused(
        "handlers = 'async', accept = { only_when_free = true }",
        "accept: a rule for threads is not allowed, expected of an event loop burst alone",
    );
    refused(
        "offload_threads = 3",
        "offload_threads: this key is not allowed, expected the handlers \"def\" beside it",
    );
    refused(
        "accept = { wait = 'blocking', burst = 2 }",
        "accept.burst: 2 is not allowed, expected 1 where the wait is \"blocking\", which gives one \
         connection",
    );
    refused(
        "accept = { wait = 'blocking', backoff = { when_full = '1ms' } }",
        "accept.backoff: a table of {when_full} is not allowed, expected \"none\" where the wait is \
         \"blocking\", which accepts as it wakes",
    );
    refused(
        "accept = { between = { held_by_thread = '5s' } }",
        "accept.between.held_by_thread: this key is not allowed, expected only_when_free beside it, so \
         that a thread waits",
    );
    refused(
        "accept = { wait = 'poll' }",
        "accept.wait: \"poll\" is not allowed, expected one of \"herd\", \"exclusive\", \"blocking\"",
    );
    refused(
        "accept = { between = { then = 'close' } }",
        "accept.between.then: \"close\" is not allowed, expected \"watch\", \"queue\", \
         \"serve-where-one-waits\", or a table of wait, in_a_row and room",
    );
    refused(
        "accept = { backoff = { when_full = '1ms', proportional = '1ms' } }",
        "accept.backoff: a table of {when_full, proportional} is not allowed, expected \"none\", or a \
         table of until_one_ends, when_full, when_full_for or proportional, a duration",
    );
}

/// What is built is checked as what is read.
#[test]
fn a_built_one_is_checked() {
    let accept = Accept {
        wait: AcceptWait::Herd,
        only_when_free: false,
        backoff: Backoff::None,
        burst: 0,
        between: Between::Watched,
    };
    let told = Model::from(super::custom().accept(accept)).check().unwrap_err().to_string();
    assert_eq!(
        told,
        "model.custom.accept.burst: 0 is not allowed, expected a whole number in 1..=65535"
    );
}
