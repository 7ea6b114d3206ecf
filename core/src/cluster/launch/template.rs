//! The template: a process of one thread that has loaded the application, and forks workers.
//!
//! Called by `worker::init`; ends when its master does, and its workers with it. Invariant: this
//! process never has a second thread, since a fork of a process with threads may hold locks that
//! nobody releases.

use super::orders::{ORDER_MAX, Order, Told, put, take};
use super::process::exit_of;
use super::socket::send_some;
use super::{threads, title};
use crate::cluster::app::App;
use crate::cluster::worker::{WHY_MAX, load_app, read_setup, receive, serve};
use crate::executor::Exit;
use bytes::BytesMut;
use rustix::event::{PollFd, PollFlags, poll};
use rustix::process::{
    Pid, PidfdFlags, Signal, WaitId, WaitIdOptions, getpid, getppid, pidfd_open,
    set_parent_process_death_signal, waitid,
};
use std::io::{self, Write};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;

/// A worker that was forked and is not reaped.
struct Forked {
    pid: Pid,
    handle: OwnedFd,
}

/// What a fork returns.
enum Side {
    Template,
    /// The child, with its socket.
    Worker(OwnedFd),
}

/// Loads the application and forks workers until the master is gone.
pub(in super::super) fn run(
    control: UnixStream,
    load: impl FnOnce(&mut App) -> Result<(), Box<dyn std::error::Error>>,
) -> ! {
    // A terminal gives the first to everyone in front of it, and whoever stops a service the second
    // to all of its processes: the master decides what that means, and its end ends this one.
    // SAFETY: ignoring a signal runs no code of ours in a handler.
    unsafe {
        libc::signal(libc::SIGINT, libc::SIG_IGN);
        libc::signal(libc::SIGTERM, libc::SIG_IGN);
    }
    let app = match read_setup(&control).and_then(|(setup, _)| load_alone(load, &setup.app)) {
        Ok(app) => app,
        Err(why) => {
            let why = why.chars().take(WHY_MAX).collect();
            tell(&control, &Told::Refused { why }, None);
            std::process::exit(1)
        }
    };
    tell(&control, &Told::Ready, None);
    let template = getpid();
    let socket = fork_until_told(control);
    be_a_worker(socket, app, template)
}

/// Loads the application, which may start no thread.
fn load_alone(
    load: impl FnOnce(&mut App) -> Result<(), Box<dyn std::error::Error>>,
    setup: &str,
) -> Result<App, String> {
    let app = load_app(load, setup)?;
    let others = threads::others().map_err(|error| format!("its threads: {error}"))?;
    if others.is_empty() {
        return Ok(app);
    }
    Err(format!(
        "the application has {} thread{} of its own after it was loaded ({}): a process with \
         threads is never forked; start them in the handlers, or do not preload",
        others.len(),
        if others.len() == 1 { "" } else { "s" },
        others.join(", ")
    ))
}

/// Forks workers as the master orders, and reaps them. Returns in each of them, with its socket;
/// all that was the template's is closed there.
fn fork_until_told(control: UnixStream) -> OwnedFd {
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
                if let Side::Worker(socket) = fork(&control, &mut workers, socket) {
                    return socket;
                }
            }
            Some((Order::Fork, None)) => fail(&control, "no socket came with the order"),
            // The master is gone: the workers go with this process.
            None => std::process::exit(0),
        }
    }
}

fn fork(control: &UnixStream, workers: &mut Vec<Forked>, socket: OwnedFd) -> Side {
    // What is buffered would be written twice.
    let _ = io::stdout().flush();
    // SAFETY: this process has one thread, which was looked at when the application was loaded, and
    // starts none itself: the child may do whatever it could.
    let pid = match unsafe { libc::fork() } {
        0 => return Side::Worker(socket),
        pid => Pid::from_raw(pid).filter(|_| pid > 0),
    };
    let Some(pid) = pid else {
        fail(control, &io::Error::last_os_error().to_string());
        return Side::Template;
    };
    match pidfd_open(pid, PidfdFlags::empty()) {
        Ok(handle) => {
            tell(control, &Told::Forked { pid: number(pid) }, Some(handle.as_fd()));
            workers.push(Forked { pid, handle });
        }
        Err(error) => {
            let _ = rustix::process::kill_process(pid, Signal::KILL);
            let _ = waitid(WaitId::Pid(pid), WaitIdOptions::EXITED);
            fail(control, &error.to_string());
        }
    }
    Side::Template
}

/// In the child: serves, and never returns.
fn be_a_worker(socket: OwnedFd, app: App, template: Pid) -> ! {
    let dies = set_parent_process_death_signal(Some(Signal::KILL));
    if dies.is_err() || getppid() != Some(template) {
        std::process::exit(3);
    }
    let socket = UnixStream::from(socket);
    match read_setup(&socket) {
        Ok((setup, listener)) => {
            title::replace(&title::of_worker(setup.number, &setup.name));
            serve(socket, setup, app, listener)
        }
        // The master is gone.
        Err(_) => std::process::exit(3),
    }
}

/// Reaps a worker that has ended, and tells how; whether it had.
fn reap(control: &UnixStream, worker: &Forked) -> bool {
    let options = WaitIdOptions::EXITED | WaitIdOptions::NOHANG;
    let exit = match waitid(WaitId::PidFd(worker.handle.as_fd()), options) {
        Ok(None) | Err(rustix::io::Errno::INTR) => return false,
        Ok(Some(status)) => exit_of(&status),
        Err(_) => Exit::Unknown,
    };
    let (status, signal) = match exit {
        Exit::Status(status) => (Some(status), None),
        Exit::Signal(signal) => (None, Some(signal)),
        Exit::Unknown => (None, None),
    };
    tell(control, &Told::Exited { pid: number(worker.pid), status, signal }, None);
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
        // No byte of the next order, whose descriptor would come with it.
        let lacks = buf.first_chunk().map_or(4, |head| 4 + u32::from_le_bytes(*head) as usize);
        let mut chunk = vec![0; lacks.min(ORDER_MAX) - buf.len()];
        let n = receive(control, &mut chunk, &mut descriptor).ok().filter(|n| *n > 0)?;
        buf.extend_from_slice(&chunk[..n]);
    }
}

fn fail(control: &UnixStream, why: &str) {
    tell(control, &Told::Failed { why: why.to_owned() }, None);
}

fn tell(control: &UnixStream, told: &Told, mut descriptor: Option<BorrowedFd<'_>>) {
    let mut rest = &put(told)[..];
    while !rest.is_empty() {
        match send_some(control, rest, descriptor.take()) {
            Ok(sent) => rest = &rest[sent..],
            // A master that is gone hears nothing; the next order is none then.
            Err(_) => return,
        }
    }
}

fn number(pid: Pid) -> u32 {
    pid.as_raw_nonzero().get().cast_unsigned()
}
