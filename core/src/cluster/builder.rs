//! What a cluster can be told before its workers are started.

use super::cluster::{Cluster, Shutdown};
use super::desk::Desk;
use super::dispatch::{Dispatch, Lanes};
use super::keeper::{self, Keeper};
use super::launch::{Launcher, Launchpad};
use super::setup::{Serving, Setup};
use super::shared::Shared;
use super::wire;
use crate::error::Error;
use crate::executor::{Threads, WhenFull, released};
use crate::gvl::Gvl;
use crate::sync::serve;
use rustix::net::{
    AddressFamily, SocketAddrUnix, SocketFlags, SocketType, bind, getsockname, listen,
};
use std::cell::{Cell, RefCell};
use std::io;
use std::os::fd::OwnedFd;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::mpsc::channel;
use std::time::Duration;
use tokio::sync::{Mutex, mpsc};
use tokio::task::LocalSet;

/// Sets up a [`Cluster`].
#[derive(Debug, Clone)]
pub struct ClusterBuilder {
    name: String,
    workers: u32,
    serving: Serving,
    gvl: Gvl,
    launcher: Launcher,
    dispatch: Dispatch,
    app: String,
    capacity: usize,
    bytes_max: usize,
    when_full: WhenFull,
    payload_max: u32,
    deadline: Option<Duration>,
    hang: Duration,
    boot_max: Duration,
    grace: Duration,
    on_signals: bool,
}

/// The most worker processes.
const WORKERS_MAX: u32 = 1024;

/// Connections that wait to be accepted (Puma's and Unicorn's 1024; the system may allow fewer).
const BACKLOG: i32 = 1024;

/// The longest payload that may be asked for: 1 GiB.
const PAYLOAD_MAX: u32 = 1 << 30;

impl ClusterBuilder {
    pub(super) fn new() -> Self {
        Self {
            name: "pool".to_owned(),
            workers: 2,
            serving: Serving::Threads { min: 5, max: 5, one_task: false },
            gvl: Gvl::cruby(),
            launcher: Launcher::exec(),
            dispatch: Dispatch::SharedQueue,
            app: String::new(),
            capacity: usize::MAX,
            bytes_max: 256 << 20,
            when_full: WhenFull::Wait,
            payload_max: wire::FRAME_MAX - wire::OVERHEAD_MAX,
            deadline: None,
            hang: Duration::from_secs(5),
            boot_max: Duration::from_secs(60),
            grace: Duration::from_secs(30),
            on_signals: false,
        }
    }

    /// The pool's name, which the processes show (`pool`).
    #[must_use]
    pub fn name(mut self, name: impl Into<String>) -> Self {
        self.name = name.into();
        self
    }

    /// How many worker processes there are, 1 to 1024 (2).
    #[must_use]
    pub fn workers(mut self, workers: u32) -> Self {
        self.workers = workers;
        self
    }

    /// Threads of each worker: `min` always, up to `max` where no thread is idle (5 and 5).
    #[must_use]
    pub fn threads(mut self, min: u32, max: u32) -> Self {
        self.serving = Serving::Threads { min, max, one_task: false };
        self
    }

    /// An event loop in each worker, and at most `offload` threads for handlers that are not
    /// asynchronous.
    #[must_use]
    pub fn event_loop(mut self, offload: u32) -> Self {
        self.serving = Serving::EventLoop { offload };
        self
    }

    /// What the handlers of each worker run on, as a value.
    #[must_use]
    pub fn serving(mut self, serving: Serving) -> Self {
        self.serving = serving;
        self
    }

    /// The global lock of each worker (CRuby's).
    #[must_use]
    pub fn gvl(mut self, gvl: Gvl) -> Self {
        self.gvl = gvl;
        self
    }

    /// How workers are started ([`Launcher::exec`]).
    #[must_use]
    pub fn launcher(mut self, launcher: Launcher) -> Self {
        self.launcher = launcher;
        self
    }

