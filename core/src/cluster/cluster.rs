//! A pool of worker processes, as an embedder sees it.

use super::builder::ClusterBuilder;
use super::desk::{Order, Phase};
use super::keeper::Command;
use super::options::CallOptions;
use super::setup::WorkerReport;
use super::shared::Shared;
use super::slot::{Reply, Then};
use super::snapshot::{Role, Snapshot};
use super::stats::{ClusterStats, WorkerStats};
use super::wire::NAME_MAX;
use crate::clock;
use crate::error::Error;
use crate::executor::{JoinHandle, Rejected, RejectedWhy, TaskError, released};
use bytes::Bytes;
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::fmt;
use std::marker::PhantomData;
use std::sync::Arc;
use std::sync::mpsc::{Sender, channel};
use std::time::{Duration, Instant};
use tokio::sync::mpsc;

/// Runs tasks in worker processes: each has a handler's name and bytes.
///
/// ```no_run
/// use gvl_lab::cluster::{Cluster, Launcher};
///
/// // The first line: in a worker it loads the application, serves, and never returns.
/// gvl_lab::init(|app| {
///     app.typed("add", |_, (a, b): (i64, i64)| Ok(a + b));
///     Ok(())
/// });
/// let cluster = Cluster::builder().workers(2).threads(1, 3).launcher(Launcher::fork()).build()?;
/// let sum: i64 = cluster.call("add", &(40, 2))?.wait()?;
/// assert_eq!(sum, 42);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Cluster {
    shared: Arc<Shared>,
    commands: mpsc::UnboundedSender<Command>,
    deadline: Option<Duration>,
    grace: Duration,
}

/// How a shutdown went.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shutdown {
    /// Whether everything accepted was run to its end within the grace.
    pub drained: bool,
    /// Tasks that were cancelled for it.
    pub cancelled: u64,
}

impl Cluster {
    /// A cluster to set up: 2 workers of 5 threads, CRuby's lock, this program again, an endless
    /// queue.
    pub fn builder() -> ClusterBuilder {
        ClusterBuilder::new()
    }

    pub(super) fn new(
        shared: Arc<Shared>,
        commands: mpsc::UnboundedSender<Command>,
        deadline: Option<Duration>,
        grace: Duration,
    ) -> Self {
        Self { shared, commands, deadline, grace }
    }

    /// Submits bytes for the handler of that name.
    ///
    /// # Errors
    /// The bytes come back when the queue is full and the cluster rejects, when it was shut down or
    /// has no workers, when they are longer than the limit, or no worker has such a handler.
    pub fn submit(
        &self,
        handler: &str,
        payload: impl Into<Bytes>,
    ) -> Result<JoinHandle<Reply>, Rejected<Bytes>> {
        self.submit_with(CallOptions::default(), handler, payload)
    }

    /// Submits with a deadline, reruns or a connection.
    ///
    /// # Errors
    /// As [`Cluster::submit`].
    pub fn submit_with(
        &self,
        options: CallOptions,
        handler: &str,
        payload: impl Into<Bytes>,
    ) -> Result<JoinHandle<Reply>, Rejected<Bytes>> {
        self.hand_in(options, handler, payload.into(), None)
    }

    /// Submits, and calls `then` with the outcome as soon as it stands: on the cluster's thread as
    /// a rule, which serves all tasks, so that `then` should be short and never wait.
    ///
    /// # Errors
    /// As [`Cluster::submit`]; `then` is dropped.
    pub fn submit_then(
        &self,
        options: CallOptions,
        handler: &str,
        payload: impl Into<Bytes>,
        then: impl FnOnce(Result<Reply, TaskError>) + Send + 'static,
    ) -> Result<(), Rejected<Bytes>> {
        self.hand_in(options, handler, payload.into(), Some(Box::new(then))).map(drop)
    }

    /// Closes the connection `key`, over which a task is under way, once that is answered: nothing goes
    /// over it any more.
    pub(crate) fn part(&self, key: u64) {
        self.shared.part(key);
    }

