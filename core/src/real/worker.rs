//! The real engine inside a worker process: its endpoints as handlers.
//!
//! What the worker serves comes as text with its setup ([`Job`]); what it measured beside the
//! requests goes back with its report ([`Extra`]).

use super::record::{self, Record};
use super::server::Call;
use super::site::{Site, Wanted};
use super::waits;
use crate::clock::Nanos;
use crate::cluster::App;
use crate::cluster::setup::LoopReport;
use crate::executor::LongPoll;
use crate::load::stream_of;
use crate::measure::Served;
use crate::measure::{Histogram, LoopUse};
use crate::model::{Handlers, Serving};
use crate::timeline::Log;
use crate::value::{Node, Value};
use crate::workload::{Cursor, Workload};
use serde::{Deserialize, Serialize};
use std::sync::Arc;
use std::time::Duration;

/// What a worker of the engine serves.
#[derive(Serialize, Deserialize)]
pub(super) struct Job {
    /// Tells this text from an embedder's.
    gvl_lab_real: u32,
    /// The workload, as an experiment has it, in JSON.
    workload: String,
    on: On,
    /// How many events of its timeline the worker records, if any.
    timeline: Option<usize>,
}

/// Where the steps of a request run.
#[derive(Clone, Copy, Serialize, Deserialize)]
enum On {
    Threads,
    Loop,
    /// On the loop, waits included.
    LoopBlocking,
}

/// The version of [`Job`].
const VERSION: u32 = 3;

impl Job {
    pub(super) fn new(workload: &Workload, serving: Serving, timeline: Option<usize>) -> Self {
        let on = match serving {
            Serving::EventLoop { handlers: Handlers::Async, .. } => On::Loop,
            Serving::EventLoop { handlers: Handlers::Blocking, .. } => On::LoopBlocking,
            Serving::Pool { .. } | Serving::EventLoop { handlers: Handlers::Offloaded, .. } => {
                On::Threads
            }
        };
        let workload = workload.to_value().to_json();
        Self { gvl_lab_real: VERSION, workload, on, timeline }
    }

    pub(super) fn to_text(&self) -> String {
        serde_json::to_string(self).expect("a job is plain data")
    }
}

/// Makes the application the engine's, where its setup is a job of the engine; whether it is.
///
/// # Errors
/// A job of another version, or a workload that is none: the master is another program.
pub fn register(app: &mut App) -> Result<bool, Box<dyn std::error::Error>> {
    let Ok(job) = serde_json::from_str::<Job>(app.setup()) else { return Ok(false) };
    if job.gvl_lab_real != VERSION {
        return Err(format!("a job of version {}, expected {VERSION}", job.gvl_lab_real).into());
    }
    let workload = Value::from_json(&job.workload)?;
    let workload = Node::read_all(&workload, "workload", Workload::read)?;
    let record = job.timeline.map(|max| Record::new(max, record::in_worker));
    let site = Arc::new(Site::new(&workload, record.clone()));
    for (n, (name, _)) in site.endpoints.iter().enumerate() {
        let site = Arc::clone(&site);
        match job.on {
            On::Threads => app.handler(name, move |cx, question| {
                let served = site.serve_on_thread(cx, wanted(n, &question)?);
                Ok(tell(&served))
            }),
            On::Loop => app.async_handler(name, move |question| {
                let site = Arc::clone(&site);
                async move { Ok(tell(&site.serve_on_loop(wanted(n, &question)?).await)) }
            }),
            On::LoopBlocking => app.async_handler(name, move |question| {
                let site = Arc::clone(&site);
                async move { Ok(tell(&site.serve_blocking(wanted(n, &question)?))) }
            }),
        }
    }
    let (hook, all) = waits::hook(record.clone());
    app.hook(hook);
    app.report(move || {
        let waits = all.lock().clone();
        Extra { waits, log: record.as_ref().map(|record| record.log()) }.to_json()
    });
    Ok(true)
}

/// A request for a worker: what its chance comes from, and when its client leaves, in nanoseconds of the
/// system's clock.
pub(super) fn question(seed: u64, call: &Call) -> Vec<u8> {
    let leaves = call.leaves.unwrap_or(Nanos::MAX);
    let numbers = [seed, call.number, call.attempt.into(), leaves];
    numbers.map(u64::to_le_bytes).concat()
}

fn wanted(endpoint: usize, question: &[u8]) -> Result<Wanted, String> {
    let numbers: Vec<_> = question
        .chunks_exact(8)
        .map(|part| u64::from_le_bytes(part.try_into().expect("a chunk of eight has eight bytes")))
        .collect();
    match (numbers.as_slice(), question.len()) {
        (&[seed, number, attempt, leaves], 32) => {
            let cursor = Cursor::new(stream_of(seed, number, attempt as u32));
            let leaves = Some(leaves).filter(|leaves| *leaves != Nanos::MAX);
            Ok(Wanted { number, endpoint, cursor, leaves })
        }
        _ => Err(format!("a request of {} bytes, expected 32", question.len())),
    }
}

fn tell(served: &Served) -> Vec<u8> {
    serde_json::to_vec(served).expect("what became of a request is plain data")
}

/// What became of a request, from a worker's answer.
pub(super) fn answer(bytes: &[u8]) -> Option<Served> {
    serde_json::from_slice(bytes).ok()
}

/// What a worker's report has beside the usual.
#[derive(Default)]
pub(super) struct Extra {
    /// The waits for the lock, one by one.
    pub(super) waits: Histogram,
    /// What its threads did, where it was recorded.
    pub(super) log: Option<Log>,
}

/// The most events that fit into a worker's report, at 36 bytes each or less but for the oddest.
const EVENTS_MAX: usize = 300_000;

/// How many events a worker records that may have `max`.
pub(super) fn events_max(max: usize) -> usize {
    max.min(EVENTS_MAX)
}

impl Extra {
    fn to_json(&self) -> serde_json::Value {
        let waits: Vec<(u64, u64)> = self
            .waits
            .buckets()
            .map(|(middle, count)| (crate::clock::nanos(middle), count))
            .collect();
        serde_json::json!({ "waits_ns": waits, "timeline": self.log.as_ref().map(Log::to_text) })
    }

    pub(super) fn read(json: serde_json::Value) -> Self {
        #[derive(Deserialize)]
        struct Told {
            waits_ns: Vec<(u64, u64)>,
            timeline: Option<String>,
        }
        let Ok(told) = serde_json::from_value::<Told>(json) else { return Self::default() };
        let log = told.timeline.and_then(|text| Log::from_text(&text));
        Self { waits: histogram(&told.waits_ns), log }
    }
}

/// A loop's report as a recording has it.
pub(super) fn loop_use(report: LoopReport) -> LoopUse {
    let long_poll = |poll: crate::cluster::setup::LongPollReport| LongPoll {
        task: poll.task,
        count: poll.count,
        total: Duration::from_nanos(poll.total_ns),
        max: Duration::from_nanos(poll.max_ns),
    };
    LoopUse {
        lag: histogram(&report.lag_ns),
        polls: report.polls,
        long_polls: report.long_polls.into_iter().map(long_poll).collect(),
        threshold: Duration::from_nanos(report.threshold_ns),
    }
}

fn histogram(buckets: &[(u64, u64)]) -> Histogram {
    let mut histogram = Histogram::new();
    buckets.iter().for_each(|(ns, count)| histogram.record_n(Duration::from_nanos(*ns), *count));
    histogram
}
