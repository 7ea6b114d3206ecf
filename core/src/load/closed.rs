//! A closed loop: users that wait for an answer, think, and ask again.
//!
//! `driver` calls it. Invariant: each user is in the heap, has one request in flight, or is done;
//! so there are never more requests in flight than users.

use super::pick::Picks;
use super::until::Limit;
use crate::clock::{self, Nanos};
use crate::random::Stream;
use crate::workload::Dist;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

#[derive(Debug, Clone)]
pub(super) struct Closed {
    think: Dist,
    users: Vec<User>,
    /// The users that wait for their next request, and when it is due; the lower user first where
    /// times are equal.
    waiting: BinaryHeap<Reverse<(Nanos, u32)>>,
    in_flight: u32,
}

#[derive(Debug, Clone)]
struct User {
    /// The user's own chance: its endpoints and its think times.
    stream: Stream,
    is_in_flight: bool,
}

/// A request that starts.
pub(super) struct Start {
    pub intended: Nanos,
    pub user: Option<u32>,
    pub endpoint: usize,
}

impl Closed {
    pub fn new(users: u32, spawn_rate: Option<f64>, think: Dist, seed: u64) -> Self {
        let waiting = (0..users).map(|user| {
            let due = spawn_rate.map_or(0, |rate| at_rate(user.into(), rate));
            Reverse((due, user))
        });
        let user =
            |n: u32| User { stream: Stream::new(seed, "user", n.into()), is_in_flight: false };
        Self {
            think,
            waiting: waiting.collect(),
            users: (0..users).map(user).collect(),
            in_flight: 0,
        }
    }

    pub fn next_due(&self) -> Option<Nanos> {
        self.waiting.peek().map(|Reverse((due, _))| *due)
    }

    /// Takes the next request, which is due.
    pub fn start(&mut self, picks: &Picks) -> Option<Start> {
        let Reverse((intended, n)) = self.waiting.pop()?;
        let user = &mut self.users[n as usize];
        user.is_in_flight = true;
        self.in_flight += 1;
        let endpoint = picks.of_user(n, &mut user.stream);
        Some(Start { intended, user: Some(n), endpoint })
    }

    /// Lets the user think; a next request that the limit refuses is forgotten.
    pub fn finished(&mut self, n: u32, now: Nanos, limit: &Limit) {
        let user = &mut self.users[n as usize];
        assert!(user.is_in_flight, "user {n} finishes a request that it did not start");
        user.is_in_flight = false;
        self.in_flight -= 1;
        let due = now.saturating_add(clock::nanos(self.think.draw(&mut user.stream)));
        if limit.allows(due) {
            self.waiting.push(Reverse((due, n)));
        }
    }

    /// Whether some user may still ask again at `now` or later.
    pub fn may_continue(&self, now: Nanos, limit: &Limit) -> bool {
        self.in_flight > 0 && limit.allows(now)
    }
}

/// When the `n`th of events at a constant rate per second happens, to the nearest nanosecond.
///
/// Divided in seconds first: over 24 hours the error is then below a tenth of a nanosecond.
pub(super) fn at_rate(n: u64, rate: f64) -> Nanos {
    (n as f64 / rate * 1e9).round() as Nanos
}
