//! The door of a worker that takes its requests from a shared listening socket.
//!
//! Threads: an acceptor follows the record and a reactor watches connections without a request;
//! both take part in the worker's global lock, as Puma's do. An event loop accepts by itself.
//! `door.rs` knows how many requests are under way, and when the worker may end.

mod acceptor;
mod door;
mod on_loop;
mod reactor;

pub(super) use door::Door;

use super::crew::Crew;
use crate::cluster::accept::{Accept, AcceptWait};
use crate::cluster::setup::Setup;
use crate::cluster::worker::serve::exit;
use rustix::io::Errno;
use rustix::net::{SocketFlags, accept_with};
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::time::Duration;

/// Begins to accept.
///
/// # Errors
/// The system gives no thread, or the socket is none.
pub(super) fn open(
    crew: &Arc<Crew>,
    setup: &Setup,
    accept: Accept,
    listener: OwnedFd,
) -> io::Result<Arc<Door>> {
    rustix::io::ioctl_fionbio(&listener, accept.wait != AcceptWait::Blocking)?;
    let door = Arc::new(Door::new(crew, setup, accept)?);
    match crew.event_loop() {
        None => {
            let reactor = reactor::start(&door)?;
            acceptor::start(&door, reactor, listener)?;
        }
        Some(event_loop) => on_loop::start(&door, event_loop, listener),
    }
    Ok(door)
}

/// How long a worker waits that has no descriptor for a connection: until some have ended.
const LACK: Duration = Duration::from_millis(10);

/// Whether a connection could not be taken for a lack of something, which may end.
///
/// A worker that can never take one again ends: others may serve what waits for it.
fn is_lack(error: &io::Error) -> bool {
    match Errno::from_io_error(error) {
        Some(Errno::AGAIN | Errno::INTR | Errno::CONNABORTED) => false,
        Some(Errno::MFILE | Errno::NFILE | Errno::NOBUFS | Errno::NOMEM) => true,
        _ => {
            eprintln!("gvl_lab: a worker cannot accept connections: {error}");
            exit(4)
        }
    }
}

/// Takes the next connection, of the same user.
///
/// # Errors
/// There is none now, or something lacks for it.
fn take(listener: &OwnedFd) -> io::Result<UnixStream> {
    loop {
        let socket = accept_with(listener, SocketFlags::CLOEXEC)?;
        // The socket's name is open to all users of the machine.
        let peer = rustix::net::sockopt::socket_peercred(&socket)?;
        if peer.uid == rustix::process::getuid() {
            return Ok(socket.into());
        }
    }
}
