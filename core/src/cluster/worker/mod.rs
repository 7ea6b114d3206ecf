//! A worker's side: the first line of `main`, the setup, and the serving of tasks.
//!
//! `boot` reads what the master says first and loads the application; `serve` reads tasks and gives
//! them to a pool of threads or an event loop (`crew`), or accepts connections (`accept`). Invariant:
//! each task that was read is answered once, or given back and never begun.

mod accept;
mod boot;
mod connection;
mod crew;
mod job;
mod reading;
mod serve;
mod signals;

pub(super) use boot::{WHY_MAX, load_app, read_setup, receive};
pub(super) use serve::serve;

use super::app::App;
use super::launch::template;
use rustix::io::fcntl_dupfd_cloexec;
use std::os::unix::net::UnixStream;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

/// Names what a process was started for.
pub(super) const ROLE: &str = "GVL_LAB_WORKER";

/// The role of a worker.
pub(super) const WORKER: &str = "worker";

/// The role of a template.
pub(super) const TEMPLATE: &str = "template";

/// Whether [`init`] was called in a process that is no worker.
static IS_MASTER: AtomicBool = AtomicBool::new(false);

/// Makes this program one that can be a worker: see [`gvl_lab::init`](crate::init), which adds the
/// real engine's own handlers.
pub fn init(load: impl FnOnce(&mut App) -> Result<(), Box<dyn std::error::Error>>) {
    let Ok(role) = std::env::var(ROLE) else {
        IS_MASTER.store(true, Relaxed);
        return;
    };
    // SAFETY: this is the first line of main: no other thread reads the environment.
    unsafe { std::env::remove_var(ROLE) };
    let socket = take_stdin().unwrap_or_else(|error| {
        eprintln!("gvl_lab: {ROLE}={role} is set, and standard input is no socket: {error}");
        std::process::exit(2)
    });
    match role.as_str() {
        WORKER => boot::run(socket, load),
        TEMPLATE => template::run(socket, load),
        _ => {
            eprintln!("gvl_lab: {ROLE}={role}, expected {WORKER} or {TEMPLATE}");
            std::process::exit(2)
        }
    }
}

/// Whether this program can be started again as a worker.
pub(super) fn is_initialised() -> bool {
    IS_MASTER.load(Relaxed)
}

/// Whether this process was started as a worker, and is about to be a master instead.
pub(super) fn is_stray_worker() -> bool {
    std::env::var_os(ROLE).is_some()
}

/// The socket that is standard input, which is empty from now on.
fn take_stdin() -> std::io::Result<UnixStream> {
    let socket = fcntl_dupfd_cloexec(std::io::stdin(), 3)?;
    rustix::net::sockopt::socket_domain(&socket)?;
    let null = std::fs::File::open("/dev/null")?;
    rustix::stdio::dup2_stdin(&null)?;
    Ok(UnixStream::from(socket))
}
