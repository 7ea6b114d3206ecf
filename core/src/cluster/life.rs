//! One worker process from its start to its end: what it says is read until it is gone.

use super::desk::{Desk, Station};
use super::dispatch::WorkerId;
use super::keeper::Keeper;
use super::launch::Process;
use super::link::Link;
use super::wire::{self, Frame, WireError};
use crate::executor::Exit;
use bytes::BytesMut;
use std::io;
use std::rc::Rc;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::net::UnixStream;
use tokio::sync::Notify;

/// How much is read at once.
const CHUNK: usize = 64 << 10;

/// The most that a frame's length makes room for before it is there.
const ROOM_MAX: usize = 1 << 20;

/// The most that is read before others have a turn.
const TURN: usize = 4 << 20;

/// How long one end of a worker may outlive the other: its socket, its process.
const ODD: Duration = Duration::from_secs(1);

/// A worker that serves.
pub(super) struct Life {
    pub(super) id: WorkerId,
    pub(super) pid: u32,
    pub(super) since: Instant,
    process: Process,
    socket: Arc<UnixStream>,
    link: Arc<Link>,
    kill: Arc<Notify>,
    buf: BytesMut,
}

/// How a worker ended.
#[derive(Debug, Clone, Copy)]
pub(super) struct Gone {
    /// It said before that it would.
    pub(super) announced: bool,
}

impl Life {
    /// Starts a worker and waits until it serves.
    ///
    /// # Errors
    /// Why it does not.
    pub(super) async fn begin(keeper: &Rc<Keeper>, number: u32) -> Result<Self, String> {
        use std::os::fd::AsFd;
        let began = Instant::now();
        let listener = keeper.listener.as_ref().map(|listener| listener.as_fd());
        let launched = tokio::time::timeout(keeper.boot_max, async {
            let mut pad = keeper.pad.lock().await;
            let pad = pad.as_mut().ok_or("the cluster stops".to_owned())?;
            let launched = pad.launch(number, listener).await.map_err(|error| error.to_string());
            let template = pad.template();
            keeper.shared.look(|desk| desk.template = template);
            launched
        });
        let launched = launched.await.unwrap_or_else(|_| {
            Err(format!("the application was not loaded within {:?}", keeper.boot_max))
        });
        let (mut process, socket) = launched?;
        let socket = socket.set_nonblocking(true).and_then(|()| UnixStream::from_std(socket));
        let socket = Arc::new(socket.map_err(|error| error.to_string())?);
        let mut buf = BytesMut::new();
        let hello =
            tokio::time::timeout(keeper.boot_max, hello(&socket, &mut buf, keeper.frame_max));
        let hello = match hello.await {
            Ok(Ok(hello)) => hello,
            Ok(Err(Silent::Said(why))) => {
                process.kill();
                process.exited().await;
                return Err(why);
            }
            Ok(Err(Silent::Gone)) => {
                let exit = ended(&mut process).await;
                return Err(format!(
                    "worker process {} ended with {exit} before it said that it serves; is \
                     gvl_lab::init(...) the first line of its main?",
                    process.pid()
                ));
            }
            Err(_) => {
                process.kill();
                process.exited().await;
                return Err(format!(
                    "worker process {} did not say within {:?} that it serves",
                    process.pid(),
                    keeper.boot_max
                ));
            }
        };
        let pid = process.pid();
        tracing::info!(
            target: "gvl_lab::cluster", number, pid, boot = ?began.elapsed(), "worker serves"
        );
        let id = WorkerId(keeper.next.get());
        keeper.next.set(id.0 + 1);
        let link = Arc::new(Link::new(Arc::clone(&socket)));
        let life = Self {
            id,
            pid,
            since: Instant::now(),
            process,
            socket,
            link,
            kill: Arc::default(),
            buf,
        };
        keeper.shared.change(|desk, acts| {
            desk.handlers.get_or_insert_default().extend(hello.handlers);
            let station = Station::new(number, pid, &life.link, &life.kill);
            desk.open(id, keeper.slots, station, acts);
        });
        keeper.shared.tell();
        Ok(life)
    }

    /// Reads what the worker says until it is gone, and tells the desk.
    pub(super) async fn run(mut self, keeper: Rc<Keeper>) -> Gone {
        let mut exit = None;
        let mut announced = false;
        let link = Arc::clone(&self.link);
        let socket = Arc::clone(&self.socket);
        let kill = Arc::clone(&self.kill);
        let write_on = async {
            loop {
                link.left.notified().await;
                while socket.writable().await.is_ok() && !link.write_on() {
                    // The readiness was used up by hand.
                    let _ = socket.try_io(tokio::io::Interest::WRITABLE, || {
                        Err::<(), _>(io::ErrorKind::WouldBlock.into())
                    });
                }
            }
        };
        tokio::pin!(write_on);
        loop {
            tokio::select! {
                biased;
                () = kill.notified() => self.process.kill(),
                read = self.socket.readable() => {
                    let heard = read.and_then(|()| self.hear(&keeper));
                    match heard {
                        Ok(Heard::Frames { drains, .. }) => announced |= drains,
                        Ok(Heard::End) => break,
                        Err(error) => {
                            tracing::error!(
                                target: "gvl_lab::cluster", pid = self.pid, %error, "worker is killed"
                            );
                            self.process.kill();
                            break;
                        }
                    }
                }
                ended = self.process.exited(), if exit.is_none() => {
                    exit = Some(ended);
                    // What it had written is there. The end need not be: a process that it started
                    // may have its socket.
                    while let Ok(Heard::Frames { drains, more }) = self.hear(&keeper) {
                        announced |= drains;
                        if !more {
                            break;
                        }
                    }
                    break;
                }
                () = &mut write_on => unreachable!("it writes for ever"),
            }
        }
        let exit = match exit {
            Some(exit) => exit,
            None => ended(&mut self.process).await,
        };
        let (id, pid) = (self.id, self.pid);
        let draining = keeper.shared.look(|desk| desk.is_draining(id));
        tracing::info!(target: "gvl_lab::cluster", pid, %exit, draining, "worker is gone");
        keeper.shared.change(|desk, acts| desk.gone(id, exit, announced, acts));
        keeper.shared.tell();
        Gone { announced }
    }

