//! Who waits for the lock, in the order of turns: first come first served, or by rank.
//!
//! `Sched` keeps one. Joining, leaving from either end and leaving from the middle cost the same for
//! ten threads and for ten thousand: a place that was left stays as a hole until it comes to an end
//! of the line, or until there are more holes than waiters. A thread is in line once at most.

use super::ThreadId;
use crate::clock::Nanos;
use std::collections::{BTreeSet, VecDeque};

#[derive(Debug, Clone)]
pub(super) enum Line {
    Fifo(Fifo),
    Ranked(Ranked),
}

/// First come, first served. Invariant: the places at both ends are taken.
#[derive(Debug, Clone, Default)]
pub(super) struct Fifo {
    /// Threads and their tickets; a hole where the thread has another ticket by now, or none.
    places: VecDeque<(ThreadId, u64)>,
    /// By thread: its ticket, nought if it is not in line.
    tickets: Vec<u64>,
    given: u64,
    waiting: usize,
}

/// The lowest rank first, and who came first of one rank.
#[derive(Debug, Clone, Default)]
pub(super) struct Ranked {
    places: BTreeSet<(Nanos, i64, ThreadId)>,
    /// By thread: its rank and its number, if it is in line.
    of: Vec<Option<(Nanos, i64)>>,
    last: i64,
    first: i64,
}

/// The holes that are always borne.
const HOLES: usize = 32;

impl Line {
    pub(super) fn is_empty(&self) -> bool {
        self.len() == 0
    }

    pub(super) fn len(&self) -> usize {
        match self {
            Self::Fifo(line) => line.waiting,
            Self::Ranked(line) => line.places.len(),
        }
    }

    /// Lines up behind all others of the same rank; the rank means nothing where the first come is
    /// the first served.
    pub(super) fn push_back(&mut self, thread: ThreadId, rank: Nanos) {
        match self {
            Self::Fifo(line) => {
                let place = line.ticket(thread);
                line.places.push_back(place);
            }
            Self::Ranked(line) => {
                line.last += 1;
                line.enter(thread, (rank, line.last));
            }
        }
    }

    /// Lines up before all others.
    pub(super) fn push_front(&mut self, thread: ThreadId) {
        match self {
            Self::Fifo(line) => {
                let place = line.ticket(thread);
                line.places.push_front(place);
            }
            Self::Ranked(line) => {
                line.first -= 1;
                line.enter(thread, (0, line.first));
            }
        }
    }

    /// The next in turn.
    pub(super) fn front(&self) -> Option<ThreadId> {
        match self {
            Self::Fifo(line) => line.places.front().map(|(thread, _)| *thread),
            Self::Ranked(line) => line.places.first().map(|(_, _, thread)| *thread),
        }
    }

    /// The last in turn.
    pub(super) fn back(&self) -> Option<ThreadId> {
        match self {
            Self::Fifo(line) => line.places.back().map(|(thread, _)| *thread),
            Self::Ranked(line) => line.places.last().map(|(_, _, thread)| *thread),
        }
    }

    /// Takes the next in turn out of the line.
    pub(super) fn pop_front(&mut self) -> Option<ThreadId> {
        let next = self.front()?;
        self.remove(next);
        Some(next)
    }

    /// Takes a thread out of the line, wherever it stands; nothing happens if it does not.
    pub(super) fn remove(&mut self, thread: ThreadId) {
        match self {
            Self::Fifo(line) => line.remove(thread),
            Self::Ranked(line) => {
                let place = line.of.get_mut(thread.0 as usize).and_then(Option::take);
                if let Some((rank, number)) = place {
                    line.places.remove(&(rank, number, thread));
                }
            }
        }
    }
}

impl Fifo {
    fn ticket(&mut self, thread: ThreadId) -> (ThreadId, u64) {
        self.given += 1;
        let index = thread.0 as usize;
        if self.tickets.len() <= index {
            self.tickets.resize(index + 1, 0);
        }
        debug_assert_eq!(self.tickets[index], 0, "a thread is in line once");
        self.tickets[index] = self.given;
        self.waiting += 1;
        (thread, self.given)
    }

