//! A template, as its master sees it: asked for forks, and tells how they end.

use super::template::{Order, Told, put};
use super::{Launcher, Process, frame, start};
use crate::cluster::setup::Setup;
use crate::cluster::worker;
use crate::executor::Exit;
use bytes::BytesMut;
use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::io;
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::rc::Rc;
use std::time::Duration;
use tokio::sync::{Notify, mpsc};
use tokio::task::{JoinHandle, spawn_local};

pub(super) struct Template {
    process: Process,
    control: UnixStream,
    /// What it says beside the ends of its forks.
    answers: mpsc::UnboundedReceiver<Told>,
    exits: Rc<Exits>,
    listens: JoinHandle<()>,
}

/// How the forks of a template ended, as far as it told.
#[derive(Default)]
pub(super) struct Exits {
    known: RefCell<HashMap<u32, Exit>>,
    is_gone: Cell<bool>,
    changed: Notify,
}

/// How long after a fork's end its template may take to tell.
const TELL_MAX: Duration = Duration::from_secs(2);

impl Template {
    /// Starts a template and waits until it has loaded the application.
    ///
    /// # Errors
    /// It cannot be started, or does not load it: why.
    pub(super) async fn start(launcher: &Launcher, setup: &Setup) -> io::Result<Self> {
        let title = format!("template of {}", setup.name);
        let (mut process, control) = start::start(launcher, worker::TEMPLATE, &title)?;
        start::send(&control, &frame(setup), None)?;
        let exits = Rc::<Exits>::default();
        let (tell, answers) = mpsc::unbounded_channel();
        let reading = control.try_clone()?;
        // Both ends share the mode: orders are short, and always fit.
        reading.set_nonblocking(true)?;
        let reading = tokio::net::UnixStream::from_std(reading)?;
        let listens = spawn_local(listen(reading, tell, Rc::clone(&exits)));
        let mut answers = answers;
        let first = answers.recv().await;
        match first {
            Some(Told::Ready) => Ok(Self { process, control, answers, exits, listens }),
            Some(Told::Refused { why }) => Err(io::Error::other(why)),
            Some(_) => Err(io::Error::other("the template does not speak the protocol")),
            None => {
                process.kill();
                let exit = process.exited().await;
                Err(io::Error::other(format!(
                    "the template ended with {exit} before it had loaded the application; is \
                     gvl_lab::init(...) the first line of its main?"
                )))
            }
        }
    }

    /// Forks a worker.
    ///
    /// # Errors
    /// The template cannot, or is gone.
    pub(super) async fn fork(&mut self) -> io::Result<(Process, UnixStream)> {
        let (ours, theirs) = UnixStream::pair()?;
        ours.set_write_timeout(Some(TELL_MAX))?;
        start::send(&self.control, &put(&Order::Fork), Some(theirs.as_fd()))?;
        drop(theirs);
        match self.answers.recv().await {
            Some(Told::Forked { pid }) => {
                Ok((Process::of_template(pid, Rc::clone(&self.exits)), ours))
            }
            Some(Told::Failed { why }) => Err(io::Error::other(format!("fork: {why}"))),
            _ => Err(io::Error::other("the template is gone")),
        }
    }

    pub(super) fn is_gone(&self) -> bool {
        self.exits.is_gone.get()
    }

    pub(super) fn pid(&self) -> u32 {
        self.process.pid()
    }

    /// Ends it, and waits for that.
    pub(super) async fn end(mut self) {
        // The end of its socket ends it.
        let _ = self.control.shutdown(std::net::Shutdown::Both);
        if tokio::time::timeout(TELL_MAX, self.process.exited()).await.is_err() {
            self.process.kill();
            self.process.exited().await;
        }
        let _ = (&mut self.listens).await;
    }
}

impl Drop for Template {
    fn drop(&mut self) {
        self.listens.abort();
        self.exits.end();
    }
}

impl Exits {
    /// Waits until the template tells how that fork ended; not for long.
    pub(super) async fn of(&self, pid: u32) -> Exit {
        let told = async {
            loop {
                if let Some(exit) = self.known.borrow_mut().remove(&pid) {
                    return exit;
                }
                if self.is_gone.get() {
                    return Exit::Unknown;
                }
                self.changed.notified().await;
            }
        };
        tokio::time::timeout(TELL_MAX, told).await.unwrap_or(Exit::Unknown)
    }

    fn end(&self) {
        self.is_gone.set(true);
        self.changed.notify_waiters();
    }
}

/// Reads what the template says until it is gone.
async fn listen(
    control: tokio::net::UnixStream,
    tell: mpsc::UnboundedSender<Told>,
    exits: Rc<Exits>,
) {
    let mut buf = BytesMut::new();
    loop {
        while let Some(told) = super::template::take(&mut buf) {
            match told {
                Ok(Told::Exited { pid, status, signal }) => {
                    let exit = match (status, signal) {
                        (Some(status), _) => Exit::Status(status),
                        (None, Some(signal)) => Exit::Signal(signal),
                        (None, None) => Exit::Unknown,
                    };
                    exits.known.borrow_mut().insert(pid, exit);
                    exits.changed.notify_waiters();
                }
                Ok(told) => drop(tell.send(told)),
                Err(_) => return exits.end(),
            }
        }
        let read = match control.readable().await {
            Ok(()) => control.try_read_buf(&mut buf),
            Err(error) => Err(error),
        };
        match read {
            Ok(0) => return exits.end(),
            Ok(_) => {}
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
            Err(_) => return exits.end(),
        }
    }
}
