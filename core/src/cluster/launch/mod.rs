//! How a worker process comes to be: this program again, another one, or a fork of a template that
//! has loaded the application.
//!
//! Called by the cluster's thread alone, which lives as long as the workers: the system ends a
//! worker when the thread that started it ends.

use super::setup::Setup;
use crate::error::Error;
use crate::executor::Exit;
use std::io;
use std::os::fd::BorrowedFd;
use std::os::unix::net::UnixStream;

/// How workers are started.
#[derive(Debug, Clone)]
pub struct Launcher {}

impl Launcher {
    /// x
    pub fn exec() -> Self {
        Self {}
    }
}

/// Starts the workers of one cluster.
pub(super) struct Launchpad {}

/// A worker's process, from its start until it was reaped.
pub(super) struct Process {}

/// What the master may tell a process by signal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Nudge {
    /// SIGTERM: finish and exit.
    Finish,
    /// SIGKILL.
    Kill,
}

impl Launchpad {
    /// Checks that the launcher can be used; starts nothing yet.
    pub(super) fn new(_launcher: &Launcher, _setup: Setup) -> Result<Self, Error> {
        todo!()
    }

    /// Starts worker `number`: its setup is written to its socket, with `listener` where it is to
    /// accept connections. With preload the template is started first, if there is none.
    pub(super) async fn launch(
        &mut self,
        _number: u32,
        _listener: Option<BorrowedFd<'_>>,
    ) -> io::Result<(Process, UnixStream)> {
        todo!()
    }

    /// Processes beside the workers: the template, where there is one.
    pub(super) fn template(&self) -> Option<u32> {
        todo!()
    }

    /// Ends the template, and waits for it.
    pub(super) async fn end(self) {}
}

impl Process {
    pub(super) fn pid(&self) -> u32 {
        todo!()
    }

    /// Sends a signal; nothing happens where the process has ended.
    pub(super) fn nudge(&self, _nudge: Nudge) {}

    /// Waits until the process has ended and is reaped. May be called again, and dropped.
    pub(super) async fn exited(&mut self) -> Exit {
        todo!()
    }
}
