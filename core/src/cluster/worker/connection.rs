//! A connection that a worker of threads accepted: its requests, one after the other.

use super::crew::Crew;
use super::job::Out;
use super::reading::Reading;
use crate::cluster::link::Link;
use crate::cluster::wire::{Frame, Task};
use rustix::net::{RecvFlags, recv};
use std::io;
use std::os::unix::net::UnixStream;
use std::sync::Arc;

/// One accepted connection.
pub(super) struct Connection {
    pub(super) socket: Arc<UnixStream>,
    pub(super) out: Arc<Out>,
    /// Its requests that were answered.
    pub(super) answered: u32,
    reading: Reading,
}

/// What a look at a connection found.
pub(super) enum Found {
    Request(Task),
    /// Not yet.
    Nothing,
    /// It has ended, or is no connection of ours.
    End,
}

impl Connection {
    pub(super) fn new(socket: UnixStream, frame_max: u32) -> Self {
        let socket = Arc::new(socket);
        let out = Arc::new(Link::new(Arc::clone(&socket)));
        Self { socket, out, answered: 0, reading: Reading::new(frame_max) }
    }

    /// Whether its client has said that no other request comes.
    pub(super) fn is_last(&self) -> bool {
        self.reading.ends()
    }

    /// Looks for a request without waiting. The socket itself blocks, so that answers are written
    /// whole.
    pub(super) fn look(&mut self, crew: &Crew) -> Found {
        loop {
            match self.reading.next() {
                // Who sent it may want it no more.
                Ok(Some(Frame::Task(_))) if has_ended(&self.socket) => return Found::End,
                Ok(Some(Frame::Task(task))) => return Found::Request(task),
                Ok(Some(Frame::Cancel { task })) => crew.jobs.cancel(task),
                // Its end comes by itself; who answers may know it before.
                Ok(Some(Frame::Last)) => {}
                Ok(Some(_)) | Err(_) => return Found::End,
                Ok(None) => match self.reading.read_now(&self.socket) {
                    Ok(true) => {}
                    Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                        return Found::Nothing;
                    }
                    Ok(false) | Err(_) => return Found::End,
                },
            }
        }
    }
}

/// Whether the other side says nothing more, and everything was read.
fn has_ended(socket: &UnixStream) -> bool {
    let flags = RecvFlags::PEEK | RecvFlags::DONTWAIT;
    matches!(recv(socket, &mut [0; 1], flags), Ok((0, _)))
}
