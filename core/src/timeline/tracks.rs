//! The timeline of a run: a track a thread, made of the engine's log when the run is over.

use super::Role;
use super::log::{Event, Head, Log, What};
use crate::clock::Nanos;
use crate::gvl::Phase;
use std::ops::Range;

/// What each thread did from the start of a run to its end. Times are nanoseconds since the start.
///
/// ```
/// use gvl_lab::gvl::Phase;
/// use gvl_lab::{Engine, Experiment, RunOptions, load::closed, model::pool, workload::{cpu, io, ms}};
///
/// let experiment = Experiment::new(pool().threads(2)).workload([cpu(ms(2)), io(ms(5))]);
/// let experiment = experiment.load(closed(2).requests(4));
/// let report = experiment.run_with(Engine::Sim, RunOptions::new().timeline(true))?;
/// let timeline = report.rows[0].timeline.as_ref().expect("it was told to record it");
/// for span in &timeline.tracks[1].spans {
///     println!("{:?} for {} ns", span.phase, span.to - span.from);
/// }
/// let waits = |span: &&gvl_lab::timeline::Span| span.phase == Phase::Waiting;
/// // Both threads wake for the first requests, and one of them has to wait for the other.
/// let spans = timeline.tracks.iter().flat_map(|track| &track.spans);
/// assert!(spans.filter(waits).count() >= 1);
/// // Who was given the lock, in order: the requests 0 to 3, before and after their waits.
/// let order: Vec<_> = timeline.grants().filter_map(|grant| Some(grant.request?.number)).collect();
/// assert_eq!(order, [0, 1, 0, 1, 2, 3]);
/// # Ok::<(), gvl_lab::Error>(())
/// ```
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Timeline {
    /// The threads, by process, role and number.
    pub tracks: Vec<Track>,
    /// The names of the endpoints.
    pub endpoints: Vec<String>,
    /// When it ends: as the run does, or where the record was full, see [`EVENTS_MAX`](super::EVENTS_MAX).
    pub end: Nanos,
    /// Events that came when the record was full, and are missing after [`Timeline::end`].
    pub dropped: u64,
    /// The lock's grants in order, in all processes.
    grants: Vec<Granted>,
}

/// What one thread did.
#[derive(Debug, Clone, PartialEq)]
pub struct Track {
    /// The number of its worker, from 0; a replacement has that of the one that it replaces.
    pub process: u32,
    /// The process id; in the simulator the number of the worker and 1.
    pub pid: u32,
    /// What it is there for.
    pub role: Role,
    /// Which one of that role in its process, from 0.
    pub number: u32,
    /// What it did with the lock, without gaps from its begin to its end.
    pub spans: Vec<Span>,
    /// The cores that it was on; the simulator alone knows.
    pub ran: Vec<Ran>,
    /// The requests that it served. On an event loop they overlap.
    pub requests: Vec<Request>,
}

/// A time in one phase. One that waits or is blocked has a length; a holder may need no time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Span {
    /// What the thread did with the lock.
    pub phase: Phase,
    /// Its begin.
    pub from: Nanos,
    /// Its end.
    pub to: Nanos,
    /// Of a holder: a place in [`Track::requests`], of what it served first meanwhile; on an event loop the
    /// only one under way, or else the first that it began with.
    pub request: Option<usize>,
}

/// A time on one core.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ran {
    /// The core, from 0.
    pub core: u32,
    /// When the core was switched to the thread.
    pub from: Nanos,
    /// When it left.
    pub to: Nanos,
}

/// A request on the thread that served it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Request {
    /// Its number, from 0 in the order in which requests arrived.
    pub number: u64,
    /// A place in [`Timeline::endpoints`].
    pub endpoint: usize,
    /// When the thread began with it.
    pub from: Nanos,
    /// When it was served, or the timeline ended.
    pub to: Nanos,
}

/// A time that a thread got the lock.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Grant<'a> {
    /// The thread.
    pub track: &'a Track,
    /// What it served first while it held the lock, see [`Span::request`].
    pub request: Option<&'a Request>,
    /// From when to when it held the lock.
    pub span: Span,
    /// How long it had waited, in nanoseconds; nought where the lock was free.
    pub waited: Nanos,
}

/// A [`Grant`] by its places.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Granted {
    at: Nanos,
    track: usize,
    span: usize,
}

