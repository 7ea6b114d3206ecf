//! The way to one worker: frames go out in order, at once where the socket takes them.
//!
//! Frames are put in under the desk's lock, so that their order is that of its decisions; they are
//! written after its release, by one thread at a time, which also writes what others put in
//! meanwhile. What the socket does not take is left to the cluster's thread. Lock order: desk, then
//! `out`.

use super::wire::{self, Frame};
use bytes::{Bytes, BytesMut};
use parking_lot::Mutex;
use rustix::net::{SendFlags, sendmsg};
use std::collections::VecDeque;
use std::io::{self, IoSlice};
use std::os::fd::AsFd;
use std::sync::Arc;
use tokio::sync::Notify;

/// From this length on a payload is written from where it is.
const STAYS: usize = 16 << 10;

/// The most pieces that are written at once.
const PIECES: usize = 64;

pub(super) struct Link<S = tokio::net::UnixStream> {
    socket: Arc<S>,
    /// Guards: frames leave whole and in the order in which they came.
    out: Mutex<Out>,
    /// Told when something is left to write.
    pub(super) left: Notify,
}

#[derive(Default)]
struct Out {
    unsent: Pieces,
    state: State,
}

/// Bytes to be written: the pieces, then the tail.
#[derive(Default)]
struct Pieces {
    pieces: VecDeque<Bytes>,
    tail: BytesMut,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum State {
    /// Nobody writes.
    #[default]
    Idle,
    /// A thread writes, and looks here again before it stops.
    Writing,
    /// The socket is full: the cluster's thread writes on.
    Full,
    /// Nobody reads any more.
    Dead,
}

impl<S: AsFd> Link<S> {
    /// A link over a socket that does not block.
    pub(super) fn new(socket: Arc<S>) -> Self {
        Self { socket, out: Mutex::default(), left: Notify::new() }
    }

    /// Puts a frame in the line; [`Link::flush`] has to follow. What is put in for a worker that is
    /// gone is lost with it.
    pub(super) fn put(&self, frame: &Frame) {
        let mut out = self.out.lock();
        if out.state != State::Dead {
            out.unsent.put(frame);
        }
    }

    /// Writes what was put in, as far as the socket takes it.
    pub(super) fn flush(&self) {
        if self.write(State::Idle) == State::Full {
            self.left.notify_one();
        }
    }

    /// Whether nobody reads any more, as far as a write has shown it.
    pub(super) fn is_dead(&self) -> bool {
        self.out.lock().state == State::Dead
    }

    /// Waits until all that was put in is written, or nobody reads any more: for a socket that
    /// blocks, before its process ends.
    pub(super) fn finish(&self) {
        loop {
            let out = self.out.lock();
            match out.state {
                State::Dead => return,
                State::Idle if out.unsent.is_empty() => return,
                State::Idle => {
                    drop(out);
                    self.flush();
                }
                // A write is short, and does not wait for this thread.
                State::Writing | State::Full => {
                    drop(out);
                    std::thread::yield_now();
                }
            }
        }
    }

    /// Writes what is left; whether that is all. Called when the socket takes more.
    pub(super) fn write_on(&self) -> bool {
        self.write(State::Full) != State::Full
    }

    /// Writes while there is something, if the link is in the state `from`; the state it is in then.
    fn write(&self, from: State) -> State {
        let mut out = self.out.lock();
        if out.state != from {
            return if out.state == State::Full { State::Writing } else { out.state };
        }
        while !out.unsent.is_empty() {
            let mut unsent = std::mem::take(&mut out.unsent);
            out.state = State::Writing;
            drop(out);
            let written = unsent.write(&*self.socket);
            out = self.out.lock();
            match written {
                Ok(()) if unsent.is_empty() => {}
                Ok(()) => {
                    let later = std::mem::replace(&mut out.unsent, unsent);
                    out.unsent.append(later);
                    out.state = State::Full;
                    return State::Full;
                }
                Err(_) => {
                    *out = Out { state: State::Dead, ..Out::default() };
                    return State::Dead;
                }
            }
        }
        out.state = State::Idle;
        State::Idle
    }
}

impl Pieces {
    fn is_empty(&self) -> bool {
        self.pieces.is_empty() && self.tail.is_empty()
    }

