//! The other side of the socket where workers accept: a connection for each task, or a kept one.
//!
//! Run by the cluster's thread. A connection waits in the listening socket's backlog until a worker
//! takes it; who that is, the worker says. Where a task's worker is lost, its connection ends, and
//! the worker's own life says how it ended.

use super::desk::Acts;
use super::life::make_room;
use super::shared::Shared;
use super::wire::{self, Frame};
use crate::executor::{Exit, TaskError};
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
use tokio::sync::{Mutex, Semaphore, mpsc};
use tokio::task::JoinSet;

/// Where the workers listen: a name that no file has.
pub(super) type Address = Vec<u8>;

/// How soon a connection that found the backlog full is tried again.
const AGAIN: Duration = Duration::from_millis(1);

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

/// What became of a request.
enum Met {
    Answered,
    /// The connection ended, before a worker had accepted it or after.
    Ended,
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
    loop {
        let outgoing = shared.look(|desk| desk.outgoing(task));
        let Some((frame, key, settled)) = outgoing else { return };
        let place = match key {
            Some(key) => Rc::clone(kept.borrow_mut().entry(key).or_default()),
            None => Rc::default(),
        };
        let mut place = place.lock().await;
        let was_kept = place.is_some();
        let met = meet(shared, task, &frame, &settled, address, frame_max, &mut place).await;
        match met {
            Ok(Met::Answered) => {
                if key.is_none() {
                    *place = None;
                }
                return;
            }
            Ok(Met::Ended) | Err(_) => {
                *place = None;
                // A kept connection may end at any time between requests; one that was in the
                // backlog was never begun. Otherwise the worker's loss ends the task.
                if !settles(shared, task).await {
                    let gone = "the worker closed the connection of a task".to_owned();
                    shared.end_task(task, TaskError::Failed(gone));
                    return;
                }
                if !was_kept {
                    tokio::time::sleep(AGAIN).await;
                }
            }
        }
    }
}

/// Waits until a task whose connection ended is no worker's: its worker was lost, and the task has
/// ended or may run again. Whether that came.
async fn settles(shared: &Shared, task: u64) -> bool {
    let until = tokio::time::Instant::now() + ODD;
    while shared.look(|desk| desk.has_begun(task)) {
        if tokio::time::Instant::now() >= until {
            return false;
        }
        tokio::time::sleep(AGAIN).await;
    }
    true
}

/// Notes that the worker `pid` has begun the task; a worker that nobody knows yet is about to say
/// hello. Whether it is known: one that never is was lost before, with the task.
async fn is_known(shared: &Shared, task: u64, pid: u32) -> bool {
    let until = tokio::time::Instant::now() + ODD;
    while !shared.change(|desk, acts| desk.accepted(task, pid, acts)) {
        if tokio::time::Instant::now() >= until {
            let exit = Exit::Unknown;
            shared.end_task(task, TaskError::WorkerLost { pid, exit });
            return false;
        }
        tokio::time::sleep(AGAIN).await;
    }
    true
}

/// Sends the task and waits for its end.
async fn meet(
    shared: &Shared,
    task: u64,
    frame: &Frame,
    settled: &tokio::sync::Notify,
    address: &[u8],
    frame_max: u32,
    place: &mut Option<Connection>,
) -> io::Result<Met> {
    let connection = match place {
        Some(connection) => connection,
        None => place.insert(Connection::open(address).await?),
    };
    connection.send(frame).await?;
    let (mut accepted, mut told) = (None, false);
    loop {
        while let Some(frame) =
            wire::decode(&mut connection.buf, frame_max).map_err(io::Error::other)?
        {
            match frame {
                Frame::Accepted { pid } => {
                    accepted = Some(pid);
                    if !is_known(shared, task, pid).await {
                        return Ok(Met::Ended);
                    }
                }
                Frame::Done(done) if done.task == task => {
                    let pid = accepted.unwrap_or(0);
                    shared.change(|desk, acts: &mut Acts| desk.answered(done, pid, acts));
                    return Ok(Met::Answered);
                }
                other => {
                    let odd = wire::WireError::Unexpected { frame: other.name() };
                    return Err(io::Error::other(odd));
                }
            }
        }
        make_room(&mut connection.buf, frame_max);
        tokio::select! {
            read = connection.socket.readable() => read?,
            () = settled.notified(), if !told => {
                told = true;
                if accepted.is_none() {
                    // Nobody has begun it.
                    return Ok(Met::Ended);
                }
                connection.send(&Frame::Cancel { task }).await?;
                continue;
            }
        }
        match connection.socket.try_read_buf(&mut connection.buf) {
            Ok(0) => return Ok(Met::Ended),
            Ok(_) => {}
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
            Err(error) => return Err(error),
        }
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

    async fn send(&mut self, frame: &Frame) -> io::Result<()> {
        let mut out = BytesMut::new();
        let payload = wire::put(frame, &mut out);
        self.socket.write_all(&out).await?;
        self.socket.write_all(&payload).await
    }
}
