//! The other side of the socket where workers accept: a connection for each task, or a kept one.
//!
//! Run by the cluster's thread. A connection waits in the listening socket's backlog until a worker
//! takes it; who that is, the worker says. Where a task's worker is lost, its connection ends, and
//! the worker's own life says how it ended.

use super::life::make_room;
use super::shared::Shared;
use super::wire::{self, Frame};
use crate::executor::TaskError;
use bytes::BytesMut;
use rustix::net::{AddressFamily, SocketAddrUnix, SocketFlags, SocketType, connect, socket_with};
use rustix::process::{Resource, getrlimit};
use std::collections::HashMap;
use std::io;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;
use tokio::io::AsyncWriteExt;
use tokio::net::UnixStream;
use tokio::sync::{Mutex, Notify, Semaphore, mpsc};
use tokio::task::JoinSet;

/// Where the workers listen: a name that no file has.
pub(super) type Address = Vec<u8>;

/// How soon a connection that found the backlog full is tried again.
const AGAIN: Duration = Duration::from_millis(1);

/// Up to this length a payload is copied, and sent together with what stands around it.
const SHORT: usize = 16 << 10;

/// How long the loss of a worker may take to be known after its connection ended.
const ODD: Duration = Duration::from_secs(2);

/// Connections at once, if the system allows so many descriptors.
const CONNECTIONS_MAX: u64 = 16_384;

/// The kept connections, by their key: each is used by one task after the other.
type Kept = Rc<std::cell::RefCell<HashMap<u64, Rc<Mutex<Option<Connection>>>>>>;

struct Connection {
    socket: UnixStream,
    buf: BytesMut,
}

/// A task on its way to whoever accepts it.
struct Request<'r> {
    shared: &'r Shared,
    task: u64,
    /// The worker that has begun it, on the connection of this attempt.
    begun: Option<u32>,
    /// Nothing more is sent on that connection: who accepts it does not begin.
    is_closed: bool,
}

/// Sends tasks until the master drops their sender.
pub(super) async fn run(
    shared: Arc<Shared>,
    mut tasks: mpsc::UnboundedReceiver<u64>,
    address: Address,
    frame_max: u32,
) {
    let kept = Kept::default();
    let permits = Arc::new(Semaphore::new(connections_max()));
    let mut requests = JoinSet::new();
    loop {
        tokio::select! {
            task = tasks.recv() => {
                let Some(task) = task else { return };
                let (shared, kept) = (Arc::clone(&shared), Rc::clone(&kept));
                let (address, permits) = (address.clone(), Arc::clone(&permits));
                requests.spawn_local(async move {
                    let _permit = permits.acquire().await;
                    request(&shared, task, &address, frame_max, &kept).await;
                });
            }
            Some(_) = requests.join_next() => {}
        }
    }
}

/// Half of the descriptors that are left to this process, at most.
fn connections_max() -> usize {
    let limit = getrlimit(Resource::Nofile).current.unwrap_or(CONNECTIONS_MAX * 2);
    (limit / 2).clamp(16, CONNECTIONS_MAX) as usize
}

async fn request(shared: &Shared, task: u64, address: &[u8], frame_max: u32, kept: &Kept) {
    let key = shared.look(|desk| desk.connection(task));
    let place = match key {
        Some(key) => Rc::clone(kept.borrow_mut().entry(key).or_default()),
        None => Rc::default(),
    };
    let mut place = place.lock().await;
    loop {
        let outgoing = shared.change(|desk, acts| desk.outgoing(task, acts));
        let Some((frame, settled)) = outgoing else { return };
        let was_kept = place.is_some();
        let mut request = Request { shared, task, begun: None, is_closed: false };
        let last = key.is_none();
        let answered =
            request.attempt(&frame, last, &settled, address, frame_max, &mut place).await;
        let is_answered = matches!(answered, Ok(true));
        if !is_answered || request.is_closed {
            *place = None;
        }
        if is_answered {
            if let Some(key) = key.filter(|key| shared.has_parted(*key)) {
                *place = None;
                kept.borrow_mut().remove(&key);
            }
            return;
        }
        // One that nobody has begun is sent again. Otherwise its worker's end is the task's.
        if !request.is_decided().await {
            let gone = TaskError::Failed("the worker closed the connection of a task".to_owned());
            shared.change(|desk, acts| desk.abandon(task, gone, acts));
            return;
        }
        if !was_kept {
            tokio::time::sleep(AGAIN).await;
        }
    }
}

