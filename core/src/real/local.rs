//! A topology come to life in this process: a pool of threads, or an event loop.

use super::server::{ProcessUse, Watch};
use super::site::Site;
use super::waits;
use crate::clock;
use crate::error::Error;
use crate::executor::{
    EventLoop, Executor, JoinHandle, LoopStats, Rejected, RejectedWhy, TaskOptions,
};
use crate::measure::{GvlUse, Histogram, LoopUse};
use crate::model::{Handlers, Serving, ThreadsLive, Topology};
use crate::workload::{Cursor, Workload};
use parking_lot::Mutex;
use std::sync::Arc;
use std::time::Duration;

/// Serves requests as the topology says.
pub(super) struct Local {
    kind: Kind,
    site: Arc<Site>,
    waits: Arc<Mutex<Histogram>>,
}

enum Kind {
    Threads(Executor),
    Loop(Arc<EventLoop>, Handlers),
}

impl Local {
    /// Starts the server's threads.
    pub(super) fn start(topology: &Topology, workload: &Workload) -> Result<Self, Error> {
        let (hook, waits) = waits::hook();
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
        Ok(Self { kind, site: Arc::new(Site::new(workload)), waits })
    }

    /// Takes a request in; `watch` hears of it. A server that has ended, or that the system gives no
    /// thread, calls `refused` and then drops both.
    pub(super) fn submit(
        &self,
        endpoint: usize,
        cursor: Cursor,
        watch: Box<impl Watch>,
        refused: impl FnOnce(RejectedWhy) + Clone + Send + 'static,
    ) {
        let site = Arc::clone(&self.site);
        let options = || TaskOptions::new().name(self.site.endpoints[endpoint].0.as_str());
        let refusal = match &self.kind {
            Kind::Threads(executor) => {
                let accepted = executor.spawn_with(options(), move |cx| {
                    watch.started();
                    watch.served(None, site.serve_on_thread(cx, endpoint, cursor));
                });
                reason(accepted)
            }
            Kind::Loop(event_loop, Handlers::Async) => {
                let accepted = event_loop.spawn_async_with(options(), async move {
                    watch.started();
                    watch.served(None, site.serve_on_loop(endpoint, cursor).await);
                });
                reason(accepted)
            }
            Kind::Loop(event_loop, Handlers::Blocking) => {
                let accepted = event_loop.spawn_async_with(options(), async move {
                    watch.started();
                    watch.served(None, site.serve_blocking(endpoint, cursor));
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
                        (site.serve_on_thread(cx, endpoint, cursor), watch)
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
        ProcessUse { worker: None, cpu: clock::process_cpu(), gvl, event_loop }
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
