//! A topology come to life in this process: a pool of threads, or an event loop.

use super::record::{self, Record};
use super::server::{ProcessUse, Watch};
use super::site::{Site, Wanted};
use super::waits;
use crate::clock;
use crate::error::Error;
use crate::executor::{
    EventLoop, Executor, JoinHandle, LoopStats, Rejected, RejectedWhy, TaskOptions,
};
use crate::measure::{GvlUse, Histogram, LoopUse};
use crate::model::{Handlers, Serving, ThreadsLive, Topology};
use crate::workload::Workload;
use parking_lot::Mutex;
use std::sync::Arc;
use std::time::Duration;

/// Serves requests as the topology says.
pub(super) struct Local {
    kind: Kind,
    site: Arc<Site>,
    waits: Arc<Mutex<Histogram>>,
    record: Option<Arc<Record>>,
}

enum Kind {
    Threads(Executor),
    Loop(Arc<EventLoop>, Handlers),
}

impl Local {
    /// Starts the server's threads; with `timeline`, records so many events of what they do.
    pub(super) fn start(
        topology: &Topology,
        workload: &Workload,
        timeline: Option<usize>,
    ) -> Result<Self, Error> {
        let role = match topology.serving {
            Serving::Pool { .. } => record::in_pool,
            Serving::EventLoop { .. } => record::on_loop,
        };
        let record = timeline.map(|max| Record::new(max, role));
        let (hook, waits) = waits::hook(record.clone());
        let gvl = topology.gvl.clone();
        let kind = match topology.serving {
            Serving::Pool { min_threads, max_threads, threads_live } => {
                let executor = Executor::builder()
                    .name(topology.label.as_str())
                    .threads(min_threads, max_threads)
                    .thread_per_task(threads_live == ThreadsLive::OneRequest)
                    .gvl(gvl)
                    .hook(hook)
                    .build()?;
                Kind::Threads(executor)
            }
            Serving::EventLoop { handlers, offload_threads } => {
                let event_loop = EventLoop::builder()
                    .name(topology.label.as_str())
                    .offload_threads(offload_threads)
                    // As asyncio: a long poll delays timers and new tasks by itself alone.
                    .event_interval(1)
                    .gvl(gvl)
                    .hook(hook)
                    .build()?;
                Kind::Loop(Arc::new(event_loop), handlers)
            }
        };
        let site = Arc::new(Site::new(workload, record.clone()));
        Ok(Self { kind, site, waits, record })
    }

    /// Takes a request in; `watch` hears of it. A server that has ended, or that the system gives no
    /// thread, calls `refused` and then drops both.
    pub(super) fn submit(
        &self,
        wanted: Wanted,
        watch: Box<impl Watch>,
        refused: impl FnOnce(RejectedWhy) + Clone + Send + 'static,
    ) {
        let site = Arc::clone(&self.site);
        let name = self.site.endpoints[wanted.endpoint].0.as_str();
        let options = || TaskOptions::new().name(name);
        let refusal = match &self.kind {
            Kind::Threads(executor) => {
                let accepted = executor.spawn_with(options(), move |cx| {
                    watch.started();
                    watch.served(None, site.serve_on_thread(cx, wanted));
                });
                reason(accepted)
            }
            Kind::Loop(event_loop, Handlers::Async) => {
                let accepted = event_loop.spawn_async_with(options(), async move {
                    watch.started();
                    watch.served(None, site.serve_on_loop(wanted).await);
                });
                reason(accepted)
            }
            Kind::Loop(event_loop, Handlers::Blocking) => {
                let accepted = event_loop.spawn_async_with(options(), async move {
                    watch.started();
                    watch.served(None, site.serve_blocking(wanted));
                });
                reason(accepted)
            }
            Kind::Loop(event_loop, Handlers::Offloaded) => {
                let offload = Arc::clone(event_loop);
                let refused_late = refused.clone();
                let accepted = event_loop.spawn_async_with(options(), async move {
                    let mut on_loop = waits::take();
                    let job = offload.offload(move |cx| {
                        watch.started();
                        (site.serve_on_thread(cx, wanted), watch)
                    });
                    match job {
                        // A loop that ends meanwhile drops the request.
                        Ok(handle) => {
                            if let Ok((mut served, watch)) = handle.await {
                                on_loop.add(waits::take());
                                served.waits.add(on_loop);
                                watch.served(None, served);
                            }
                        }
                        Err(rejected) => refused_late(rejected.why),
                    }
                });
                reason(accepted)
            }
        };
        if let Some(why) = refusal {
            refused(why);
        }
    }

    /// What this process used so far.
    pub(super) fn used(&self) -> ProcessUse {
        let (threads, event_loop) = match &self.kind {
            Kind::Threads(executor) => (executor.stats().gvl, None),
            Kind::Loop(event_loop, _) => {
                let stats = event_loop.stats();
                (stats.tasks.gvl.clone(), Some(loop_use(stats)))
            }
        };
        let gvl = GvlUse::of_threads(threads, self.waits.lock().clone());
        let log = self.record.as_ref().map(|record| record.log());
        ProcessUse { worker: None, cpu: clock::process_cpu(), gvl, event_loop, log }
    }

    /// Ends what runs, drops what waits, and waits for the threads.
    pub(super) fn end(&self) {
        self.site.over.end();
        self.site.threads.close();
        match &self.kind {
            Kind::Threads(executor) => drop(executor.shutdown(Duration::ZERO)),
            Kind::Loop(event_loop, _) => drop(event_loop.shutdown(Duration::ZERO)),
        }
    }
}

/// Why a submission was refused, if it was; the handle of one that was not is let go.
fn reason<T, F>(accepted: Result<JoinHandle<T>, Rejected<F>>) -> Option<RejectedWhy> {
    accepted.err().map(|rejected| rejected.why)
}

/// A loop's state as a recording has it.
fn loop_use(stats: LoopStats) -> LoopUse {
    LoopUse {
        lag: Histogram::of_buckets(&stats.lag_ns),
        polls: stats.polls,
        long_polls: stats.long_polls,
        threshold: stats.threshold,
    }
}
