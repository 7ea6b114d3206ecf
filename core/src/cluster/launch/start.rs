//! Starts a program with one end of a socket pair as its standard input.

use super::{Launcher, Process};
use crate::cluster::worker::ROLE;
use rustix::process::{Signal, getpid, getppid, set_parent_process_death_signal};
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::process::CommandExt;
use std::process::Stdio;
use tokio::net::UnixStream;

/// Starts the launcher's program in that role.
///
/// # Errors
/// There is no such program, or the system gives no process or descriptors.
pub(super) fn start(
    launcher: &Launcher,
    role: &str,
    title: &str,
) -> io::Result<(Process, UnixStream)> {
    let (ours, theirs) = pair()?;
    let mut command = launcher.command_for(title)?;
    command.env(ROLE, role).stdin(Stdio::from(theirs));
    let master = getpid();
    // SAFETY: between fork and exec only system calls are made, which are safe there.
    unsafe {
        command.pre_exec(move || {
            set_parent_process_death_signal(Some(Signal::KILL))?;
            // It may have died before that was set.
            if getppid() != Some(master) {
                return Err(io::ErrorKind::NotConnected.into());
            }
            inherit_nothing();
            Ok(())
        });
    }
    let name = launcher.name();
    let child = command.spawn();
    // The command keeps the other end, which has to be the process's alone.
    drop(command);
    let child = child.map_err(|error| io::Error::new(error.kind(), format!("{name}: {error}")))?;
    Ok((Process::of_child(child)?, ours))
}

/// The master's end of a connection, and that of a process.
///
/// # Errors
/// The system gives no descriptors.
pub(super) fn pair() -> io::Result<(UnixStream, OwnedFd)> {
    let (ours, theirs) = std::os::unix::net::UnixStream::pair()?;
    ours.set_nonblocking(true)?;
    Ok((UnixStream::from_std(ours)?, theirs.into()))
}

/// Marks all but the standard streams to be closed by `exec`: an embedder, or a library in C, may
/// have opened some without.
fn inherit_nothing() {
    let (first, last) = (3_u32, u32::MAX);
    // SAFETY: the call takes three numbers, and closes nothing before `exec`. Before Linux 5.11
    // there is none such, and what was opened without the mark stays open.
    unsafe {
        libc::syscall(libc::SYS_close_range, first, last, libc::CLOSE_RANGE_CLOEXEC);
    }
}
