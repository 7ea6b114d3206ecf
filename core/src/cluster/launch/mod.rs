//! How a worker process comes to be: this program again, another one, or a fork of a template that
//! has loaded the application.
//!
//! Called by the cluster's thread alone, which lives as long as the workers: the system ends a
//! worker when the thread that started it ends. No signal handler and no wait for just any child:
//! embedders have children of their own.

mod forked;
mod launcher;
mod orders;
mod process;
mod socket;
mod start;
pub(super) mod template;
#[cfg(test)]
#[cfg(not(model_check))]
mod tests;
mod threads;
mod title;

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
use std::time::Duration;

/// Starts the workers of one cluster.
pub(super) struct Launchpad {
    launcher: Launcher,
    setup: Setup,
    /// There once a worker was forked, where the launcher preloads.
    template: Option<Template>,
    /// The one before, whose workers are about to be replaced: they go when it goes.
    retired: Option<Template>,
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
        Self { launcher: launcher.settled(), setup, template: None, retired: None }
    }

    /// Starts worker `number`: its setup is in its socket, with `listener` where it is to accept
    /// connections. With preload the template is started first, if there is none. Dropped on the
    /// way, it leaves no worker behind, and a template that loads goes on.
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
            self.fork().await?
        } else {
            let title = title::of_worker(number, &self.setup.name);
            start::start(&self.launcher, worker::WORKER, &title)?
        };
        let frame = frame(&setup);
        let sends = socket::send(&socket, &frame, listener);
        match tokio::time::timeout(UNREAD_MAX, sends).await {
            Ok(Ok(())) => {}
            // It has ended, and its exit says more.
            Ok(Err(error)) if error.kind() == io::ErrorKind::BrokenPipe => {}
            Ok(Err(error)) => return Err(error),
            Err(_) => return Err(io::Error::other("the worker does not read its setup")),
        }
        Ok((process, socket.into_std()?))
    }

    /// Forks a worker from the template, which is started where there is none.
    async fn fork(&mut self) -> io::Result<(Process, tokio::net::UnixStream)> {
        if self.template.as_ref().is_some_and(|template| !template.is_gone())
            && let Some(forked) = self.fork_from_template().await?
        {
            return Ok(forked);
        }
        // The last one is reaped before there is another.
        self.template = None;
        self.template = Some(Template::start(&self.launcher, &self.setup)?);
        let forked = self.fork_from_template().await?;
        forked.ok_or_else(|| io::Error::other("the template went as soon as it was there"))
    }

    /// None where the template went before anybody saw it.
    async fn fork_from_template(
        &mut self,
    ) -> io::Result<Option<(Process, tokio::net::UnixStream)>> {
        let template = self.template.as_mut().expect("it was looked at, or just started");
        if let Err(error) = template.loaded().await {
            self.template = None;
            return Err(error);
        }
        template.fork().await
    }

    /// The template's process, where there is one.
    pub(super) fn template(&self) -> Option<u32> {
        self.template.as_ref().filter(|template| !template.is_gone()).map(Template::pid)
    }

    /// Lets the next worker be forked from a new template, which loads the application anew;
    /// the workers of the present one go on.
    pub(super) async fn renew(&mut self) {
        if let Some(template) = self.template.take() {
            self.retire(true).await;
            self.retired = Some(template);
        }
    }

    /// Ends the template before the present one, where every worker was replaced; else takes it back
    /// where there is none.
    pub(super) async fn retire(&mut self, every_worker_was_replaced: bool) {
        if every_worker_was_replaced {
            if let Some(template) = self.retired.take() {
                template.end().await;
            }
        } else if self.template.as_ref().is_none_or(Template::is_gone) {
            self.template = self.retired.take();
        }
    }

    /// Ends the templates, and waits for them.
    pub(super) async fn end(mut self) {
        self.retire(true).await;
        if let Some(template) = self.template {
            template.end().await;
        }
    }
}

/// How long a process may leave its setup unread, where that is too long for the socket.
const UNREAD_MAX: Duration = Duration::from_secs(10);

/// The bytes of the first frame that a process gets.
fn frame(setup: &Setup) -> Vec<u8> {
    let json = serde_json::to_vec(setup).expect("a setup is plain data").into();
    let mut out = bytes::BytesMut::new();
    let json = wire::put(&Frame::Setup { version: VERSION, json }, &mut out);
    [&out[..], &json].concat()
}
