//! Bytes into a socket, the first of them with a descriptor where there is one.

use rustix::io::Errno;
use rustix::net::{SendAncillaryBuffer, SendAncillaryMessage, SendFlags, sendmsg};
use std::io::{self, IoSlice};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd};
use tokio::io::Interest;
use tokio::net::UnixStream;

/// Sends what the socket takes at once; how much that was. The descriptor goes with the first byte.
///
/// # Errors
/// The other end is gone, or the socket is full and does not wait.
pub(super) fn send_some(
    socket: impl AsFd,
    bytes: &[u8],
    descriptor: Option<BorrowedFd<'_>>,
) -> io::Result<usize> {
    let descriptors = descriptor.as_slice();
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut ancillary = SendAncillaryBuffer::new(&mut space);
    if !descriptors.is_empty() {
        let fits = ancillary.push(SendAncillaryMessage::ScmRights(descriptors));
        assert!(fits, "the space is for one descriptor");
    }
    loop {
        match sendmsg(&socket, &[IoSlice::new(bytes)], &mut ancillary, SendFlags::NOSIGNAL) {
            Err(Errno::INTR) => {}
            sent => return Ok(sent?),
        }
    }
}

/// Sends all of it, while others have their turn.
///
/// # Errors
/// The other end is gone.
pub(super) async fn send(
    socket: &UnixStream,
    mut bytes: &[u8],
    mut descriptor: Option<BorrowedFd<'_>>,
) -> io::Result<()> {
    while !bytes.is_empty() {
        let sent = send_once(socket, bytes, descriptor).await?;
        bytes = &bytes[sent..];
        descriptor = None;
    }
    Ok(())
}

/// Waits for room and sends what there is room for. Dropped before its end it has sent nothing.
///
/// # Errors
/// The other end is gone.
pub(super) async fn send_once(
    socket: &UnixStream,
    bytes: &[u8],
    descriptor: Option<BorrowedFd<'_>>,
) -> io::Result<usize> {
    loop {
        socket.writable().await?;
        let sent = socket.try_io(Interest::WRITABLE, || send_some(socket, bytes, descriptor));
        match sent {
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
            sent => return sent,
        }
    }
}
