//! What a worker's handlers run on: a pool of threads, or an event loop with threads beside it.

use super::job::{Job, Jobs, Out};
use crate::clock;
use crate::cluster::app::{App, Handler};
use crate::cluster::setup::{
    LongPollReport, LoopReport, Serving, Setup, ThreadReport, WorkerReport,
};
use crate::cluster::wire::{Ended, OVERHEAD_MAX, Task};
use crate::error::Error;
use crate::executor::{EventLoop, Executor, JoinHandle, LoopStats, Rejected, TaskOptions};
use crate::gvl::lock::Lock;
use crate::gvl::{Gvl, ThreadUsage};
use crate::value::{Node, Value};
use bytes::Bytes;
use std::sync::Arc;
use std::time::Duration;

/// Runs the tasks of a worker.
pub(super) struct Crew {
    pub(super) jobs: Arc<Jobs>,
    app: App,
    kind: Kind,
    pub(super) frame_max: u32,
    pub(super) lock: Arc<Lock>,
}

enum Kind {
    Threads { pool: Executor, max: u32 },
    Loop(Arc<EventLoop>),
}

impl Crew {
    /// Starts the threads.
    ///
    /// # Errors
    /// A lock that there is not, handlers that need an event loop where there is none, a system that
    /// gives no threads.
    pub(super) fn start(setup: &Setup, mut app: App) -> Result<Self, Error> {
        let gvl = Value::from_json(&setup.gvl.to_string())?;
        let gvl = Node::read_all(&gvl, "gvl", Gvl::read)?;
        let builder = Lock::builder(gvl);
        let builder = match app.hook.take() {
            Some(hook) => builder.hook(hook),
            None => builder,
        };
        let lock = Arc::new(builder.build());
        let number = setup.number;
        let kind = match setup.serving {
            Serving::Threads { min, max, one_task } => {
                let on_loop = app.handlers.iter().find(|(_, h)| matches!(h, Handler::OnLoop(_)));
                if let Some((name, _)) = on_loop {
                    let expected = "a worker with an event loop for an asynchronous handler";
                    return Err(Error::invalid("handler", format!("{name:?}"), expected));
                }
                let pool = Executor::builder()
                    // Its threads are called `w3 t0` and so on: a thread's name has 15 bytes.
                    .name(format!("w{number}"))
                    .before_number(" t")
                    .threads(min, max)
                    .thread_per_task(one_task)
                    .lock(Arc::clone(&lock))
                    .build()?;
                Kind::Threads { pool, max }
            }
            Serving::EventLoop { offload } => Kind::Loop(Arc::new(
                EventLoop::builder()
                    .name(format!("w{number} loop"))
                    .offload_threads(offload)
                    // As asyncio: a long poll delays timers and new tasks by itself alone.
                    .event_interval(1)
                    .lock(Arc::clone(&lock))
                    .build()?,
            )),
        };
        Ok(Self { jobs: Arc::default(), app, kind, frame_max: setup.frame_max, lock })
    }

    /// The handlers' names.
    pub(super) fn handlers(&self) -> Vec<String> {
        self.app.handlers.keys().cloned().collect()
    }

    /// The most tasks that run at once; nothing bounds those of an event loop.
    pub(super) fn threads(&self) -> Option<u32> {
        match &self.kind {
            Kind::Threads { max, .. } => Some(*max),
            Kind::Loop(_) => None,
        }
    }

    /// The event loop, where there is one.
    pub(super) fn event_loop(&self) -> Option<&Arc<EventLoop>> {
        match &self.kind {
            Kind::Threads { .. } => None,
            Kind::Loop(event_loop) => Some(event_loop),
        }
    }

    /// A task that was just read, whose answer goes to `out`: it can be cancelled from here on.
    pub(super) fn begin(&self, task: &Task, out: &Arc<Out>) -> Job {
        self.jobs.begin(task.task, task.deadline, out, self.frame_max)
    }

