//! How a worker process comes to be: this program again, another one, or a fork of a template that
//! has loaded the application.
//!
//! Called by the cluster's thread alone, which lives as long as the workers: the system ends a
//! worker when the thread that started it ends. No signal handler and no wait for just any child:
//! embedders have children of their own.

mod forked;
mod launcher;
mod process;
mod start;
pub(super) mod template;

pub use launcher::Launcher;
pub(super) use process::Process;

use super::setup::Setup;
use super::wire::{self, Frame, VERSION};
use super::worker;
use crate::error::Error;
use forked::Template;
use std::io;
use std::os::fd::BorrowedFd;
use std::os::unix::net::UnixStream;

/// Starts the workers of one cluster.
pub(super) struct Launchpad {
    launcher: Launcher,
    setup: Setup,
    /// There once a worker was forked, where the launcher preloads.
    template: Option<Template>,
}

impl Launchpad {
    /// Checks that the launcher can be used.
    ///
    /// # Errors
    /// This program is to be a worker, and cannot; a setup that does not fit into a frame.
    pub(super) fn check(launcher: &Launcher, setup: &Setup) -> Result<(), Error> {
        const EXPECTED: &str = "gvl_lab::init(...) as the first line of main";
        if worker::is_stray_worker() {
            return Err(Error::failed(
                "workers",
                "a worker process is about to start its own",
                EXPECTED,
            ));
        }
        if launcher.is_this_program() && !worker::is_initialised() {
            let why = "this program cannot be started as a worker";
            return Err(Error::failed("workers", why, EXPECTED));
        }
        let length = setup.app.len();
        let most = (wire::FRAME_MAX / 2) as usize;
        if length > most {
            let expected = format!("at most {most} bytes");
            return Err(Error::invalid("app", format!("{length} bytes"), expected));
        }
        Ok(())
    }

    /// A launchpad that starts nothing yet.
    pub(super) fn new(launcher: Launcher, setup: Setup) -> Self {
        Self { launcher, setup, template: None }
    }

    /// Starts worker `number`: its setup is in its socket, with `listener` where it is to accept
    /// connections. With preload the template is started first, if there is none.
    ///
    /// # Errors
    /// The program cannot be started, or the template does not load the application.
    pub(super) async fn launch(
        &mut self,
        number: u32,
        listener: Option<BorrowedFd<'_>>,
    ) -> io::Result<(Process, UnixStream)> {
        let setup = Setup { number, ..self.setup.clone() };
        let (process, socket) = if self.launcher.is_preloading() {
            if self.template.as_ref().is_none_or(Template::is_gone) {
                self.template = Some(Template::start(&self.launcher, &setup).await?);
            }
            let template = self.template.as_mut().expect("it was just started");
            template.fork().await?
        } else {
            let title = format!("worker {number} of {}", self.setup.name);
            start::start(&self.launcher, worker::WORKER, &title)?
        };
        start::send(&socket, &frame(&setup), listener)?;
        Ok((process, socket))
    }

    /// The template's process, where there is one.
    pub(super) fn template(&self) -> Option<u32> {
        self.template.as_ref().filter(|template| !template.is_gone()).map(Template::pid)
    }

    /// Ends the template, and waits for it.
    pub(super) async fn end(self) {
        if let Some(template) = self.template {
            template.end().await;
        }
    }
}

/// The bytes of the first frame that a process gets.
fn frame(setup: &Setup) -> Vec<u8> {
    let json = serde_json::to_vec(setup).expect("a setup is plain data").into();
    let mut out = bytes::BytesMut::new();
    let json = wire::put(&Frame::Setup { version: VERSION, json }, &mut out);
    [&out[..], &json].concat()
}
