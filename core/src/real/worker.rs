//! The real engine inside a worker process: its endpoints as handlers.
//!
//! What the worker serves comes as text with its setup ([`Job`]); what it measured beside the
//! requests goes back with its report ([`Extra`]).

use super::site::Site;
use super::waits;
use crate::cluster::App;
use crate::cluster::setup::LoopReport;
use crate::executor::LongPoll;
use crate::measure::Served;
use crate::measure::{Histogram, LoopUse};
use crate::model::{Handlers, Serving};
use crate::random::Stream;
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
const VERSION: u32 = 1;

impl Job {
    pub(super) fn new(workload: &Workload, serving: Serving) -> Self {
        let on = match serving {
            Serving::EventLoop { handlers: Handlers::Async, .. } => On::Loop,
            Serving::EventLoop { handlers: Handlers::Blocking, .. } => On::LoopBlocking,
            Serving::Pool { .. } | Serving::EventLoop { handlers: Handlers::Offloaded, .. } => {
                On::Threads
            }
        };
        Self { gvl_lab_real: VERSION, workload: workload.to_value().to_json(), on }
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
    let site = Arc::new(Site::new(&workload));
    for (n, (name, _)) in site.endpoints.iter().enumerate() {
        let site = Arc::clone(&site);
        match job.on {
            On::Threads => app.handler(name, move |cx, question| {
                let served = site.serve_on_thread(cx, n, cursor(&question)?);
                Ok(tell(&served))
            }),
            On::Loop => app.async_handler(name, move |question| {
                let site = Arc::clone(&site);
                async move { Ok(tell(&site.serve_on_loop(n, cursor(&question)?).await)) }
            }),
            On::LoopBlocking => app.async_handler(name, move |question| {
                let site = Arc::clone(&site);
                async move { Ok(tell(&site.serve_blocking(n, cursor(&question)?))) }
            }),
        }
    }
    let (hook, all) = waits::hook();
    app.hook(hook);
    app.report(move || Extra { waits: all.lock().clone() }.to_json());
    Ok(true)
}

/// A request for a worker: the seed and the number that its chance comes from.
pub(super) fn question(seed: u64, number: u64) -> Vec<u8> {
    [seed.to_le_bytes(), number.to_le_bytes()].concat()
}

fn cursor(question: &[u8]) -> Result<Cursor, String> {
    let mut halves = question
        .chunks_exact(8)
        .map(|half| u64::from_le_bytes(half.try_into().expect("a chunk of eight has eight bytes")));
    match (halves.next(), halves.next(), question.len()) {
        (Some(seed), Some(number), 16) => Ok(Cursor::new(Stream::new(seed, "request", number))),
        _ => Err(format!("a request of {} bytes, expected 16", question.len())),
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
}

impl Extra {
    fn to_json(&self) -> serde_json::Value {
        let waits: Vec<(u64, u64)> = self
            .waits
            .buckets()
            .map(|(middle, count)| (crate::clock::nanos(middle), count))
            .collect();
        serde_json::json!({ "waits_ns": waits })
    }

    pub(super) fn read(json: serde_json::Value) -> Self {
        #[derive(Deserialize)]
        struct Told {
            waits_ns: Vec<(u64, u64)>,
        }
        let told: Result<Told, _> = serde_json::from_value(json);
        Self { waits: told.map_or_else(|_| Histogram::new(), |told| histogram(&told.waits_ns)) }
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
