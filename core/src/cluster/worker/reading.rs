//! Frames from a blocking socket.

use crate::cluster::wire::{self, Frame};
use bytes::BytesMut;
use rustix::net::{RecvFlags, recv};
use std::io;
use std::os::unix::net::UnixStream;

/// What is read at once where nothing longer is known to come.
const CHUNK: usize = 16 << 10;

/// The most that a frame's length makes room for before it is there.
const ROOM_MAX: usize = 1 << 20;

/// Reads frames.
pub(super) struct Reading {
    buf: BytesMut,
    frame_max: u32,
}

impl Reading {
    pub(super) fn new(frame_max: u32) -> Self {
        Self { buf: BytesMut::new(), frame_max }
    }

    /// The next frame that is there.
    ///
    /// # Errors
    /// The bytes are no frame.
    pub(super) fn next(&mut self) -> io::Result<Option<Frame>> {
        wire::decode(&mut self.buf, self.frame_max).map_err(io::Error::other)
    }

    /// Whether the next frame is there, and is the last.
    pub(super) fn ends(&self) -> bool {
        self.buf.starts_with(&wire::LAST)
    }

    /// Waits for more bytes; whether there were any before the end.
    ///
    /// # Errors
    /// The socket cannot be read.
    pub(super) fn read(&mut self, socket: &UnixStream) -> io::Result<bool> {
        self.receive(socket, RecvFlags::empty())
    }

    /// Reads the bytes that are there; whether there were any before the end.
    ///
    /// # Errors
    /// The socket cannot be read, or has nothing now.
    pub(super) fn read_now(&mut self, socket: &UnixStream) -> io::Result<bool> {
        self.receive(socket, RecvFlags::DONTWAIT)
    }

    fn receive(&mut self, socket: &UnixStream, flags: RecvFlags) -> io::Result<bool> {
        let length = self.buf.len();
        let head = self.buf.first_chunk();
        let size = head.map_or(0, |head| u32::from_le_bytes(*head).min(self.frame_max));
        let lacks = (size as usize + 4).saturating_sub(length);
        let room = lacks.clamp(CHUNK, ROOM_MAX);
        self.buf.reserve(room);
        let read = loop {
            let spare = self.buf.spare_capacity_mut();
            let most = spare.len().min(room);
            match recv(socket, &mut spare[..most], flags) {
                Err(rustix::io::Errno::INTR) => {}
                other => break other.map(|(_, n)| n.min(most)),
            }
        };
        // SAFETY: that many bytes of the spare room were received.
        unsafe { self.buf.set_len(length + read.unwrap_or(0)) };
        Ok(read? > 0)
    }
}
