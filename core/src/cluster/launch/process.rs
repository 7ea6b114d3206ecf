//! A process of ours until it has ended: signals, and how it ended.

use super::forked::Exits;
use crate::executor::Exit;
use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, ExitStatus};
use std::rc::Rc;
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;

/// A worker's or a template's process, from its start until it was reaped.
///
/// Dropped before its end, it is killed.
pub(in super::super) struct Process {
    pid: u32,
    /// Readable when the process has ended; no other process is ever meant. None where it had
    /// ended before it could be opened.
    handle: Option<AsyncFd<OwnedFd>>,
    reaper: Reaper,
    exit: Option<Exit>,
}

/// Who waits for the process, so that it is no zombie.
enum Reaper {
    /// This process, whose child it is.
    Own(Child),
    /// The template, which tells.
    Template(Rc<Exits>),
}

impl Process {
    /// A child that was just started.
    ///
    /// # Errors
    /// The system gives no descriptor for it: it is killed.
    pub(super) fn of_child(mut child: Child) -> io::Result<Self> {
        match open(child.id()) {
            Ok(handle) => {
                let (pid, reaper) = (child.id(), Reaper::Own(child));
                Ok(Self { pid, handle: Some(handle), reaper, exit: None })
            }
            Err(error) => {
                child.kill()?;
                child.wait()?;
                Err(error)
            }
        }
    }

    /// A process that a template has just forked.
    pub(super) fn of_template(pid: u32, exits: Rc<Exits>) -> Self {
        let handle = open(pid).ok();
        Self { pid, handle, reaper: Reaper::Template(exits), exit: None }
    }

    pub(in super::super) fn pid(&self) -> u32 {
        self.pid
    }

    /// Kills it; nothing happens where it has ended.
    pub(in super::super) fn kill(&self) {
        if let Some(handle) = &self.handle
            && self.exit.is_none()
        {
            let _ = pidfd_send_signal(handle, Signal::KILL);
        }
    }

    /// Waits until it has ended and is reaped. May be dropped on the way and called again.
    pub(in super::super) async fn exited(&mut self) -> Exit {
        if let Some(exit) = self.exit {
            return exit;
        }
        if let Some(handle) = &self.handle {
            // An error is no end, but then nothing tells it.
            let _ = handle.readable().await;
        }
        let exit = match &mut self.reaper {
            Reaper::Own(child) => child.wait().map_or(Exit::Unknown, exit_of),
            Reaper::Template(exits) => exits.of(self.pid).await,
        };
        self.exit = Some(exit);
        exit
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        if self.exit.is_some() {
            return;
        }
        self.kill();
        if let Reaper::Own(child) = &mut self.reaper {
            let _ = child.wait();
        }
    }
}

fn open(pid: u32) -> io::Result<AsyncFd<OwnedFd>> {
    let pid = i32::try_from(pid).ok().and_then(Pid::from_raw);
    let pid = pid.ok_or(io::ErrorKind::InvalidInput)?;
    let handle = pidfd_open(pid, PidfdFlags::empty())?;
    // SAFETY: the descriptor is owned by what is registered, and stays the same.
    unsafe { AsyncFd::register_with_interest(handle, Interest::READABLE) }.map_err(io::Error::from)
}

fn exit_of(status: ExitStatus) -> Exit {
    match (status.code(), status.signal()) {
        (Some(code), _) => Exit::Status(code),
        (None, Some(signal)) => Exit::Signal(signal),
        (None, None) => Exit::Unknown,
    }
}
