//! A template, as its master sees it: asked for forks, and tells how they end.

use super::orders::{Order, Told, put, take};
use super::socket::{send, send_once};
use super::{Launcher, Process, frame, start, title};
use crate::cluster::setup::Setup;
use crate::cluster::worker;
use crate::executor::Exit;
use bytes::BytesMut;
use std::collections::{HashMap, VecDeque};
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::rc::Rc;
use std::time::Duration;
use tokio::io::Interest;
use tokio::net::UnixStream;
use tokio::sync::{mpsc, oneshot};
use tokio::task::{JoinHandle, spawn_local};

/// A template from its start until it is gone.
pub(super) struct Template {
    process: Process,
    control: Rc<UnixStream>,
    /// Who waits for an answer, in the order in which the orders were given: nobody takes that of
    /// another, even where one of them does not wait any more.
    waiting: mpsc::UnboundedSender<Waiting>,
    /// Hears whether it has loaded the application; none once it has.
    loads: Option<oneshot::Receiver<Result<(), String>>>,
    /// Over when the template is gone, or of no use.
    listens: JoinHandle<()>,
}

/// Hears of one fork.
type Waiting = oneshot::Sender<io::Result<Process>>;

/// How long a template may take to end by itself.
const END_MAX: Duration = Duration::from_secs(2);

/// How much is read at once.
const CHUNK: usize = 4 << 10;

impl Template {
    /// Starts a template, which loads the application next.
    ///
    /// # Errors
    /// It cannot be started.
    pub(super) fn start(launcher: &Launcher, setup: &Setup) -> io::Result<Self> {
        let title = title::of_template(&setup.name);
        let (process, control) = start::start(launcher, worker::TEMPLATE, &title)?;
        let control = Rc::new(control);
        let (waiting, orders) = mpsc::unbounded_channel();
        let (loaded, loads) = oneshot::channel();
        let listener = Listener {
            control: Rc::clone(&control),
            loaded: Some(loaded),
            orders,
            handles: VecDeque::new(),
            ends: HashMap::new(),
        };
        let listens = spawn_local(listener.run(frame(setup)));
        Ok(Self { process, control, waiting, loads: Some(loads), listens })
    }

    /// Waits until it has loaded the application. May be dropped on the way and called again.
    ///
    /// # Errors
    /// It does not load it: why. It is of no use then.
    pub(super) async fn loaded(&mut self) -> io::Result<()> {
        let Some(loads) = &mut self.loads else { return Ok(()) };
        let loaded = loads.await;
        self.loads = None;
        match loaded {
            Ok(Ok(())) => Ok(()),
            Ok(Err(why)) => Err(io::Error::other(why)),
            Err(_) => {
                self.process.kill();
                let exit = self.process.exited().await;
                Err(io::Error::other(format!(
                    "the template ended with {exit} before it had loaded the application; is \
                     gvl_lab::init(...) the first line of its main?"
                )))
            }
        }
    }

    /// Forks a worker; none where the template is gone. Dropped on the way, it leaves none behind.
    ///
    /// # Errors
    /// The template cannot.
    pub(super) async fn fork(&self) -> io::Result<Option<(Process, UnixStream)>> {
        let (ours, theirs) = start::pair()?;
        let order = put(&Order::Fork);
        let sent = match send_once(&self.control, &order, Some(theirs.as_fd())).await {
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => return Ok(None),
            sent => sent?,
        };
        assert_eq!(sent, order.len(), "the system takes a few bytes whole or not at all");
        drop(theirs);
        // Nobody else had a turn since: this waits at the place of its order.
        let (waiting, answer) = oneshot::channel();
        let _ = self.waiting.send(waiting);
        let Ok(process) = answer.await else { return Ok(None) };
        Ok(Some((process?, ours)))
    }

    pub(super) fn is_gone(&self) -> bool {
        self.listens.is_finished()
    }

    pub(super) fn pid(&self) -> u32 {
        self.process.pid()
    }

    /// Ends it, and waits for that.
    pub(super) async fn end(mut self) {
        // The end of its socket ends it.
        let _ = rustix::net::shutdown(&*self.control, rustix::net::Shutdown::Both);
        if tokio::time::timeout(END_MAX, self.process.exited()).await.is_err() {
            self.process.kill();
            self.process.exited().await;
        }
        let _ = (&mut self.listens).await;
    }
}

impl Drop for Template {
    fn drop(&mut self) {
        self.listens.abort();
    }
}

/// Reads what a template says.
struct Listener {
    control: Rc<UnixStream>,
    loaded: Option<oneshot::Sender<Result<(), String>>>,
    orders: mpsc::UnboundedReceiver<Waiting>,
    /// Descriptors that came, until the answers that they belong to are all there.
    handles: VecDeque<OwnedFd>,
    /// Who hears how a fork ended.
    ends: HashMap<u32, oneshot::Sender<Exit>>,
}

impl Listener {
    /// Gives the template its setup, and reads what it says until it is gone.
    async fn run(mut self, setup: Vec<u8>) {
        // One that is gone already may have said why.
        let _ = send(&self.control, &setup, None).await;
        let mut buf = BytesMut::new();
        while self.receive(&mut buf).await.is_ok_and(|n| n > 0) {
            while let Some(told) = take(&mut buf) {
                if told.and_then(|told| self.hear(told)).is_err() {
                    // It does not speak the protocol: no more orders.
                    let _ = rustix::net::shutdown(&*self.control, rustix::net::Shutdown::Both);
                    return;
                }
            }
        }
    }

    async fn receive(&mut self, buf: &mut BytesMut) -> io::Result<usize> {
        let mut chunk = [0; CHUNK];
        loop {
            self.control.readable().await?;
            let mut handle = None;
            let received = self.control.try_io(Interest::READABLE, || {
                worker::receive(&self.control, &mut chunk, &mut handle)
            });
            self.handles.extend(handle);
            match received {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                received => {
                    buf.extend_from_slice(&chunk[..*received.as_ref().unwrap_or(&0)]);
                    return received;
                }
            }
        }
    }

    /// # Errors
    /// That is not for the template to say now.
    fn hear(&mut self, told: Told) -> io::Result<()> {
        let odd = || io::Error::from(io::ErrorKind::InvalidData);
        match told {
            Told::Ready => {
                let _ = self.loaded.take().ok_or_else(odd)?.send(Ok(()));
            }
            Told::Refused { why } => {
                let _ = self.loaded.take().ok_or_else(odd)?.send(Err(why));
            }
            Told::Forked { pid } => {
                let waiting = self.orders.try_recv().map_err(|_| odd())?;
                let handle = self.handles.pop_front().ok_or_else(odd)?;
                let (ends, end) = oneshot::channel();
                self.ends.insert(pid, ends);
                // Where nobody waits any more it is killed.
                let _ = waiting.send(Process::of_template(pid, handle, end));
            }
            Told::Failed { why } => {
                let waiting = self.orders.try_recv().map_err(|_| odd())?;
                let _ = waiting.send(Err(io::Error::other(format!("fork: {why}"))));
            }
            Told::Exited { pid, status, signal } => {
                let exit = match (status, signal) {
                    (Some(status), _) => Exit::Status(status),
                    (None, Some(signal)) => Exit::Signal(signal),
                    (None, None) => Exit::Unknown,
                };
                let _ = self.ends.remove(&pid).ok_or_else(odd)?.send(exit);
            }
        }
        Ok(())
    }
}
