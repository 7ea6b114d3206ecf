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
use crate::timeline::{Timeline, Track};
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
            trace.row(&title, row, timeline);
            if let Some(note) = timeline.note() {
                notes.push(format!("{title}: {note}"));
                let event = Event::new("i", note, trace.process, 0, Some(timeline.end));
                trace.put(&Event { scope: Some("g"), ..event });
            }
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

/// Numbers are given once, to a process or a thread: who opens a trace takes a thread that has the number of
/// its process for the main one.
#[derive(Default)]
struct Trace {
    lines: Vec<String>,
    last: u32,
    /// The present process.
    process: u32,
}

/// One event; `ph` is its kind, times are in microseconds.
#[derive(Serialize)]
struct Event {
    ph: &'static str,
    name: String,
    pid: u32,
    tid: u32,
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
        tid: u32,
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
        let process_name = |track: &Track| match row.workers {
            0 => format!("{title} (pid {})", track.pid),
            _ => format!("{title}: worker {} (pid {})", track.process, track.pid),
        };
        let mut process = None;
        for track in &timeline.tracks {
            if process != Some((track.process, track.pid)) {
                process = Some((track.process, track.pid));
                self.process(&process_name(track));
            }
            self.track(track, &timeline.endpoints);
        }
        self.cores(title, row, timeline);
    }

    fn track(&mut self, track: &Track, endpoints: &[String]) {
        let (pid, tid) = self.thread(&track.name());
        for span in &track.spans {
            let event = Event::new("X", name_of(span.phase), pid, tid, Some(span.from));
            let event = event.lasts(span.to - span.from);
            let request = span.request.map(|place| track.requests[place].number);
            self.put(&match request {
                Some(number) => event.tells(json!({ "request": number })),
                None => event,
            });
        }
        for request in &track.requests {
            let name = endpoints.get(request.endpoint).map_or("", String::as_str);
            for (ph, at) in [("b", request.from), ("e", request.to)] {
                let event = Event::new(ph, name, pid, tid, Some(at));
                let id2 = Some(json!({ "local": request.number.to_string() }));
                let event = Event { cat: Some("request"), id2, ..event };
                let args = json!({ "request": request.number, "thread": track.name() });
                self.put(&if ph == "b" { event.tells(args) } else { event });
            }
        }
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
        for (core, mut spans) in cores {
            let (pid, tid) = self.thread(&format!("core {core}"));
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

    /// Begins a process; they are shown in this order.
    fn process(&mut self, name: &str) {
        self.last += 1;
        self.process = self.last;
        self.name("process", self.process, 0, name, self.process);
    }

    /// Begins a thread of the present process; gives the numbers of both.
    fn thread(&mut self, name: &str) -> (u32, u32) {
        self.last += 1;
        self.name("thread", self.process, self.last, name, self.last);
        (self.process, self.last)
    }

    fn name(&mut self, what: &str, pid: u32, tid: u32, name: &str, place: u32) {
        let event = Event::new("M", format!("{what}_name"), pid, tid, None);
        self.put(&event.tells(json!({ "name": name })));
        let event = Event::new("M", format!("{what}_sort_index"), pid, tid, None);
        self.put(&event.tells(json!({ "sort_index": place })));
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