    /// Runs a task; `answered` is dropped after its answer.
    pub(super) fn run(&self, task: Task, job: Job, answered: impl Send + 'static) {
        let Task { task, deadline, handler, payload } = task;
        let now = clock::now();
        if deadline > 0 && deadline <= now {
            job.end(Ended::TimedOut);
            return;
        }
        let Some(found) = self.app.handlers.get(&handler) else {
            job.end(Ended::NoHandler);
            return;
        };
        let options = TaskOptions::new().name(handler);
        let options = match deadline {
            0 => options,
            at => options.deadline(Duration::from_nanos(at - now)),
        };
        let handle = match (found.clone(), &self.kind) {
            (Handler::OnThread(handler), Kind::Threads { pool, .. }) => {
                accepted(pool.spawn_with(options, move |cx| {
                    job.run(cx, |cx| handler(cx, payload));
                    drop(answered);
                }))
            }
            (Handler::OnThread(handler), Kind::Loop(event_loop)) => {
                let offload = Arc::clone(event_loop);
                accepted(event_loop.spawn_async_with(options, async move {
                    let call = offload.offload(move |cx| job.run(cx, |cx| handler(cx, payload)));
                    if let Ok(handle) = call {
                        let handle = Cancelled(handle);
                        handle.await;
                    }
                    drop(answered);
                }))
            }
            (Handler::OnLoop(handler), Kind::Loop(event_loop)) => {
                accepted(event_loop.spawn_async_with(options, async move {
                    job.run_on_loop(handler(payload)).await;
                    drop(answered);
                }))
            }
            (Handler::OnLoop(_), Kind::Threads { .. }) => {
                unreachable!("a worker of threads does not serve with such a handler")
            }
        };
        if let Some(handle) = handle {
            self.jobs.keep(task, handle);
        }
    }

    /// What the worker tells about itself, as JSON. What the application adds is left out where it
    /// panics or is too long.
    pub(super) fn report(&self) -> Bytes {
        let mut app = serde_json::Value::Null;
        if let Some(report) = &self.app.report {
            crate::contain::contain(|| app = report());
        }
        let json = |report: &WorkerReport| serde_json::to_vec(report).expect("it is plain data");
        let mut report = WorkerReport { app, ..self.own_report() };
        let mut bytes = json(&report);
        if bytes.len() > (self.frame_max - OVERHEAD_MAX) as usize {
            report.app.take();
            bytes = json(&report);
        }
        bytes.into()
    }

    fn own_report(&self) -> WorkerReport {
        let (queued, running) = self.jobs.count();
        let event_loop = match &self.kind {
            Kind::Threads { .. } => None,
            Kind::Loop(event_loop) => Some(loop_report(event_loop.stats())),
        };
        WorkerReport {
            queued,
            running,
            ended: self.jobs.ended(),
            cpu_ns: clock::nanos(clock::process_cpu()),
            gvl: self.lock.usage().into_iter().map(ThreadReport::from).collect(),
            event_loop,
            app: serde_json::Value::Null,
        }
    }
}

/// The handle of what was accepted. What was not is dropped, which answers its task.
fn accepted<T, F>(spawned: Result<JoinHandle<T>, Rejected<F>>) -> Option<JoinHandle<T>> {
    spawned.ok()
}

/// An offloaded call that is cancelled with the future that awaits it.
struct Cancelled(JoinHandle<()>);

impl Future for Cancelled {
    type Output = ();

    fn poll(
        mut self: std::pin::Pin<&mut Self>,
        poller: &mut std::task::Context<'_>,
    ) -> std::task::Poll<()> {
        std::pin::Pin::new(&mut self.0).poll(poller).map(drop)
    }
}

impl Drop for Cancelled {
    fn drop(&mut self) {
        // Where it has ended this does nothing.
        self.0.cancel();
    }
}

fn loop_report(stats: LoopStats) -> LoopReport {
    let long_polls = stats.long_polls.into_iter().map(|poll| LongPollReport {
        task: poll.task,
        count: poll.count,
        total_ns: clock::nanos(poll.total),
        max_ns: clock::nanos(poll.max),
    });
    let lag = stats.lag_ns.iter_recorded();
    LoopReport {
        lag_ns: lag.map(|lag| (lag.value_iterated_to(), lag.count_at_value())).collect(),
        polls: stats.polls,
        long_polls: long_polls.collect(),
        threshold_ns: clock::nanos(stats.threshold),
    }
}

impl From<ThreadUsage> for ThreadReport {
    fn from(thread: ThreadUsage) -> Self {
        let ThreadUsage { name, usage } = thread;
        Self {
            name,
            hold_ns: clock::nanos(usage.hold),
            wait_ns: clock::nanos(usage.wait),
            blocked_ns: clock::nanos(usage.blocked),
            acquisitions: usage.acquisitions,
            handoffs: usage.handoffs,
            forced_yields: usage.forced_yields,
        }
    }
}
