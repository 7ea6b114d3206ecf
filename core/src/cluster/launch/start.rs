//! Starts a program with one end of a socket pair as its standard input.

use super::{Launcher, Process};
use crate::cluster::worker::ROLE;
use rustix::net::{SendAncillaryBuffer, SendAncillaryMessage, SendFlags, sendmsg};
use rustix::process::{Signal, getpid, getppid, set_parent_process_death_signal};
use std::io::{self, IoSlice};
use std::mem::MaybeUninit;
use std::os::fd::{BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::process::Stdio;
use std::time::Duration;

/// How long a process may leave its setup unread, where that is too long for the socket.
const UNREAD_MAX: Duration = Duration::from_secs(10);

/// Starts the launcher's program in that role.
///
/// # Errors
/// There is no such program, or the system gives no process or descriptors.
pub(super) fn start(
    launcher: &Launcher,
    role: &str,
    title: &str,
) -> io::Result<(Process, UnixStream)> {
    let (ours, theirs) = UnixStream::pair()?;
    ours.set_write_timeout(Some(UNREAD_MAX))?;
    let mut command = launcher.command_for(title)?;
    command.env(ROLE, role).stdin(Stdio::from(OwnedFd::from(theirs)));
    let master = getpid();
    // SAFETY: between fork and exec only system calls are made, which are safe there.
    unsafe {
        command.pre_exec(move || {
            set_parent_process_death_signal(Some(Signal::KILL))?;
            // It may have died before that was set.
            if getppid() == Some(master) { Ok(()) } else { Err(io::ErrorKind::NotConnected.into()) }
        });
    }
    let name = launcher.name();
    let child = command.spawn();
    // The command keeps the other end, which has to be the process's alone.
    drop(command);
    let child = child.map_err(|error| io::Error::new(error.kind(), format!("{name}: {error}")))?;
    Ok((Process::of_child(child)?, ours))
}

/// Sends bytes, the first of them with a descriptor where there is one.
///
/// # Errors
/// The process is gone, or does not read.
pub(super) fn send(
    socket: &UnixStream,
    mut bytes: &[u8],
    descriptor: Option<BorrowedFd<'_>>,
) -> io::Result<()> {
    let descriptors = descriptor.as_slice();
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut ancillary = SendAncillaryBuffer::new(&mut space);
    if !descriptors.is_empty() {
        ancillary.push(SendAncillaryMessage::ScmRights(descriptors));
    }
    while !bytes.is_empty() {
        match sendmsg(socket, &[IoSlice::new(bytes)], &mut ancillary, SendFlags::NOSIGNAL) {
            Ok(sent) => {
                bytes = &bytes[sent..];
                ancillary.clear();
            }
            Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
    }
    Ok(())
}