impl Timeline {
    /// The times that a thread got the lock, in order, those of all processes.
    pub fn grants(&self) -> impl Iterator<Item = Grant<'_>> {
        self.grants.iter().map(|granted| {
            let track = &self.tracks[granted.track];
            let span = track.spans[granted.span];
            let before = granted.span.checked_sub(1).map(|place| track.spans[place]);
            let wait = before.filter(|span| span.phase == Phase::Waiting);
            let request = span.request.map(|place| &track.requests[place]);
            Grant { track, request, span, waited: wait.map_or(0, |span| span.to - span.from) }
        })
    }

    /// Says what is missing, where the record was full.
    pub fn note(&self) -> Option<String> {
        let Self { dropped, end, .. } = self;
        let end_s = *end as f64 / 1e9;
        (*dropped > 0).then(|| {
            format!("the timeline ends at {end_s:.3} s: {dropped} events after it found no room, record a shorter run")
        })
    }

    /// Makes it of the logs of processes; `who` gives the number and the process id of a log's process.
    /// What is outside of `window`, on the logs' clock, is cut off.
    pub(crate) fn of_logs<W: Fn(u32) -> (u32, u32)>(
        logs: impl IntoIterator<Item = (Log, W)>,
        window: Range<Nanos>,
        endpoints: Vec<String>,
    ) -> Self {
        let logs: Vec<_> = logs.into_iter().collect();
        let whole_until = logs.iter().map(|(log, _)| log.whole_until).min().unwrap_or(Nanos::MAX);
        let window = window.start..window.end.min(whole_until).max(window.start);
        let mut timeline = Self { endpoints, end: window.end - window.start, ..Self::default() };
        for (mut log, who) in logs {
            log.settle();
            timeline.dropped += log.dropped;
            timeline.add(&log, &who, &window);
        }
        // Grants at one time stay in the order of the log.
        timeline.grants.sort_by_key(|granted| granted.at);
        timeline
    }

    fn add(&mut self, log: &Log, who: &dyn Fn(u32) -> (u32, u32), window: &Range<Nanos>) {
        let mut drafts: Vec<_> =
            log.heads.iter().enumerate().map(|(n, head)| Draft::new(n, head, who)).collect();
        let mut grants = Vec::new();
        for event in &log.events {
            if let Some(draft) = drafts.get_mut(event.track as usize) {
                draft.hear(event, window, &mut grants);
            }
        }
        let mut order: Vec<usize> = (0..drafts.len()).collect();
        let place = |head: &Head| (head.process, head.role, head.number, head.from);
        order.sort_by_key(|n| place(&log.heads[*n]));
        let mut places = vec![None; drafts.len()];
        for n in order {
            let head = &log.heads[n];
            let to = head.to.unwrap_or(window.end).min(window.end);
            drafts[n].end(to, window, &mut grants);
            if head.from < window.end && to > window.start {
                places[n] = Some(self.tracks.len());
                self.tracks.push(drafts[n].track.clone());
            }
        }
        let kept = grants
            .into_iter()
            .filter_map(|granted| Some(Granted { track: places[granted.track]?, ..granted }));
        self.grants.extend(kept);
    }
}

impl Track {
    /// Names it in its process, such as `thread 3` or `acceptor`.
    pub fn name(&self) -> String {
        if self.role.is_many() {
            format!("{} {}", self.role, self.number)
        } else {
            self.role.to_string()
        }
    }
}

/// A track as its events come; times are still the log's.
struct Draft {
    /// Its place among the log's.
    place: usize,
    track: Track,
    phase: Phase,
    since: Nanos,
    core: Option<(u32, Nanos)>,
    /// Places of requests that have not ended.
    open: Vec<usize>,
    /// The request of the present grant.
    granted_for: Option<usize>,
}

impl Draft {
    fn new(place: usize, head: &Head, who: &dyn Fn(u32) -> (u32, u32)) -> Self {
        let (process, pid) = who(head.process);
        Self {
            place,
            track: Track {
                process,
                pid,
                role: head.role,
                number: head.number,
                spans: vec![],
                ran: vec![],
                requests: vec![],
            },
            phase: Phase::Blocked,
            since: head.from,
            core: None,
            open: vec![],
            granted_for: None,
        }
    }

    fn hear(&mut self, event: &Event, window: &Range<Nanos>, grants: &mut Vec<Granted>) {
        let at = event.at;
        match event.what {
            What::Enters(phase) => {
                self.close(at, window, grants);
                (self.phase, self.since) = (phase, at);
                self.granted_for = self.open.first().copied().filter(|_| self.open.len() == 1);
            }
            What::On(core) => self.core = Some((core, at)),
            What::Off => self.leave_core(at, window),
            What::Serves(number, endpoint) if window.contains(&at) => {
                let from = at - window.start;
                let place = self.track.requests.len();
                let to = window.end - window.start;
                self.track.requests.push(Request { number, endpoint: endpoint as usize, from, to });
                self.open.push(place);
                self.granted_for = self.granted_for.or(Some(place));
            }
            What::Serves(..) => {}
            What::Served(number) => {
                let requests = &mut self.track.requests;
                if let Some(n) = self.open.iter().position(|n| requests[*n].number == number) {
                    let request = &mut requests[self.open.swap_remove(n)];
                    request.to = at.clamp(window.start, window.end) - window.start;
                }
            }
        }
    }

    /// The thread ends, or the timeline.
    fn end(&mut self, at: Nanos, window: &Range<Nanos>, grants: &mut Vec<Granted>) {
        self.close(at, window, grants);
        self.leave_core(at, window);
        for place in self.open.drain(..) {
            self.track.requests[place].to = at - window.start;
        }
    }

    /// Ends the present phase.
    fn close(&mut self, at: Nanos, window: &Range<Nanos>, grants: &mut Vec<Granted>) {
        let Some((from, to)) = within(self.since, at, window) else { return };
        let phase = self.phase;
        let spans = &mut self.track.spans;
        if phase == Phase::Holding {
            grants.push(Granted { at: from, track: self.place, span: spans.len() });
        } else if from == to {
            return;
        } else if let Some(last) = spans.last_mut().filter(|last| last.phase == phase) {
            last.to = to;
            return;
        }
        let request = self.granted_for.filter(|_| phase == Phase::Holding);
        spans.push(Span { phase, from, to, request });
    }

    fn leave_core(&mut self, at: Nanos, window: &Range<Nanos>) {
        let Some((core, since)) = self.core.take() else { return };
        if let Some((from, to)) = within(since, at, window).filter(|(from, to)| from < to) {
            self.track.ran.push(Ran { core, from, to });
        }
    }
}

/// What of a time is in the window, as times since its start.
fn within(from: Nanos, to: Nanos, window: &Range<Nanos>) -> Option<(Nanos, Nanos)> {
    // A moment may be at the edge; what has a length has some of it inside.
    let is_inside = match from == to {
        true => (window.start..=window.end).contains(&from),
        false => from < window.end && to > window.start,
    };
    let cut = |at: Nanos| at.clamp(window.start, window.end) - window.start;
    is_inside.then(|| (cut(from), cut(to.max(from))))
}