impl Request<'_> {
    /// Sends the task, the last one over its connection or not, and waits for its end; whether there was
    /// an answer.
    async fn attempt(
        &mut self,
        frame: &Frame,
        last: bool,
        settled: &Notify,
        address: &[u8],
        frame_max: u32,
        place: &mut Option<Connection>,
    ) -> io::Result<bool> {
        let connection = match place {
            Some(connection) => connection,
            None => place.insert(Connection::open(address).await?),
        };
        connection.send(frame, last).await?;
        let mut forsaken = false;
        loop {
            while let Some(frame) =
                wire::decode(&mut connection.buf, frame_max).map_err(io::Error::other)?
            {
                if self.hear(frame)? {
                    return Ok(true);
                }
            }
            make_room(&mut connection.buf, frame_max);
            if !forsaken {
                tokio::select! {
                    read = connection.socket.readable() => read?,
                    () = settled.notified() => {
                        if self.shared.look(|desk| desk.is_forsaken(self.task)) {
                            // What the worker wrote before its end is there, or never will be.
                            forsaken = true;
                        } else if self.begun.is_some() && !self.is_closed {
                            connection.send(&Frame::Cancel { task: self.task }, false).await?;
                            continue;
                        } else {
                            // Whoever has begun it says so: the desk then tells that worker.
                            let _ = connection.socket.shutdown().await;
                            self.is_closed = true;
                        }
                    }
                }
            }
            match connection.socket.try_read_buf(&mut connection.buf) {
                Ok(0) => return Ok(false),
                Ok(_) => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock && !forsaken => {}
                Err(error) => return Err(error),
            }
        }
    }

    /// Obeys what a worker says; whether it is the answer.
    fn hear(&mut self, frame: Frame) -> io::Result<bool> {
        match (frame, self.begun) {
            (Frame::Accepted { pid }, None) => {
                self.begun = Some(pid);
                self.shared.change(|desk, acts| desk.accepted(self.task, pid, acts));
                Ok(false)
            }
            (Frame::Done(done), Some(pid)) if done.task == self.task => {
                self.shared.change(|desk, acts| desk.answered(done, pid, acts));
                Ok(true)
            }
            (other, _) => {
                let odd = wire::WireError::Unexpected { frame: other.name() };
                Err(io::Error::other(odd))
            }
        }
    }

    /// Waits until it is decided what becomes of a task whose connection ended: whether that came.
    async fn is_decided(&self) -> bool {
        let Some(pid) = self.begun else { return true };
        let until = tokio::time::Instant::now() + ODD;
        while !self.shared.change(|desk, acts| desk.hung_up(self.task, pid, acts)) {
            if tokio::time::Instant::now() >= until {
                return false;
            }
            tokio::time::sleep(AGAIN).await;
        }
        true
    }
}

impl Connection {
    async fn open(address: &[u8]) -> io::Result<Self> {
        let address = SocketAddrUnix::new_abstract_name(address)?;
        let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
        let socket = socket_with(AddressFamily::UNIX, SocketType::STREAM, flags, None)?;
        while let Err(error) = connect(&socket, &address) {
            // The backlog is full.
            if error != rustix::io::Errno::AGAIN {
                return Err(error.into());
            }
            tokio::time::sleep(AGAIN).await;
        }
        let socket = UnixStream::from_std(socket.into())?;
        Ok(Self { socket, buf: BytesMut::new() })
    }

    /// Sends a frame, and that it is the last task; at once where it is short, so that who reads the one
    /// knows the other.
    async fn send(&mut self, frame: &Frame, last: bool) -> io::Result<()> {
        let mut out = BytesMut::new();
        let payload = wire::put(frame, &mut out);
        if payload.len() <= SHORT {
            out.extend_from_slice(&payload);
        } else {
            self.socket.write_all(&out).await?;
            self.socket.write_all(&payload).await?;
            out.clear();
        }
        if last {
            out.extend_from_slice(&wire::LAST);
        }
        self.socket.write_all(&out).await
    }
}
