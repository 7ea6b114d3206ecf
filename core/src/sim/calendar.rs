//! What is due, in order: by time, and at one time in the order it was entered.
//!
//! The clock of the simulator: time is that of the last event taken. Events for now stand in a line
//! of their own, which spares the heap where nothing takes time.

use crate::clock::Nanos;
use std::cmp::Ordering;
use std::collections::{BinaryHeap, VecDeque};

/// The agenda of one run.
#[derive(Debug)]
pub(super) struct Calendar<E> {
    now: Nanos,
    entered: u64,
    later: BinaryHeap<Entry<E>>,
    /// Entered now, for now.
    line: VecDeque<E>,
}

#[derive(Debug)]
struct Entry<E> {
    /// The time, then in which place it was entered.
    key: u128,
    event: E,
}

impl<E> Entry<E> {
    #[inline]
    fn new(at: Nanos, number: u64, event: E) -> Self {
        Self { key: u128::from(at) << 64 | u128::from(number), event }
    }

    #[inline]
    fn at(&self) -> Nanos {
        (self.key >> 64) as Nanos
    }
}

impl<E> Calendar<E> {
    pub(super) fn new() -> Self {
        Self { now: 0, entered: 0, later: BinaryHeap::new(), line: VecDeque::new() }
    }

    /// The time.
    pub(super) fn now(&self) -> Nanos {
        self.now
    }

    /// Enters an event; one for the past is due now.
    pub(super) fn enter(&mut self, at: Nanos, event: E) {
        if at <= self.now {
            self.line.push_back(event);
            return;
        }
        self.entered += 1;
        self.later.push(Entry::new(at, self.entered, event));
    }

    /// Takes the next event, and goes on to its time; none after `end`.
    pub(super) fn next(&mut self, end: Nanos) -> Option<E> {
        // What was entered earlier for this moment comes before what was entered in it.
        if self.later.peek().is_none_or(|entry| entry.at() > self.now)
            && let Some(event) = self.line.pop_front()
        {
            return Some(event);
        }
        if self.later.peek()?.at() > end {
            return None;
        }
        let entry = self.later.pop()?;
        self.now = entry.at();
        Some(entry.event)
    }
}

impl<E> Ord for Entry<E> {
    /// The earliest is the greatest.
    fn cmp(&self, other: &Self) -> Ordering {
        other.key.cmp(&self.key)
    }
}

impl<E> PartialOrd for Entry<E> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl<E> PartialEq for Entry<E> {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl<E> Eq for Entry<E> {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_come_by_time_then_as_they_were_entered() {
        let mut calendar = Calendar::new();
        for (at, event) in [(5, "c"), (3, "a"), (5, "d"), (0, "now"), (3, "b"), (9, "late")] {
            calendar.enter(at, event);
        }
        let mut order = Vec::new();
        while let Some(event) = calendar.next(8) {
            order.push((calendar.now(), event));
            if event == "a" {
                calendar.enter(3, "line");
                calendar.enter(2, "past");
            }
        }
        let expected =
            [(0, "now"), (3, "a"), (3, "b"), (3, "line"), (3, "past"), (5, "c"), (5, "d")];
        assert_eq!(order, expected);
    }
}
