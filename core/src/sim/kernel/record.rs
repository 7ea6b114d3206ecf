//! Writes down what the simulated threads do, where the run is told to record its timeline.

use super::Tid;
use crate::clock::Nanos;
use crate::gvl::Phase;
use crate::timeline::{Log, Role, TrackId};
use std::collections::BTreeMap;

/// The log of a run, and where each thread is in it.
#[derive(Debug)]
pub(in crate::sim) struct Record {
    log: Log,
    tracks: Vec<Option<TrackId>>,
    /// How many threads have begun, by process and role.
    begun: BTreeMap<(u32, Role), u32>,
}

impl Record {
    /// A record of `max` events at most.
    pub(in crate::sim) fn new(max: usize) -> Self {
        Self { log: Log::new(max), tracks: Vec::new(), begun: BTreeMap::new() }
    }

    pub(in crate::sim) fn into_log(self) -> Log {
        self.log
    }

    /// A thread of a process begins, perhaps under the number of one that ended.
    pub(in crate::sim) fn begins(&mut self, tid: Tid, process: u32, role: Role, now: Nanos) {
        let begun = self.begun.entry((process, role)).or_default();
        let number = *begun;
        *begun += 1;
        let place = tid.0 as usize;
        if self.tracks.len() <= place {
            self.tracks.resize(place + 1, None);
        }
        self.tracks[place] = Some(self.log.begins(process, role, number, now));
    }

    pub(in crate::sim) fn serves(&mut self, tid: Tid, request: u64, endpoint: usize, now: Nanos) {
        self.write(tid, |log, track| log.serves(track, request, endpoint, now));
    }

    pub(in crate::sim) fn served(&mut self, tid: Tid, request: u64, now: Nanos) {
        self.write(tid, |log, track| log.served(track, request, now));
    }

    pub(super) fn ends(&mut self, tid: Tid, now: Nanos) {
        self.write(tid, |log, track| log.ends(track, now));
    }

    pub(super) fn enters(&mut self, tid: Tid, phase: Phase, now: Nanos) {
        self.write(tid, |log, track| log.enters(track, phase, now));
    }

    pub(super) fn on(&mut self, tid: Tid, core: u32, at: Nanos) {
        self.write(tid, |log, track| log.on(track, core, at));
    }

    pub(super) fn off(&mut self, tid: Tid, now: Nanos) {
        self.write(tid, |log, track| log.off(track, now));
    }

    fn write(&mut self, tid: Tid, write: impl FnOnce(&mut Log, TrackId)) {
        if let Some(track) = self.tracks.get(tid.0 as usize).copied().flatten() {
            write(&mut self.log, track);
        }
    }
}
