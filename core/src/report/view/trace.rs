//! `trace`: the timelines in the Trace Event format, which ui.perfetto.dev and chrome://tracing open.
//!
//! Each worker of each row is a process, each of its threads a track of its phases; the requests lie
//! beside them, one after another where they overlap. The cores of the simulated machine are one process
//! more a row. Empty where no row has a timeline. After the format's own description ("Trace Event
//! Format", Google); times are microseconds, exact to the nanosecond.

use super::heading;
use crate::clock::Nanos;
use crate::gvl::Phase;
use crate::report::{Report, Row};
use crate::timeline::{Grant, Timeline, Track};
use serde::Serialize;
use serde_json::{Value as Json, json};
use std::collections::BTreeMap;

pub(super) fn render(report: &Report) -> String {
    of_all(std::slice::from_ref(report))
}

/// All reports in one trace.
pub fn of_all(reports: &[Report]) -> String {
    let mut trace = Trace::default();
    let mut notes = Vec::new();
    for report in reports {
        let before =
            if reports.len() > 1 { format!("{}: ", heading::name(report)) } else { String::new() };
        for row in &report.rows {
            let Some(timeline) = &row.timeline else { continue };
            let title = format!("{before}{}", row.title());
            if let Some(note) = timeline.note() {
                notes.push(format!("{title}: {note}"));
                trace.put(&Event {
                    scope: Some("g"),
                    ..Event::new("i", note, 0, 0, Some(timeline.end))
                });
            }
            trace.row(&title, row, timeline);
        }
    }
    if trace.lines.is_empty() {
        return String::new();
    }
    let engine = reports.first().map_or("", |report| report.engine.as_str());
    let about = json!({ "engine": engine, "notes": notes });
    let lines = trace.lines.join(",\n");
    format!("{{\"displayTimeUnit\":\"ms\",\"otherData\":{about},\"traceEvents\":[\n{lines}\n]}}\n")
}

#[derive(Default)]
struct Trace {
    lines: Vec<String>,
    processes: u32,
}

/// One event; `ph` is its kind, times are in microseconds.
#[derive(Serialize)]
struct Event {
    ph: &'static str,
    name: String,
    pid: u32,
    tid: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    ts: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    dur: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    cat: Option<&'static str>,
    #[serde(rename = "s", skip_serializing_if = "Option::is_none")]
    scope: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    id2: Option<Json>,
    #[serde(skip_serializing_if = "Option::is_none")]
    args: Option<Json>,
}

impl Event {
    fn new(
        ph: &'static str,
        name: impl Into<String>,
        pid: u32,
        tid: usize,
        at: Option<Nanos>,
    ) -> Self {
        let name = name.into();
        let (dur, cat, scope, id2, args) = (None, None, None, None, None);
        Self { ph, name, pid, tid, ts: at.map(micros), dur, cat, scope, id2, args }
    }

    fn lasts(self, length: Nanos) -> Self {
        Self { dur: Some(micros(length)), ..self }
    }

    fn tells(self, args: Json) -> Self {
        Self { args: Some(args), ..self }
    }
}

impl Trace {
    fn put(&mut self, event: &Event) {
        self.lines.push(serde_json::to_string(event).expect("an event is plain data"));
    }

    fn row(&mut self, title: &str, row: &Row, timeline: &Timeline) {
        let mut held: BTreeMap<(*const Track, Nanos, Nanos), Grant<'_>> = BTreeMap::new();
        for grant in timeline.grants() {
            held.insert((grant.track, grant.span.from, grant.span.to), grant);
        }
        let process_name = |track: &Track| match row.workers {
            0 => format!("{title} (pid {})", track.pid),
            _ => format!("{title}: worker {} (pid {})", track.process, track.pid),
        };
        let mut process = None;
        for (n, track) in timeline.tracks.iter().enumerate() {
            if process != Some((track.process, track.pid)) {
                process = Some((track.process, track.pid));
                self.process(&process_name(track));
            }
            let pid = self.processes;
            self.thread(pid, n + 1, &track.name());
            for span in &track.spans {
                let event = Event::new("X", name_of(span.phase), pid, n + 1, Some(span.from));
                let event = event.lasts(span.to - span.from);
                let grant = held.get(&(&raw const *track, span.from, span.to));
                let request =
                    grant.filter(|_| span.phase == Phase::Holding).and_then(|g| g.request);
                self.put(&match request {
                    Some(request) => event.tells(json!({ "request": request.number })),
                    None => event,
                });
            }
            for request in &track.requests {
                let name = timeline.endpoints.get(request.endpoint).map_or("", String::as_str);
                for (ph, at) in [("b", request.from), ("e", request.to)] {
                    let event = Event::new(ph, name, pid, n + 1, Some(at));
                    let id2 = Some(json!({ "local": request.number.to_string() }));
                    let event = Event { cat: Some("request"), id2, ..event };
                    let args = json!({ "request": request.number, "thread": track.name() });
                    self.put(&if ph == "b" { event.tells(args) } else { event });
                }
            }
        }
        self.cores(title, row, timeline);
    }

    /// Who was on each core, where the engine knows.
    fn cores(&mut self, title: &str, row: &Row, timeline: &Timeline) {
        let mut cores: BTreeMap<u32, Vec<(Nanos, Nanos, &Track)>> = BTreeMap::new();
        for track in &timeline.tracks {
            for ran in &track.ran {
                cores.entry(ran.core).or_default().push((ran.from, ran.to, track));
            }
        }
        if cores.is_empty() {
            return;
        }
        self.process(&format!("{title}: cores"));
        let pid = self.processes;
        for (core, mut spans) in cores {
            let tid = core as usize + 1;
            self.thread(pid, tid, &format!("core {core}"));
            spans.sort_by_key(|(from, ..)| *from);
            for (from, to, track) in spans {
                let name = match row.workers {
                    0 => track.name(),
                    _ => format!("worker {} {}", track.process, track.name()),
                };
                self.put(&Event::new("X", name, pid, tid, Some(from)).lasts(to - from));
            }
        }
    }

    fn process(&mut self, name: &str) {
        self.processes += 1;
        let pid = self.processes;
        let event = Event::new("M", "process_name", pid, 0, None);
        self.put(&event.tells(json!({ "name": name })));
        let event = Event::new("M", "process_sort_index", pid, 0, None);
        self.put(&event.tells(json!({ "sort_index": pid })));
    }

    fn thread(&mut self, pid: u32, tid: usize, name: &str) {
        let event = Event::new("M", "thread_name", pid, tid, None);
        self.put(&event.tells(json!({ "name": name })));
        let event = Event::new("M", "thread_sort_index", pid, tid, None);
        self.put(&event.tells(json!({ "sort_index": tid })));
    }
}

fn name_of(phase: Phase) -> &'static str {
    match phase {
        Phase::Blocked => "blocked",
        Phase::Waiting => "waiting",
        Phase::Holding => "holding",
    }
}

fn micros(at: Nanos) -> f64 {
    at as f64 / 1000.0
}