    /// Obeys what was read, then reads and obeys what is there. Called at once after the hello, whose
    /// reading left the socket readable.
    fn hear(&mut self, keeper: &Keeper) -> io::Result<Heard> {
        // With its hello a worker may have said more.
        let mut drains = self.obey(keeper).map_err(io::Error::other)?;
        let mut turn = 0;
        let mut more = true;
        while more && turn < TURN {
            make_room(&mut self.buf, keeper.frame_max);
            match self.socket.try_read_buf(&mut self.buf) {
                Ok(0) => return Ok(Heard::End),
                Ok(n) => turn += n,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => more = false,
                // A process that was killed with bytes unread resets its socket.
                Err(error) if error.kind() == io::ErrorKind::ConnectionReset => {
                    return Ok(Heard::End);
                }
                Err(error) => return Err(error),
            }
            drains |= self.obey(keeper).map_err(io::Error::other)?;
        }
        Ok(Heard::Frames { drains, more })
    }

    /// Obeys the frames that are there; whether the worker says that it ends.
    fn obey(&mut self, keeper: &Keeper) -> Result<bool, WireError> {
        let mut done = Vec::new();
        let mut rest = Vec::new();
        let end = loop {
            match wire::decode(&mut self.buf, keeper.frame_max) {
                Ok(Some(Frame::Done(one))) => done.push(one),
                Ok(Some(other)) => rest.push(other),
                Ok(None) => break Ok(()),
                // What came before it counts.
                Err(error) => break Err(error),
            }
        };
        let id = self.id;
        if !done.is_empty() {
            keeper.shared.change(|desk, acts| desk.done(id, done, acts));
        }
        let mut drains = false;
        for frame in rest {
            match frame {
                Frame::Returned { tasks } => {
                    let asked = |desk: &mut Desk, acts: &mut _| desk.returned(id, &tasks, acts);
                    if !keeper.shared.change(asked) {
                        return Err(WireError::Unexpected { frame: "Returned" });
                    }
                }
                Frame::Report { json } => {
                    let report = serde_json::from_slice(&json);
                    keeper.shared.look(|desk| desk.reported(id, report.ok()));
                    keeper.shared.tell();
                }
                Frame::Drain => {
                    drains = true;
                    keeper.shared.change(|desk, acts| desk.close(id, acts));
                }
                other => {
                    return Err(WireError::Unexpected { frame: other.name() });
                }
            }
        }
        end.map(|()| drains)
    }

    /// A way to kill the worker while it runs.
    pub(super) fn killer(&self) -> Arc<Notify> {
        Arc::clone(&self.kill)
    }
}

enum Heard {
    Frames {
        /// The worker was told to end.
        drains: bool,
        /// There may be more now.
        more: bool,
    },
    End,
}

/// Why a process does not serve.
enum Silent {
    Said(String),
    Gone,
}

async fn hello(
    socket: &UnixStream,
    buf: &mut BytesMut,
    frame_max: u32,
) -> Result<wire::Hello, Silent> {
    loop {
        match wire::decode(buf, frame_max) {
            Ok(Some(Frame::Hello(hello))) if hello.version == wire::VERSION => return Ok(hello),
            Ok(Some(Frame::Hello(hello))) => {
                return Err(Silent::Said(format!(
                    "the worker speaks version {} of the protocol, and the master {}",
                    hello.version,
                    wire::VERSION
                )));
            }
            Ok(Some(Frame::Refused { why })) => return Err(Silent::Said(why)),
            Ok(Some(frame)) => {
                return Err(Silent::Said(format!("the worker said {} first", frame.name())));
            }
            Ok(None) => {}
            Err(error) => {
                return Err(Silent::Said(format!(
                    "the worker does not speak the protocol: {error}"
                )));
            }
        }
        make_room(buf, frame_max);
        if socket.readable().await.is_err() {
            return Err(Silent::Gone);
        }
        match socket.try_read_buf(buf) {
            Ok(0) => return Err(Silent::Gone),
            Ok(_) => {}
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
            Err(_) => return Err(Silent::Gone),
        }
    }
}

/// Makes room for the next bytes: a chunk, or what the next frame still lacks.
pub(super) fn make_room(buf: &mut BytesMut, frame_max: u32) {
    let size = buf.first_chunk().map_or(0, |head| u32::from_le_bytes(*head).min(frame_max));
    let lacks = (size as usize + 4).saturating_sub(buf.len());
    buf.reserve(lacks.clamp(CHUNK, ROOM_MAX));
}

/// Waits for the end of a process that has closed its socket; not for long.
async fn ended(process: &mut Process) -> Exit {
    if let Ok(exit) = tokio::time::timeout(ODD, process.exited()).await {
        return exit;
    }
    process.kill();
    process.exited().await
}
