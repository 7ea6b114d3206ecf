//! The main thread of a worker: reads what the master says, and obeys.

use super::accept;
use super::boot::refuse;
use super::crew::Crew;
use super::job::Out;
use super::reading::Reading;
use super::signals;
use crate::cluster::app::App;
use crate::cluster::link::Link;
use crate::cluster::setup::Setup;
use crate::cluster::wire::{Frame, HANDLERS_MAX, Hello, VERSION};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::sync::Arc;

/// Serves until the master says that it is enough, or is gone; ends the process.
pub fn serve(socket: UnixStream, setup: Setup, app: App, listener: Option<OwnedFd>) -> ! {
    let socket = Arc::new(socket);
    let out = Arc::new(Link::new(Arc::clone(&socket)));
    let told = Arc::clone(&out);
    let name = format!("w{} signals", setup.number);
    if let Err(error) = signals::listen(&name, move || say(&told, &Frame::Drain)) {
        refuse(&socket, error.to_string());
    }
    name_thread(&format!("w{} main", setup.number));
    let ready = Crew::start(&setup, app).map_err(|error| error.to_string());
    let ready = ready.and_then(|crew| {
        let crew = Arc::new(crew);
        let door = match (setup.accept, listener) {
            (Some(accept), Some(listener)) => {
                Some(accept::open(&crew, &setup, accept, listener).map_err(|e| e.to_string())?)
            }
            (Some(_), None) => return Err("a worker that accepts got no socket".to_owned()),
            (None, _) => None,
        };
        Ok((crew, door))
    });
    let (crew, door) = ready.unwrap_or_else(|why| refuse(&socket, why));
    let handlers = crew.handlers();
    if handlers.len() > HANDLERS_MAX {
        let count = handlers.len();
        refuse(
            &socket,
            format!("{count} handlers are not allowed, expected at most {HANDLERS_MAX}"),
        );
    }
    let hello = Hello { version: VERSION, pid: std::process::id(), handlers };
    say(&out, &Frame::Hello(hello));
    let mut reading = Reading::new(setup.frame_max);
    loop {
        match reading.next() {
            Ok(Some(frame)) => obey(&crew, &out, door.as_ref(), frame),
            Ok(None) => match reading.read(&socket) {
                Ok(true) => {}
                // The master is gone: nobody wants what runs.
                Ok(false) | Err(_) => exit(3),
            },
            Err(error) => {
                eprintln!("gvl_lab: worker {}: {error}", setup.number);
                exit(4)
            }
        }
    }
}

fn obey(crew: &Arc<Crew>, out: &Arc<Out>, door: Option<&Arc<accept::Door>>, frame: Frame) {
    match frame {
        Frame::Task(task) => {
            let job = crew.begin(&task, out);
            crew.run(task, job, Heard(Arc::clone(out)));
        }
        Frame::Cancel { task } => crew.jobs.cancel(task),
        Frame::Recall => {
            // Connections stay where they were accepted.
            let tasks = if door.is_some() { Vec::new() } else { crew.jobs.recall() };
            say(out, &Frame::Returned { tasks });
        }
        Frame::Ask => {
            say(out, &Frame::Report { json: crew.report() });
        }
        Frame::Drain => {
            let out = Arc::clone(out);
            let exit = move || {
                // Answers that another thread is about to write go first.
                out.finish();
                exit(0)
            };
            match door {
                Some(door) => door.close(exit),
                None => crew.jobs.drain(|| true, exit),
            }
        }
        // Whatever else a later version says.
        _ => {}
    }
}

/// Dropped after an answer: where the master cannot be told, this process is of no use.
struct Heard(Arc<Out>);

impl Drop for Heard {
    fn drop(&mut self) {
        if self.0.is_dead() {
            exit(3)
        }
    }
}

fn say(out: &Out, frame: &Frame) {
    out.put(frame);
    out.flush();
}

/// Names the calling thread, as far as the system shows it.
fn name_thread(name: &str) {
    let name = std::ffi::CString::new(name).expect("no zero in a number");
    // A name that is refused is no loss.
    let _ = rustix::thread::set_name(&name);
}

/// Ends the process at once: threads that compute are not waited for, nothing is unwound.
pub(super) fn exit(status: i32) -> ! {
    // SAFETY: ends the process; nothing of it is used afterwards.
    unsafe { libc::_exit(status) }
}
