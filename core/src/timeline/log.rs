//! The events of a run as they come, up to a bound; engines write it, and `tracks` is made of it.
//!
//! Times are on the engine's clock. Events of one thread come in order; those of several threads nearly
//! so. A worker process sends its log to the master as text, see [`Log::to_text`].

use super::Role;
use crate::clock::Nanos;
use crate::gvl::Phase;
use serde::{Deserialize, Serialize};

/// What happened, to whom and when.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Log {
    pub(super) heads: Vec<Head>,
    pub(super) events: Vec<Event>,
    max: usize,
    /// Events that found no room, and the earliest time of one.
    pub(super) dropped: u64,
    pub(super) whole_until: Nanos,
}

/// A thread in a log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct TrackId(u32);

/// A thread for which there was no room.
const LEFT_OUT: TrackId = TrackId(u32::MAX);

/// Who a thread is, and when it lived.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct Head {
    pub(super) process: u32,
    pub(super) role: Role,
    pub(super) number: u32,
    pub(super) from: Nanos,
    pub(super) to: Option<Nanos>,
    /// It waits for the lock since then, or finds it free: which of them is known when it has it.
    asked: Option<Nanos>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Event {
    pub(super) track: u32,
    pub(super) at: Nanos,
    pub(super) what: What,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum What {
    Enters(Phase),
    /// It is on a core from now on.
    On(u32),
    Off,
    /// It begins with a request of an endpoint.
    Serves(u64, u32),
    Served(u64),
}

impl Log {
    /// A log of `max` events at most.
    pub(crate) fn new(max: usize) -> Self {
        Self { heads: vec![], events: vec![], max, dropped: 0, whole_until: Nanos::MAX }
    }

    /// A thread begins: blocked, and on no core.
    pub(crate) fn begins(&mut self, process: u32, role: Role, number: u32, at: Nanos) -> TrackId {
        if !self.has_room(at) {
            return LEFT_OUT;
        }
        self.heads.push(Head { process, role, number, from: at, to: None, asked: None });
        TrackId(self.heads.len() as u32 - 1)
    }

    pub(crate) fn ends(&mut self, track: TrackId, at: Nanos) {
        if let Some(head) = self.heads.get_mut(track.0 as usize) {
            head.to = Some(at);
        }
    }

    /// The thread asks for the lock; it is told later whether it had to wait.
    pub(crate) fn asks(&mut self, track: TrackId, at: Nanos) {
        if let Some(head) = self.heads.get_mut(track.0 as usize).filter(|_| self.dropped == 0) {
            head.asked = Some(at);
        }
    }

    /// The thread has the lock that it asked for.
    pub(crate) fn takes(&mut self, track: TrackId, waited: bool, at: Nanos) {
        let asked = self.heads.get_mut(track.0 as usize).and_then(|head| head.asked.take());
        if let Some(at) = asked.filter(|_| waited) {
            // There is room for one such a thread: what is of a time before must not be dropped.
            self.events.push(Event { track: track.0, at, what: What::Enters(Phase::Waiting) });
        }
        self.enters(track, Phase::Holding, at);
    }

    pub(crate) fn enters(&mut self, track: TrackId, phase: Phase, at: Nanos) {
        self.push(track, What::Enters(phase), at);
    }

    pub(crate) fn on(&mut self, track: TrackId, core: u32, at: Nanos) {
        self.push(track, What::On(core), at);
    }

    pub(crate) fn off(&mut self, track: TrackId, at: Nanos) {
        self.push(track, What::Off, at);
    }

    pub(crate) fn serves(&mut self, track: TrackId, request: u64, endpoint: usize, at: Nanos) {
        self.push(track, What::Serves(request, endpoint as u32), at);
    }

    pub(crate) fn served(&mut self, track: TrackId, request: u64, at: Nanos) {
        self.push(track, What::Served(request), at);
    }

    fn push(&mut self, track: TrackId, what: What, at: Nanos) {
        if self.has_room(at) {
            self.events.push(Event { track: track.0, at, what });
        }
    }

    /// Whether one more fits; where not, it counts as dropped.
    fn has_room(&mut self, at: Nanos) -> bool {
        let has_room = self.dropped == 0 && self.heads.len() + self.events.len() < self.max;
        if !has_room {
            if self.dropped == 0 {
                // These would come later, and are of a time before.
                self.settle();
            }
            self.dropped += 1;
            self.whole_until = self.whole_until.min(at);
        }
        has_room
    }

    /// Writes down who is waiting for the lock: so many events at most as there are threads.
    pub(super) fn settle(&mut self) {
        for (track, head) in self.heads.iter_mut().enumerate() {
            if let Some(at) = head.asked.take() {
                let what = What::Enters(Phase::Waiting);
                self.events.push(Event { track: track as u32, at, what });
            }
        }
    }

    /// The log as one line of JSON, about 14 bytes an event and 64 at most; [`Log::from_text`] reads it.
    pub(crate) fn to_text(&self) -> String {
        let mut log = self.clone();
        log.settle();
        let mut events = String::with_capacity(log.events.len() * 16);
        let mut last = 0;
        for event in &log.events {
            let (code, a, b) = event.what.code();
            let later = event.at.wrapping_sub(last) as i64;
            last = event.at;
            let mut put = |number: i128| events.push_str(&format!("{number} "));
            [event.track.into(), code.into(), later.into()].into_iter().for_each(&mut put);
            [a, b].into_iter().flatten().for_each(|n| put(n.into()));
        }
        let (dropped, whole_until) = (log.dropped, log.whole_until);
        let told = Told { heads: log.heads, events, dropped, whole_until };
        serde_json::to_string(&told).expect("a log is plain data")
    }

    /// Reads what [`Log::to_text`] wrote; `None` where it did not.
    pub(crate) fn from_text(text: &str) -> Option<Self> {
        let Told { heads, events, dropped, whole_until } = serde_json::from_str(text).ok()?;
        let mut numbers = events.split_ascii_whitespace();
        let mut read = Vec::new();
        let mut last: Nanos = 0;
        while let Some(track) = numbers.next() {
            let track: u32 = track.parse().ok()?;
            let code: u32 = numbers.next()?.parse().ok()?;
            last = last.wrapping_add(numbers.next()?.parse::<i64>().ok()? as u64);
            let what = What::read(code, || numbers.next()?.parse().ok())?;
            if track as usize >= heads.len() {
                return None;
            }
            read.push(Event { track, at: last, what });
        }
        let max = heads.len() + read.len();
        Some(Self { heads, events: read, max, dropped, whole_until })
    }
}

/// A log on its way.
#[derive(Serialize, Deserialize)]
struct Told {
    heads: Vec<Head>,
    /// Numbers in a text: track, code, nanoseconds since the last event, and what belongs to the code.
    events: String,
    dropped: u64,
    whole_until: Nanos,
}

impl What {
    fn code(self) -> (u32, Option<u64>, Option<u64>) {
        match self {
            Self::Enters(Phase::Blocked) => (0, None, None),
            Self::Enters(Phase::Waiting) => (1, None, None),
            Self::Enters(Phase::Holding) => (2, None, None),
            Self::Off => (3, None, None),
            Self::On(core) => (4, Some(core.into()), None),
            Self::Served(request) => (5, Some(request), None),
            Self::Serves(request, endpoint) => (6, Some(request), Some(endpoint.into())),
        }
    }

    fn read(code: u32, mut next: impl FnMut() -> Option<u64>) -> Option<Self> {
        Some(match code {
            0 => Self::Enters(Phase::Blocked),
            1 => Self::Enters(Phase::Waiting),
            2 => Self::Enters(Phase::Holding),
            3 => Self::Off,
            4 => Self::On(next()?.try_into().ok()?),
            5 => Self::Served(next()?),
            6 => Self::Serves(next()?, next()?.try_into().ok()?),
            _ => return None,
        })
    }
}
