//! A process of ours until it has ended: signals, and how it ended.

use crate::executor::Exit;
use rustix::process::{
    Pid, PidfdFlags, Signal, WaitId, WaitIdOptions, WaitIdStatus, pidfd_open, pidfd_send_signal,
    waitid,
};
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::process::Child;
use std::time::Duration;
use tokio::io::Interest;
use tokio::io::unix::{AsyncFd, AsyncFdRegisterError};
use tokio::sync::oneshot::{self, error::TryRecvError};

/// A worker's or a template's process, from its start until it was reaped.
///
/// Dropped before its end, it is killed.
pub(in super::super) struct Process {
    pid: u32,
    /// Readable when the process has ended; no other process is ever meant.
    handle: AsyncFd<OwnedFd>,
    reaper: Reaper,
    exit: Option<Exit>,
}

/// Who waits for the process, so that it is no zombie.
enum Reaper {
    /// This process, whose child it is.
    Own,
    /// The template, which tells.
    Template(oneshot::Receiver<Exit>),
}

/// How long after a fork's end its template may take to tell. It has nothing else to do, unless it
/// was stopped.
const TELL_MAX: Duration = Duration::from_secs(2);

impl Process {
    /// A child that was just started.
    ///
    /// # Errors
    /// The system gives no descriptor for it: it is killed.
    pub(super) fn of_child(mut child: Child) -> io::Result<Self> {
        let handle = open(child.id());
        match handle.and_then(|handle| register(handle).map_err(io::Error::from)) {
            Ok(handle) => Ok(Self { pid: child.id(), handle, reaper: Reaper::Own, exit: None }),
            Err(error) => {
                // One that somebody else has reaped is neither killed nor waited for.
                let _ = child.kill();
                let _ = child.wait();
                Err(error)
            }
        }
    }

    /// A process that a template has just forked, which will say how it ended.
    ///
    /// # Errors
    /// The system does not watch it: it is killed.
    pub(super) fn of_template(
        pid: u32,
        handle: OwnedFd,
        told: oneshot::Receiver<Exit>,
    ) -> io::Result<Self> {
        match register(handle) {
            Ok(handle) => Ok(Self { pid, handle, reaper: Reaper::Template(told), exit: None }),
            Err(failed) => {
                let (handle, error) = failed.into_parts();
                let _ = pidfd_send_signal(&handle, Signal::KILL);
                Err(error)
            }
        }
    }

    pub(in super::super) fn pid(&self) -> u32 {
        self.pid
    }

    /// Kills it; nothing happens where it has ended.
    pub(in super::super) fn kill(&self) {
        let _ = pidfd_send_signal(&self.handle, Signal::KILL);
    }

    /// Waits until it has ended and is reaped. May be dropped on the way and called again.
    pub(in super::super) async fn exited(&mut self) -> Exit {
        if let Some(exit) = self.exit {
            return exit;
        }
        if self.handle.readable().await.is_err() {
            // The runtime is about to go, and this with it: dropped, it ends the process.
            return Exit::Unknown;
        }
        let exit = match &mut self.reaper {
            Reaper::Own => reap(self.handle.as_fd()),
            Reaper::Template(told) => match tokio::time::timeout(TELL_MAX, told).await {
                Ok(Ok(exit)) => exit,
                // The first process of a container, and one that asked for it, gets the children
                // of a template that is gone.
                Ok(Err(_)) => reap(self.handle.as_fd()),
                Err(_) => Exit::Unknown,
            },
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
        let is_mine = match &mut self.reaper {
            Reaper::Own => true,
            // A template that is there reaps it.
            Reaper::Template(told) => told.try_recv() == Err(TryRecvError::Closed),
        };
        if is_mine {
            reap(self.handle.as_fd());
        }
    }
}

/// Waits for the end of a child and reaps it; unknown where it is nobody's child of ours, or
/// somebody else has waited for it.
fn reap(handle: BorrowedFd<'_>) -> Exit {
    loop {
        match waitid(WaitId::PidFd(handle), WaitIdOptions::EXITED) {
            Err(rustix::io::Errno::INTR) => {}
            waited => {
                return waited.ok().flatten().map_or(Exit::Unknown, |status| exit_of(&status));
            }
        }
    }
}

/// How a process ended, as who has waited for it knows.
pub(super) fn exit_of(status: &WaitIdStatus) -> Exit {
    match (status.exit_status(), status.terminating_signal()) {
        (Some(status), _) => Exit::Status(status),
        (None, Some(signal)) => Exit::Signal(signal),
        (None, None) => Exit::Unknown,
    }
}

/// A descriptor of a child that nobody has waited for.
fn open(pid: u32) -> io::Result<OwnedFd> {
    let pid = i32::try_from(pid).ok().and_then(Pid::from_raw);
    Ok(pidfd_open(pid.ok_or(io::ErrorKind::InvalidInput)?, PidfdFlags::empty())?)
}

fn register(handle: OwnedFd) -> Result<AsyncFd<OwnedFd>, AsyncFdRegisterError<OwnedFd>> {
    // SAFETY: the descriptor is owned by what is registered, and stays the same.
    unsafe { AsyncFd::register_with_interest(handle, Interest::READABLE) }
}
