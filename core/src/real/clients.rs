//! The clients of a run that wait no longer than its load says.
//!
//! `run` asks under its gate. Invariant: an attempt is here as long as its client waits; when it is
//! answered later, that is for nobody.

use crate::clock::{Nanos, nanos};
use crate::load::Patience;
use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};
use std::time::Duration;

/// One attempt at a request.
#[derive(Debug, Clone, Copy)]
pub(super) struct Attempt {
    /// The request's number.
    pub(super) number: u64,
    /// Attempts before this one.
    pub(super) attempt: u32,
    pub(super) endpoint: usize,
    pub(super) user: Option<u32>,
    pub(super) intended: Nanos,
}

/// Clients that wait, or will try again.
pub(super) struct Clients {
    patience: Patience,
    timeout: Duration,
    seed: u64,
    /// The number of the next attempt.
    next: u64,
    /// Each with when it gives up.
    waiting: HashMap<u64, (Attempt, Nanos)>,
    /// The same in order; those that were answered meanwhile are still here.
    late: BinaryHeap<Reverse<(Nanos, u64)>>,
    /// When which attempt begins.
    pausing: BinaryHeap<Reverse<(Nanos, u64)>>,
    paused: HashMap<u64, Attempt>,
    /// Attempts under way whose client has left.
    pub(super) gone: u64,
    /// How many connections each user has given up.
    parted: HashMap<u32, u32>,
}

/// Whose client has left, and what that client does then.
pub(super) struct Left {
    pub(super) attempt: Attempt,
    /// When it left.
    pub(super) at: Nanos,
    /// The connection that it closed, if it has a user.
    pub(super) connection: Option<u64>,
    pub(super) then: Then,
}

pub(super) enum Then {
    /// It tries again, now.
    Again(Attempt),
    /// It tries again, later.
    Later,
    /// The request has failed.
    Fails,
}

impl Clients {
    /// None, for a load whose clients wait for ever.
    pub(super) fn new(patience: &Patience, seed: u64) -> Option<Self> {
        Some(Self {
            patience: patience.clone(),
            timeout: patience.timeout?,
            seed,
            next: 0,
            waiting: HashMap::new(),
            late: BinaryHeap::new(),
            pausing: BinaryHeap::new(),
            paused: HashMap::new(),
            gone: 0,
            parted: HashMap::new(),
        })
    }

    /// An attempt begins: the number that it is known by, and when its client gives up.
    pub(super) fn begin(&mut self, attempt: Attempt, now: Nanos) -> (u64, Nanos) {
        let key = self.key();
        let late = now.saturating_add(nanos(self.timeout));
        self.waiting.insert(key, (attempt, late));
        self.late.push(Reverse((late, key)));
        (key, late)
    }

    /// The connection that a user asks over.
    pub(super) fn connection(&self, user: u32) -> u64 {
        let parted = self.parted.get(&user).copied().unwrap_or(0);
        u64::from(parted) << 32 | u64::from(user)
    }

    /// An attempt is answered; whether anybody waited.
    pub(super) fn answered(&mut self, key: u64) -> bool {
        let waited = self.waiting.remove(&key).is_some();
        self.gone -= u64::from(!waited);
        waited
    }

    /// The client of an attempt that is answered at `at` has left before, although nobody has looked; the
    /// same where the server saw it leave.
    pub(super) fn left_before(&mut self, key: u64, at: Nanos, is_dropped: bool) -> Option<Left> {
        let (_, late) = self.waiting.get(&key)?;
        if *late <= at || is_dropped { self.leave(key) } else { None }
    }

    /// The client of an attempt leaves, if it still waits.
    fn leave(&mut self, key: u64) -> Option<Left> {
        let (attempt, at) = self.waiting.remove(&key)?;
        self.gone += 1;
        let connection = attempt.user.map(|user| self.connection(user));
        if let Some(user) = attempt.user {
            *self.parted.entry(user).or_default() += 1;
        }
        let then = match self.patience.next(self.seed, attempt.number, attempt.attempt) {
            None => Then::Fails,
            Some(pause) => {
                let again = Attempt { attempt: attempt.attempt + 1, ..attempt };
                if pause.is_zero() {
                    Then::Again(again)
                } else {
                    let key = self.key();
                    self.paused.insert(key, again);
                    self.pausing.push(Reverse((at.saturating_add(nanos(pause)), key)));
                    Then::Later
                }
            }
        };
        Some(Left { attempt, at, connection, then })
    }

    /// Takes one client whose patience was over at `now`, if there is one.
    pub(super) fn take_late(&mut self, now: Nanos) -> Option<Left> {
        while let Some(&Reverse((late, key))) = self.late.peek()
            && late <= now
        {
            self.late.pop();
            if let Some(left) = self.leave(key) {
                return Some(left);
            }
        }
        None
    }

    /// Takes one attempt that begins at `now` or before.
    pub(super) fn take_paused(&mut self, now: Nanos) -> Option<Attempt> {
        let &Reverse((due, key)) = self.pausing.peek()?;
        if due > now {
            return None;
        }
        self.pausing.pop();
        self.paused.remove(&key)
    }

    /// When there is something to do next.
    pub(super) fn next_due(&self) -> Option<Nanos> {
        let due = |heap: &BinaryHeap<Reverse<(Nanos, u64)>>| heap.peek().map(|top| top.0.0);
        [due(&self.late), due(&self.pausing)].into_iter().flatten().min()
    }

    fn key(&mut self) -> u64 {
        self.next += 1;
        self.next
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::load::closed;
    use crate::workload::ns;

    fn attempt(number: u64) -> Attempt {
        Attempt { number, attempt: 0, endpoint: 0, user: Some(3), intended: 0 }
    }

    #[test]
    fn a_client_waits_gives_up_pauses_and_tries_again() {
        let load = closed(8).timeout(ns(100)).retries(1).retry_after(ns(30));
        let mut clients = Clients::new(&load.patience, 1).unwrap();
        let (first, late) = clients.begin(attempt(0), 10);
        let (second, _) = clients.begin(attempt(1), 20);
        assert_eq!((late, clients.next_due()), (110, Some(110)));
        assert!(clients.answered(second));
        assert!(clients.take_late(109).is_none());
        let left = clients.take_late(500).unwrap();
        assert!(matches!(left.then, Then::Later));
        assert_eq!((left.attempt.number, left.at, left.connection), (0, 110, Some(3)));
        assert_eq!(clients.connection(3), 1 << 32 | 3);
        // The second was answered in time.
        assert!(clients.take_late(500).is_none());
        assert_eq!((clients.gone, clients.next_due()), (1, Some(140)));
        assert!(clients.take_paused(139).is_none());
        let again = clients.take_paused(140).unwrap();
        assert_eq!((again.number, again.attempt), (0, 1));
        assert!(!clients.answered(first));
        let (third, _) = clients.begin(again, 200);
        // Whoever was seen to have left does not leave twice.
        assert!(clients.left_before(third, 299, false).is_none());
        let left = clients.left_before(third, 302, false).unwrap();
        assert!(matches!(left.then, Then::Fails) && left.at == 300);
        assert!(
            clients.left_before(third, 302, true).is_none() && clients.take_late(302).is_none()
        );
        assert_eq!((clients.gone, clients.next_due()), (1, None));
        assert!(!clients.answered(third));
        assert_eq!(clients.gone, 0);
    }

    #[test]
    fn who_waits_for_ever_is_not_counted() {
        assert!(Clients::new(&closed(8).patience, 1).is_none());
    }
}