    fn hand_in(
        &self,
        options: CallOptions,
        handler: &str,
        payload: Bytes,
        then: Option<Then>,
    ) -> Result<JoinHandle<Reply>, Rejected<Bytes>> {
        if handler.len() > NAME_MAX {
            return Err(Rejected { why: RejectedWhy::NoHandler, task: payload });
        }
        let deadline = options.deadline.or(self.deadline);
        let order = Order {
            handler: handler.to_owned(),
            payload,
            deadline: deadline.map(|after| clock::now().saturating_add(clock::nanos(after))),
            idempotent: options.reruns.is_some(),
            reruns: options.reruns.unwrap_or(0),
            connection: options.connection,
        };
        let submitted = self.shared.submit(order, then);
        submitted.map_err(|(why, order)| Rejected { why, task: order.payload })
    }

    /// Submits a value for a [typed](super::App::typed) handler.
    ///
    /// # Errors
    /// As [`Cluster::submit`], and where the value has no JSON.
    pub fn call<I: Serialize, O: DeserializeOwned>(
        &self,
        handler: &str,
        input: &I,
    ) -> Result<CallHandle<O>, Error> {
        self.call_with(CallOptions::default(), handler, input)
    }

    /// Submits a value with a deadline, reruns or a connection.
    ///
    /// # Errors
    /// As [`Cluster::call`].
    pub fn call_with<I: Serialize, O: DeserializeOwned>(
        &self,
        options: CallOptions,
        handler: &str,
        input: &I,
    ) -> Result<CallHandle<O>, Error> {
        let payload = serde_json::to_vec(input)
            .map_err(|error| Error::invalid("input", error, "a value that JSON can tell"))?;
        let submitted = self.submit_with(options, handler, payload);
        let handle = submitted.map_err(|rejected| {
            Error::failed("cluster", rejected.why, "a cluster that accepts the task")
        })?;
        Ok(CallHandle { handle, output: PhantomData })
    }

    /// Counts tasks and workers.
    pub fn stats(&self) -> ClusterStats {
        self.shared.look(|desk| {
            let mut workers: Vec<_> = desk.stations.values().map(WorkerStats::from).collect();
            workers.sort_by_key(|worker| (worker.number, worker.pid));
            ClusterStats {
                queued: desk.queued as u64,
                running: workers.iter().map(|worker| worker.running).sum(),
                bytes: desk.bytes as u64,
                counts: desk.counts.clone(),
                workers,
                lost: desk.lost.iter().copied().collect(),
            }
        })
    }

    /// Asks each worker for its report, and waits for the answers at most for `longest`; those of
    /// workers that do not answer are left out. By number and process. None on the cluster's own
    /// thread, which hears them.
    pub fn reports(&self, longest: Duration) -> Vec<(u32, u32, WorkerReport)> {
        self.shared.change(|desk, acts| desk.ask(acts));
        let until = Instant::now().checked_add(longest);
        let all = |desk: &mut super::desk::Desk| {
            desk.stations.values().all(|station| station.report.is_some()).then_some(())
        };
        if !self.shared.is_own_thread() {
            self.shared.wait(until, all);
        }
        self.shared.look(|desk| {
            let mut reports: Vec<_> = desk
                .stations
                .values_mut()
                .filter_map(|station| Some((station.number, station.pid, station.report.take()?)))
                .collect();
            reports.sort_by_key(|(number, pid, _)| (*number, *pid));
            reports
        })
    }

    /// What the system knows of the master's process, the template's and the workers'.
    pub fn snapshot(&self) -> Snapshot {
        let mut processes = vec![(std::process::id(), Role::Master)];
        self.shared.look(|desk| {
            processes.extend(desk.template.map(|pid| (pid, Role::Template)));
            let mut workers: Vec<_> = desk.stations.values().map(|s| (s.number, s.pid)).collect();
            workers.sort_unstable();
            processes.extend(workers.into_iter().map(|(n, pid)| (pid, Role::Worker(n))));
        });
        Snapshot::of(&processes)
    }

    /// Replaces each worker by a new process, one after the other: the new one serves before the old
    /// one is told to finish. No task is lost. The application is loaded anew, also by a template.
    ///
    /// # Errors
    /// A new process does not serve, and those that are left go on as they are; or the cluster stops.
    pub fn restart(&self) -> Result<(), Error> {
        self.command("restart", Command::Restart)
    }

    /// Starts workers, or lets those with the highest numbers finish, until there are so many,
    /// 1 to 1024; and waits for that. No task is lost.
    ///
    /// # Errors
    /// A number out of range; a new worker does not serve, and is tried again; or the cluster stops.
    pub fn set_workers(&self, workers: u32) -> Result<(), Error> {
        super::builder::check_workers(workers)?;
        self.command("set_workers", |reply| Command::Scale(workers, reply))
    }