    /// How tasks find their worker ([`Dispatch::SharedQueue`]).
    #[must_use]
    pub fn dispatch(mut self, dispatch: Dispatch) -> Self {
        self.dispatch = dispatch;
        self
    }

    /// Text for the application, which finds it in [`App::setup`](super::App::setup).
    #[must_use]
    pub fn app(mut self, text: impl Into<String>) -> Self {
        self.app = text.into();
        self
    }

    /// How many tasks may wait for a worker (endless), and what a submission does when they do.
    #[must_use]
    pub fn queue(mut self, capacity: usize, when_full: WhenFull) -> Self {
        (self.capacity, self.when_full) = (capacity, when_full);
        self
    }

    /// How many bytes the payloads of all tasks that have not ended may have (256 MiB); a single
    /// task may always come.
    #[must_use]
    pub fn bytes_max(mut self, bytes: usize) -> Self {
        self.bytes_max = bytes;
        self
    }

    /// The longest payload and the longest result, in bytes (a little less than 16 MiB).
    #[must_use]
    pub fn payload_max(mut self, bytes: u32) -> Self {
        self.payload_max = bytes;
        self
    }

    /// The deadline of tasks that have none of their own (none).
    #[must_use]
    pub fn deadline(mut self, after: Duration) -> Self {
        self.deadline = Some(after);
        self
    }

    /// How long after its deadline a task may keep its worker before the worker is killed (5 s).
    #[must_use]
    pub fn hang_max(mut self, hang: Duration) -> Self {
        self.hang = hang;
        self
    }

    /// How long a worker may take until it serves (60 s).
    #[must_use]
    pub fn boot_max(mut self, boot: Duration) -> Self {
        self.boot_max = boot;
        self
    }

    /// How long a worker that is to end, and a drop of the cluster, wait for its tasks (30 s).
    #[must_use]
    pub fn grace(mut self, grace: Duration) -> Self {
        self.grace = grace;
        self
    }

    /// Shuts down at SIGTERM and SIGINT within the grace, instead of the program's ending at once
    /// (off); at a second one it waits no longer. Neither ends the program by itself any more, also
    /// when the cluster has ended. The program ends when its main function does: [`Cluster::join`] waits for that.
    #[must_use]
    pub fn drain_on_signals(mut self, on: bool) -> Self {
        self.on_signals = on;
        self
    }

    /// A cluster whose workers serve. Workers that fail to start are tried again, unless all fail.
    ///
    /// # Errors
    /// A figure out of range, a launcher that cannot be used, a system without threads or
    /// descriptors, or workers none of which serves: why the first one does not.
    pub fn build(self) -> Result<Cluster, Error> {
        self.check()?;
        let setup = self.setup();
        Launchpad::check(&self.launcher, &setup)?;
        let failed =
            |what: &str, error: io::Error| Error::failed(what, error, "a system with room");
        let (outgoing, tasks) = match self.dispatch {
            Dispatch::KernelAccept(_) => {
                let (sender, receiver) = mpsc::unbounded_channel();
                let (listener, address) = listener().map_err(|e| failed("listening socket", e))?;
                (Some(sender), Some((receiver, listener, address)))
            }
            _ => (None, None),
        };
        let desk = Desk::new(Lanes::new(self.dispatch), self.payload_max.into(), self.hang);
        let limits = (self.capacity, self.bytes_max, self.when_full);
        let shared = Arc::new(Shared::new(desk, outgoing, limits));
        let (commands, orders) = mpsc::unbounded_channel();
        let (booted, boots) = channel();
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .map_err(|e| failed("cluster", e))?;
        let thread_shared = Arc::clone(&shared);
        let (workers, on_signals) = (self.workers, self.on_signals);
        let launcher = self.launcher.clone();
        let (frame_max, slots) = (self.frame_max(), self.slots());
        let (boot_max, grace) = (self.boot_max, self.grace);
        let ended = Shutdown::on_end(&shared);
        serve(&format!("{} master", self.name), move || {
            // Told last, when the runtime and its descriptors are gone.
            let _ended = ended;
            let runtime = runtime;
            thread_shared.is_here();
            let (listener, tasks) = match tasks {
                Some((tasks, listener, address)) => (Some(listener), Some((tasks, address))),
                None => (None, None),
            };
            let keeper = Rc::new(Keeper {
                shared: thread_shared,
                pad: Mutex::new(Some(Launchpad::new(launcher, setup))),
                listener,
                slots,
                frame_max,
                boot_max,
                grace,
                next: Cell::new(1),
                hopeless: RefCell::default(),
                places: Cell::new(0),
            });
            let local = LocalSet::new();
            local.block_on(
                &runtime,
                keeper::run(keeper, workers, on_signals, tasks, orders, booted),
            );
        })
        .map_err(|e| failed("cluster", e))?;
        let cluster = Cluster::new(shared, commands, self.deadline, self.grace);
        let failures = released(|| boots.recv()).unwrap_or_default();
        match failures.first() {
            Some(why) if failures.len() == self.workers as usize => {
                cluster.shutdown(Duration::ZERO);
                Err(Error::failed("workers", why, "a program that serves as a worker"))
            }
            _ => Ok(cluster),
        }
    }