    fn remove(&mut self, thread: ThreadId) {
        let Some(ticket) = self.tickets.get_mut(thread.0 as usize).filter(|t| **t != 0) else {
            return;
        };
        *ticket = 0;
        self.waiting -= 1;
        let tickets = &self.tickets;
        let is_hole = |(thread, ticket): &(ThreadId, u64)| tickets[thread.0 as usize] != *ticket;
        while self.places.front().is_some_and(is_hole) {
            self.places.pop_front();
        }
        while self.places.back().is_some_and(is_hole) {
            self.places.pop_back();
        }
        // Each hole is filled in once, and paid for by the thread that left it.
        if self.places.len() > 2 * self.waiting + HOLES {
            self.places.retain(|place| !is_hole(place));
        }
    }
}

impl Ranked {
    fn enter(&mut self, thread: ThreadId, (rank, number): (Nanos, i64)) {
        let index = thread.0 as usize;
        if self.of.len() <= index {
            self.of.resize(index + 1, None);
        }
        debug_assert_eq!(self.of[index], None, "a thread is in line once");
        self.of[index] = Some((rank, number));
        self.places.insert((rank, number, thread));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[derive(Debug, Clone, Copy)]
    enum Act {
        Back(u32, Nanos),
        Front(u32),
        Remove(u32),
        Pop,
    }

    fn acts() -> impl Strategy<Value = Vec<Act>> {
        let act = prop_oneof![
            (0..40_u32, 0..5_u64).prop_map(|(thread, rank)| Act::Back(thread, rank)),
            (0..40_u32).prop_map(Act::Front),
            (0..40_u32).prop_map(Act::Remove),
            Just(Act::Pop),
        ];
        proptest::collection::vec(act, 0..400)
    }

    /// A line is what a list is that is sorted by rank, stably.
    fn is_a_sorted_list(mut line: Line, ranked: bool, acts: Vec<Act>) {
        let mut list: Vec<(Nanos, ThreadId)> = Vec::new();
        for act in acts {
            match act {
                Act::Back(n, rank) if !list.iter().any(|(_, t)| t.0 == n) => {
                    line.push_back(ThreadId(n), rank);
                    let rank = if ranked { rank } else { 0 };
                    let place = list.iter().position(|(r, _)| *r > rank).unwrap_or(list.len());
                    list.insert(place, (rank, ThreadId(n)));
                }
                Act::Front(n) if !list.iter().any(|(_, t)| t.0 == n) => {
                    line.push_front(ThreadId(n));
                    list.insert(0, (0, ThreadId(n)));
                }
                Act::Remove(n) => {
                    line.remove(ThreadId(n));
                    list.retain(|(_, t)| t.0 != n);
                }
                Act::Pop => {
                    let first = (!list.is_empty()).then(|| list.remove(0).1);
                    assert_eq!(line.pop_front(), first);
                }
                Act::Back(..) | Act::Front(_) => {}
            }
            let ends = (list.first().map(|(_, t)| *t), list.last().map(|(_, t)| *t));
            assert_eq!((line.front(), line.back()), ends);
            assert_eq!((line.len(), line.is_empty()), (list.len(), list.is_empty()));
        }
    }

    proptest! {
        #[test]
        fn a_line_is_a_list_in_the_order_of_turns(acts in acts()) {
            is_a_sorted_list(Line::Fifo(Fifo::default()), false, acts.clone());
            is_a_sorted_list(Line::Ranked(Ranked::default()), true, acts);
        }
    }

    /// Threads that leave the middle and line up again move few others, however many there are.
    #[test]
    fn holes_are_bounded() {
        let mut line = Fifo::default();
        let places = |line: &mut Fifo, n| {
            let place = line.ticket(ThreadId(n));
            line.places.push_back(place);
        };
        (0..10_000).for_each(|n| places(&mut line, n));
        for n in (1..9_999).cycle().take(50_000) {
            line.remove(ThreadId(n));
            places(&mut line, n);
            assert!(line.places.len() <= 2 * line.waiting + HOLES + 1);
        }
    }
}
