//! A topology come to life in worker processes: the master's side.
//!
//! Each endpoint is a handler of that name (`worker.rs`); a request is the numbers that its
//! chance comes from and when its client leaves, and its answer is what became of it.

use super::server::{Call, ProcessUse, Watch};
use super::worker::{self, Extra, Job};
use crate::cluster::balance::{Balance, Policy};
use crate::cluster::setup::{self, WorkerReport};
use crate::cluster::{CallOptions, Cluster, Dispatch, Reply, Snapshot};
use crate::error::Error;
use crate::executor::{RejectedWhy, TaskError};
use crate::gvl::ThreadUsage;
use crate::measure::{GvlUse, Served};
use crate::model::{self, Serving, ThreadsLive, Topology};
use crate::workload::Workload;
use std::collections::HashMap;
use std::time::Duration;

pub(super) struct Workers {
    cluster: Cluster,
    endpoints: Vec<String>,
    seed: u64,
    /// A user's requests go over one connection.
    kept: bool,
    /// The CPU time of each process before the run.
    cpu_before: HashMap<u32, Duration>,
}

/// How long workers may take to report: one that is stopped never does.
const REPORT_MAX: Duration = Duration::from_secs(5);

impl Workers {
    pub(super) fn start(
        topology: &Topology,
        workload: &Workload,
        kept: bool,
        seed: u64,
        timeline: Option<usize>,
    ) -> Result<Self, Error> {
        let each = |max: usize| worker::events_max(max / topology.processes.max(1) as usize);
        let job = Job::new(workload, topology.serving, timeline.map(each));
        let cluster = Cluster::builder()
            .name(topology.label.as_str())
            .workers(topology.workers.max(1))
            .serving(serving(topology))
            .gvl(topology.gvl.clone())
            .dispatch(match topology.dispatch {
                model::Dispatch::Accept(accept) => Dispatch::KernelAccept(accept),
                // What else a record says is refused (`refused`).
                model::Dispatch::Balanced(Balance { policy: Policy::RoundRobin, .. }) => {
                    Dispatch::RoundRobin
                }
                model::Dispatch::Balanced(Balance { policy: Policy::LeastConn, .. }) => {
                    Dispatch::LeastBusy
                }
                model::Dispatch::SharedQueue
                | model::Dispatch::InProcess
                | model::Dispatch::Alone(_) => Dispatch::SharedQueue,
            })
            .app(job.to_text())
            .bytes_max(usize::MAX)
            .build()?;
        let endpoints = workload.endpoints.iter().map(|endpoint| endpoint.name.clone()).collect();
        let mut workers = Self { cluster, endpoints, seed, kept, cpu_before: HashMap::new() };
        let before = workers.used();
        workers.cpu_before = before.iter().filter_map(|u| Some((u.worker?.1, u.cpu))).collect();
        Ok(workers)
    }

    pub(super) fn submit(
        &self,
        call: &Call,
        watch: Box<impl Watch>,
        refused: impl FnOnce(RejectedWhy) + Clone + Send + 'static,
    ) {
        let options = match call.connection.filter(|_| self.kept) {
            Some(connection) => CallOptions::new().connection(connection),
            None => CallOptions::new(),
        };
        let then = move |outcome: Result<Reply, TaskError>| match outcome {
            Ok(reply) => {
                watch.started_at(reply.timings.started);
                let served = worker::answer(&reply.bytes);
                watch.served(
                    Some(reply.pid),
                    served.unwrap_or_else(|| Served::without_an_end("garbled")),
                );
            }
            Err(error) => {
                let pid = match error {
                    TaskError::WorkerLost { pid, .. } => Some(pid),
                    _ => None,
                };
                watch.served(pid, Served::without_an_end(error.kind()));
            }
        };
        let question = worker::question(self.seed, call);
        let handler = self.endpoints[call.endpoint].as_str();
        if let Err(rejected) = self.cluster.submit_then(options, handler, question, then) {
            refused(rejected.why);
        }
    }

    /// Closes a connection once its present request is answered.
    pub(super) fn part(&self, connection: u64) {
        if self.kept {
            self.cluster.part(connection);
        }
    }

    /// What the workers used since the start; those that do not answer are left out.
    pub(super) fn used(&self) -> Vec<ProcessUse> {
        let reports = self.cluster.reports(REPORT_MAX);
        reports.into_iter().map(|(number, pid, report)| self.used_by(number, pid, report)).collect()
    }

    fn used_by(&self, number: u32, pid: u32, report: WorkerReport) -> ProcessUse {
        let cpu = Duration::from_nanos(report.cpu_ns);
        let before = self.cpu_before.get(&pid).copied().unwrap_or_default();
        let Extra { waits, log } = Extra::read(report.app);
        let threads = report.gvl.into_iter().map(ThreadUsage::from).collect();
        ProcessUse {
            worker: Some((number, pid)),
            cpu: cpu.saturating_sub(before),
            gvl: GvlUse::of_threads(threads, waits),
            event_loop: report.event_loop.map(worker::loop_use),
            log,
        }
    }

    pub(super) fn end(&self) {
        self.cluster.shutdown(Duration::ZERO);
    }

    pub(super) fn snapshot(&self) -> Snapshot {
        self.cluster.snapshot()
    }

    pub(super) fn lost(&self) -> Vec<(u32, u32)> {
        self.cluster.stats().lost
    }
}

fn serving(topology: &Topology) -> setup::Serving {
    match topology.serving {
        Serving::Pool { min_threads, max_threads, threads_live } => setup::Serving::Threads {
            min: min_threads,
            max: max_threads,
            one_task: threads_live == ThreadsLive::OneRequest,
        },
        Serving::EventLoop { offload_threads, .. } => {
            setup::Serving::EventLoop { offload: offload_threads }
        }
    }
}
