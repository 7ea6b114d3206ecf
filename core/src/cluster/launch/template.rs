//! The template: a process of one thread that has loaded the application, and forks workers.
//!
//! Orders and answers are JSON after a length of four bytes, little endian; the descriptor of a
//! worker's socket comes with its order. Invariant: this process never has a second thread, since a
//! fork of a process with threads may hold locks that nobody releases.

use crate::cluster::app::App;
use crate::cluster::worker::{load_app, read_setup, receive, serve};
use bytes::{Buf, BytesMut};
use rustix::event::{PollFd, PollFlags, poll};
use rustix::process::{
    Pid, PidfdFlags, Signal, WaitIdOptions, WaitIdStatus, getpid, getppid, pidfd_open,
    set_parent_process_death_signal, waitid,
};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use std::io::{self, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;

/// What the master orders.
#[derive(Debug, Serialize, Deserialize)]
pub(super) enum Order {
    /// A worker, whose socket comes with this.
    Fork,
}

/// What the template tells.
#[derive(Debug, Serialize, Deserialize)]
pub(super) enum Told {
    /// It has loaded the application.
    Ready,
    /// It has not, and ends.
    Refused { why: String },
    /// A worker, as ordered.
    Forked { pid: u32 },
    /// None, and why.
    Failed { why: String },
    /// A worker has ended.
    Exited { pid: u32, status: Option<i32>, signal: Option<i32> },
}

/// A worker that was forked and is not reaped.
struct Forked {
    pid: Pid,
    handle: OwnedFd,
}

/// Loads the application and forks workers until the master is gone.
pub(in super::super) fn run(
    control: UnixStream,
    load: impl FnOnce(&mut App) -> Result<(), Box<dyn std::error::Error>>,
) -> ! {
    let loaded = read_setup(&control).and_then(|(setup, _)| {
        let app = load_app(load, &setup.app)?;
        match threads() {
            1 => Ok(app),
            n => Err(format!(
                "the application has {} threads of its own after it was loaded: a process with \
                 threads is never forked; start them in the handlers, or do not preload",
                n.saturating_sub(1)
            )),
        }
    });
    let mut app = match loaded {
        Ok(app) => Some(app),
        Err(why) => {
            tell(&control, &Told::Refused { why });
            std::process::exit(1)
        }
    };
    tell(&control, &Told::Ready);
    let mut workers: Vec<Forked> = Vec::new();
    loop {
        let mut all = vec![PollFd::new(&control, PollFlags::IN)];
        all.extend(workers.iter().map(|worker| PollFd::new(&worker.handle, PollFlags::IN)));
        // Interrupted or not: everything is looked at.
        let _ = poll(&mut all, None);
        let ready: Vec<bool> = all.iter().map(|fd| !fd.revents().is_empty()).collect();
        drop(all);
        let mut ended = ready[1..].iter();
        workers.retain(|worker| {
            let ended = *ended.next().expect("each worker was looked at");
            !(ended && reap(&control, worker))
        });
        if !ready[0] {
            continue;
        }
        match order(&control) {
            Some((Order::Fork, Some(socket))) => {
                // What is buffered would be written twice.
                let _ = io::stdout().flush();
                let template = getpid();
                // SAFETY: this process has one thread, which was looked at when the application was
                // loaded, and starts none itself: the child may do whatever it could.
                match unsafe { libc::fork() } {
                    0 => {
                        drop(control);
                        drop(workers);
                        be_a_worker(socket, app.take().expect("each child has its own"), template)
                    }
                    pid => forked(&control, &mut workers, pid),
                }
            }
            Some((Order::Fork, None)) => {
                tell(&control, &Told::Failed { why: "no socket came with the order".to_owned() });
            }
            // The master is gone: the workers go with this process.
            None => std::process::exit(0),
        }
    }
}

fn forked(control: &UnixStream, workers: &mut Vec<Forked>, pid: i32) {
    let Some(pid) = Pid::from_raw(pid).filter(|_| pid > 0) else {
        tell(control, &Told::Failed { why: io::Error::last_os_error().to_string() });
        return;
    };
    match pidfd_open(pid, PidfdFlags::empty()) {
        Ok(handle) => {
            workers.push(Forked { pid, handle });
            tell(control, &Told::Forked { pid: pid.as_raw_nonzero().get() as u32 });
        }
        Err(error) => {
            let _ = rustix::process::kill_process(pid, Signal::KILL);
            let _ = rustix::process::waitpid(Some(pid), rustix::process::WaitOptions::empty());
            tell(control, &Told::Failed { why: error.to_string() });
        }
    }
}

/// In the child: serves, and never returns.
fn be_a_worker(socket: OwnedFd, app: App, template: Pid) -> ! {
    let dies = set_parent_process_death_signal(Some(Signal::KILL));
    if dies.is_err() || getppid() != Some(template) {
        std::process::exit(3);
    }
    let socket = UnixStream::from(socket);
    match read_setup(&socket) {
        Ok((setup, listener)) => serve(socket, setup, app, listener),
        // The master is gone.
        Err(_) => std::process::exit(3),
    }
}

/// Reaps a worker that has ended, and tells how; whether it had.
fn reap(control: &UnixStream, worker: &Forked) -> bool {
    let options = WaitIdOptions::EXITED | WaitIdOptions::NOHANG;
    let waited = waitid(rustix::process::WaitId::PidFd(worker.handle.as_fd()), options);
    let status: Option<WaitIdStatus> = match waited {
        Ok(None) => return false,
        Ok(status) => status,
        Err(rustix::io::Errno::INTR) => return false,
        Err(_) => None,
    };
    let signal = status.as_ref().and_then(WaitIdStatus::terminating_signal);
    let status = status.as_ref().and_then(WaitIdStatus::exit_status);
    let pid = worker.pid.as_raw_nonzero().get() as u32;
    tell(control, &Told::Exited { pid, status, signal });
    true
}

/// The next order and the descriptor that came with it; none where the master is gone.
fn order(control: &UnixStream) -> Option<(Order, Option<OwnedFd>)> {
    let mut buf = BytesMut::new();
    let mut descriptor = None;
    loop {
        if let Some(order) = take(&mut buf) {
            return Some((order.ok()?, descriptor));
        }
        let lacks = buf.first_chunk().map_or(4, |head| 4 + u32::from_le_bytes(*head) as usize);
        let mut chunk = vec![0; lacks.min(ORDER_MAX) - buf.len()];
        let n = receive(control, &mut chunk, &mut descriptor).ok().filter(|n| *n > 0)?;
        buf.extend_from_slice(&chunk[..n]);
    }
}

/// The longest order or answer.
const ORDER_MAX: usize = 64 << 10;

fn tell(mut control: &UnixStream, told: &Told) {
    // A master that is gone hears nothing; the next order is none then.
    let _ = control.write_all(&put(told));
}

/// The bytes of an order or an answer.
pub(super) fn put(what: &impl Serialize) -> Vec<u8> {
    let json = serde_json::to_vec(what).expect("plain data");
    let length = u32::try_from(json.len()).expect("it is short");
    [&length.to_le_bytes()[..], &json].concat()
}

/// Takes the next order or answer from the front of `buf`, if it is all there.
pub(super) fn take<T: DeserializeOwned>(buf: &mut BytesMut) -> Option<Result<T, io::Error>> {
    let size = u32::from_le_bytes(*buf.first_chunk::<4>()?) as usize;
    if size > ORDER_MAX {
        return Some(Err(io::ErrorKind::InvalidData.into()));
    }
    if buf.len() < 4 + size {
        return None;
    }
    buf.advance(4);
    let json = buf.split_to(size);
    Some(serde_json::from_slice(&json).map_err(io::Error::from))
}

/// How many threads this process has.
fn threads() -> usize {
    std::fs::read_dir("/proc/self/task").map_or(usize::MAX, Iterator::count)
}