    fn check(&self) -> Result<(), Error> {
        check_workers(self.workers)?;
        match self.serving {
            Serving::Threads { min, max, .. } => drop(Threads::new(min, max)?),
            Serving::EventLoop { offload } => {
                Threads::new(0, offload)
                    .map_err(|_| Error::invalid("event_loop.offload", offload, "1..=1024"))?;
            }
        }
        self.gvl.check()?;
        if self.capacity == 0 {
            return Err(Error::invalid("queue.capacity", 0, "at least 1"));
        }
        if !(1..=PAYLOAD_MAX).contains(&self.payload_max) {
            let allowed = format!("1..={PAYLOAD_MAX} bytes");
            return Err(Error::invalid("payload_max", self.payload_max, allowed));
        }
        Ok(())
    }

    fn frame_max(&self) -> u32 {
        (self.payload_max + wire::OVERHEAD_MAX).max(wire::FRAME_MIN)
    }

    /// Tasks that a worker has at once.
    fn slots(&self) -> u32 {
        match self.serving {
            Serving::Threads { max, .. } => max,
            // As many as come: each costs little.
            Serving::EventLoop { .. } => 4096,
        }
    }

    fn setup(&self) -> Setup {
        let accept = match self.dispatch {
            Dispatch::KernelAccept(accept) => Some(accept),
            _ => None,
        };
        Setup {
            name: self.name.clone(),
            number: 0,
            frame_max: self.frame_max(),
            gvl: serde_json::to_value(self.gvl.to_value()).expect("a lock is a plain value"),
            serving: self.serving,
            accept,
            workers: self.workers,
            app: self.app.clone(),
        }
    }
}

/// Checks a number of workers.
///
/// # Errors
/// It is out of range.
pub(super) fn check_workers(workers: u32) -> Result<(), Error> {
    if (1..=WORKERS_MAX).contains(&workers) {
        return Ok(());
    }
    Err(Error::invalid("workers", workers, format!("1..={WORKERS_MAX}")))
}

/// A listening socket with a name that no file has and no other socket: containers may share the
/// names of sockets and not the numbers of processes, so that the system has to choose it.
fn listener() -> io::Result<(OwnedFd, Vec<u8>)> {
    let socket = rustix::net::socket_with(
        AddressFamily::UNIX,
        SocketType::STREAM,
        SocketFlags::CLOEXEC,
        None,
    )?;
    bind(&socket, &SocketAddrUnix::new_unnamed())?;
    listen(&socket, BACKLOG)?;
    let address = SocketAddrUnix::try_from(getsockname(&socket)?)?;
    let name = address.abstract_name().ok_or(io::ErrorKind::AddrNotAvailable)?;
    Ok((socket, name.to_vec()))
}