    fn command(
        &self,
        what: &str,
        command: impl FnOnce(Sender<Result<(), String>>) -> Command,
    ) -> Result<(), Error> {
        if self.shared.is_own_thread() {
            let expected = "a call from another thread than the cluster's, which has to do it";
            return Err(Error::failed(what, "called from a task's `then`", expected));
        }
        let (reply, done) = channel();
        // Where nobody hears it the reply's sender is dropped.
        let _ = self.commands.send(command(reply));
        let stops = || Err("the cluster stops".to_owned());
        let result = released(|| done.recv()).unwrap_or_else(|_| stops());
        result.map_err(|why| Error::failed(what, why, "workers that serve"))
    }

    /// Accepts nothing more, runs what was accepted, at most for `grace`, cancels what is left, and
    /// ends the workers: when it returns no process is left. Of several at once the shortest grace
    /// holds. On the cluster's own thread, which is
    /// where a task's `then` is called, it waits for nothing.
    pub fn shutdown(&self, grace: Duration) -> Shutdown {
        tracing::debug!(target: "gvl_lab::cluster", ?grace, "shutting down");
        self.shared.stop();
        let (reply, ended) = channel();
        let _ = self.commands.send(Command::Stop(Instant::now().checked_add(grace), reply));
        if self.shared.is_own_thread() {
            return Shutdown { drained: false, cancelled: 0 };
        }
        let ended = released(|| ended.recv());
        self.join();
        match ended {
            Ok(ended) => Shutdown { drained: ended.drained, cancelled: ended.cancelled },
            // It had ended before.
            Err(_) => Shutdown { drained: true, cancelled: 0 },
        }
    }

    /// Waits until the cluster has ended: by [`Cluster::shutdown`], or by a signal that it was built
    /// to [listen to](ClusterBuilder::drain_on_signals). On the cluster's own thread it waits for
    /// nothing.
    pub fn join(&self) {
        if self.shared.is_own_thread() {
            return;
        }
        self.shared.wait(None, |desk| (desk.phase == Phase::Ended).then_some(()));
    }
}

impl Drop for Cluster {
    /// Shuts down with the builder's grace.
    fn drop(&mut self) {
        self.shutdown(self.grace);
    }
}

impl Shutdown {
    /// Tells the end of the cluster's thread however it comes.
    pub(super) fn on_end(shared: &Arc<Shared>) -> impl Drop + Send + 'static {
        struct Told(Arc<Shared>);
        impl Drop for Told {
            fn drop(&mut self) {
                self.0.change(|desk, acts| {
                    desk.phase = Phase::Ended;
                    desk.end_all(&TaskError::Cancelled, acts);
                });
                self.0.tell();
            }
        }
        Told(Arc::clone(shared))
    }
}

/// Gives the value of a [call](Cluster::call): `await` it, or wait for it.
#[must_use = "the outcome is in the handle; drop it on purpose if it does not matter"]
pub struct CallHandle<O> {
    handle: JoinHandle<Reply>,
    output: PhantomData<fn() -> O>,
}

impl<O: DeserializeOwned> CallHandle<O> {
    /// Waits for the value.
    ///
    /// # Errors
    /// What became of the task, if it has no value; a value of another shape than `O` counts as
    /// failed.
    pub fn wait(self) -> Result<O, TaskError> {
        value(self.handle.wait())
    }

    /// Ends the task as cancelled, unless it has ended.
    pub fn cancel(&self) {
        self.handle.cancel();
    }

    /// Whether the outcome is there.
    pub fn is_finished(&self) -> bool {
        self.handle.is_finished()
    }
}

impl<O: DeserializeOwned> Future for CallHandle<O> {
    type Output = Result<O, TaskError>;

    fn poll(
        mut self: std::pin::Pin<&mut Self>,
        poller: &mut std::task::Context<'_>,
    ) -> std::task::Poll<Self::Output> {
        std::pin::Pin::new(&mut self.handle).poll(poller).map(value)
    }
}

fn value<O: DeserializeOwned>(reply: Result<Reply, TaskError>) -> Result<O, TaskError> {
    let reply = reply?;
    serde_json::from_slice(&reply.bytes)
        .map_err(|error| TaskError::Failed(format!("its output: {error}")))
}

impl fmt::Debug for Cluster {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Cluster").finish_non_exhaustive()
    }
}
