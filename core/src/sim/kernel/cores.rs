//! The processors, and who is next on them: after Linux's completely fair scheduler.
//!
//! Threads that are ready stand in one line for all cores, in the order of the CPU time they have
//! had; one that slept is treated as if it had had a slice less than the others at most. Differs
//! from Linux: one line instead of one a core with balancing between them, no groups, no weights.

use super::thread::Tid;
use crate::clock::Nanos;
use std::collections::BTreeSet;

#[derive(Debug)]
pub(super) struct Cores {
    cores: Vec<Core>,
    /// Those that nobody is on, and where each stands in that list.
    idle: Vec<u32>,
    idle_at: Vec<u32>,
    /// Who waits for a core: CPU time, arrival, thread.
    line: BTreeSet<(Nanos, u64, Tid)>,
    arrivals: u64,
    /// What no thread that runs or waits for a core has had less than.
    least: Nanos,
}

#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Core {
    pub(super) on: Option<Tid>,
    /// Since when.
    pub(super) since: Nanos,
    /// Whether the end of its slice is in the calendar.
    pub(super) watched: bool,
    /// Counts who was on it; the end of a slice that was entered before is void.
    pub(super) stamp: u32,
}

const BUSY: u32 = u32::MAX;

impl Cores {
    pub(super) fn new(count: u32) -> Self {
        Self {
            cores: vec![Core::default(); count as usize],
            // The lowest is taken first.
            idle: (0..count).rev().collect(),
            idle_at: (0..count).rev().collect(),
            line: BTreeSet::new(),
            arrivals: 0,
            least: 0,
        }
    }

    pub(super) fn core(&mut self, core: u32) -> &mut Core {
        &mut self.cores[core as usize]
    }

    pub(super) fn len(&self) -> u32 {
        self.cores.len() as u32
    }

    pub(super) fn anyone_waits(&self) -> bool {
        !self.line.is_empty()
    }

    /// Puts a thread on an idle core: its last one, if it can be had.
    pub(super) fn take_idle(&mut self, thread: Tid, last: u32, now: Nanos) -> Option<u32> {
        let last_is_idle = self.idle_at.get(last as usize).is_some_and(|at| *at != BUSY);
        let core = if last_is_idle { last } else { *self.idle.last()? };
        let at = self.idle_at[core as usize] as usize;
        self.idle.swap_remove(at);
        if let Some(moved) = self.idle.get(at) {
            self.idle_at[*moved as usize] = at as u32;
        }
        self.idle_at[core as usize] = BUSY;
        self.put(core, thread, now);
        Some(core)
    }

    /// Puts a thread on a core that nobody is on any more.
    pub(super) fn put(&mut self, core: u32, thread: Tid, now: Nanos) {
        let core = self.core(core);
        core.on = Some(thread);
        core.since = now;
        core.watched = false;
        core.stamp = core.stamp.wrapping_add(1);
    }

    /// Takes whoever is on the core off it; it stays taken.
    pub(super) fn clear(&mut self, core: u32) {
        self.core(core).on = None;
    }

    /// Nobody wants the core.
    pub(super) fn leave_idle(&mut self, core: u32) {
        self.idle_at[core as usize] = self.idle.len() as u32;
        self.idle.push(core);
    }

    /// The CPU time that a thread counts with after a sleep.
    pub(super) fn after_sleep(&self, vruntime: Nanos, slice: Nanos) -> Nanos {
        vruntime.max(self.least.saturating_sub(slice))
    }

    pub(super) fn line_up(&mut self, thread: Tid, vruntime: Nanos) {
        self.arrivals += 1;
        self.line.insert((vruntime, self.arrivals, thread));
    }

    /// The threads that run have had so much CPU time at least.
    pub(super) fn pass(&mut self, least: Nanos) {
        let first = self.line.first().map_or(least, |(vruntime, ..)| (*vruntime).min(least));
        self.least = self.least.max(first);
    }

    /// Who is next.
    pub(super) fn pop(&mut self) -> Option<Tid> {
        self.line.pop_first().map(|(_, _, thread)| thread)
    }

    /// The cores and who is on them.
    pub(super) fn busy(&self) -> impl Iterator<Item = (u32, Tid)> + '_ {
        let on = |(n, core): (usize, &Core)| Some((n as u32, core.on?));
        self.cores.iter().enumerate().filter_map(on)
    }
}