    fn put(&mut self, frame: &Frame) {
        let payload = wire::put(frame, &mut self.tail);
        if payload.len() < STAYS {
            self.tail.extend_from_slice(&payload);
        } else {
            self.pieces.push_back(self.tail.split().freeze());
            self.pieces.push_back(payload);
        }
    }

    fn append(&mut self, later: Self) {
        if later.pieces.is_empty() {
            self.tail.extend_from_slice(&later.tail);
        } else {
            self.pieces.push_back(std::mem::replace(&mut self.tail, later.tail).freeze());
            self.pieces.extend(later.pieces);
        }
    }

    /// Writes until all is written or the socket is full.
    fn write(&mut self, socket: &impl AsFd) -> io::Result<()> {
        while !self.is_empty() {
            let mut slices: Vec<_> =
                self.pieces.iter().take(PIECES).map(|piece| IoSlice::new(piece)).collect();
            if self.pieces.len() <= PIECES {
                slices.push(IoSlice::new(&self.tail));
            }
            // No signal where the reader is gone: the embedder may not ignore SIGPIPE.
            match sendmsg(socket, &slices, &mut Default::default(), SendFlags::NOSIGNAL) {
                Ok(written) => self.advance(written),
                Err(rustix::io::Errno::AGAIN) => return Ok(()),
                Err(rustix::io::Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
        }
        Ok(())
    }

    fn advance(&mut self, mut written: usize) {
        while let Some(piece) = self.pieces.front_mut() {
            if piece.len() > written {
                let _ = piece.split_to(written);
                return;
            }
            written -= piece.len();
            self.pieces.pop_front();
        }
        let _ = self.tail.split_to(written);
    }
}

#[cfg(test)]
#[cfg(not(model_check))]
mod tests {
    use super::*;
    use crate::cluster::wire::{FRAME_MAX, Task};
    use std::io::Read;
    use std::os::unix::net::UnixStream;

    #[test]
    fn frames_arrive_whole_and_in_order_through_a_full_socket() {
        let (ours, mut theirs) = UnixStream::pair().unwrap();
        ours.set_nonblocking(true).unwrap();
        let link = Link::new(Arc::new(ours));
        let frame = |task: u64| {
            let payload = Bytes::from(vec![task as u8; (task as usize * 7919) % 100_000]);
            Frame::Task(Task { task, deadline: 0, handler: "echo".into(), payload })
        };
        let frames: Vec<_> = (0..50).map(frame).collect();
        frames.iter().for_each(|frame| {
            link.put(frame);
            link.flush();
        });
        let (mut buf, mut got) = (BytesMut::new(), Vec::new());
        theirs.set_nonblocking(true).unwrap();
        for _ in 0..100_000 {
            let mut chunk = [0; 65536];
            match theirs.read(&mut chunk) {
                Ok(n) => buf.extend_from_slice(&chunk[..n]),
                Err(_) => drop(link.write_on()),
            }
            while let Some(frame) = wire::decode(&mut buf, FRAME_MAX).unwrap() {
                got.push(frame);
            }
            if got.len() == frames.len() {
                break;
            }
        }
        assert_eq!(got, frames);
        assert!(link.write_on());
    }

    #[test]
    fn a_worker_that_is_gone_takes_everything() {
        let (ours, theirs) = UnixStream::pair().unwrap();
        ours.set_nonblocking(true).unwrap();
        drop(theirs);
        let link = Link::new(Arc::new(ours));
        for frame in [Frame::Ask, Frame::Drain] {
            link.put(&frame);
            link.flush();
        }
        assert!(link.write_on());
    }
}
