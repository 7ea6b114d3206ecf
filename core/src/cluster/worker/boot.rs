//! From the start of a worker's process to the point where it serves.

use super::serve;
use crate::cluster::app::App;
use crate::cluster::setup::Setup;
use crate::cluster::wire::{self, Frame, VERSION};
use bytes::BytesMut;
use rustix::net::{RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, recvmsg};
use std::any::Any;
use std::io::{self, IoSliceMut, Write};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// Boots, serves, and ends the process.
pub(super) fn run(
    socket: UnixStream,
    load: impl FnOnce(&mut App) -> Result<(), Box<dyn std::error::Error>>,
) -> ! {
    let ready = read_setup(&socket).and_then(|(setup, listener)| {
        let app = load_app(load, &setup.app)?;
        Ok((setup, app, listener))
    });
    match ready {
        Ok((setup, app, listener)) => serve(socket, setup, app, listener),
        Err(why) => refuse(&socket, why),
    }
}

/// The longest reason that is told, in characters.
pub const WHY_MAX: usize = 8 << 10;

/// Tells the master why there is no worker here, and ends the process.
pub(super) fn refuse(mut socket: &UnixStream, why: String) -> ! {
    let why = why.chars().take(WHY_MAX).collect();
    let mut out = BytesMut::new();
    let text = wire::put(&Frame::Refused { why }, &mut out);
    out.extend_from_slice(&text);
    // A master that is gone does not hear it.
    let _ = socket.write_all(&out);
    std::process::exit(1)
}

/// Loads the application.
///
/// # Errors
/// It says why it does not want to be loaded, or panics.
pub fn load_app(
    load: impl FnOnce(&mut App) -> Result<(), Box<dyn std::error::Error>>,
    setup: &str,
) -> Result<App, String> {
    let mut app = App::new(setup.to_owned());
    let loaded = catch_unwind(AssertUnwindSafe(|| load(&mut app)));
    match loaded {
        Ok(Ok(())) => Ok(app),
        Ok(Err(error)) => Err(format!("the application was not loaded: {error}")),
        Err(payload) => {
            Err(format!("the application panicked as it was loaded: {}", text(&*payload)))
        }
    }
}

/// What a panic said.
pub(super) fn text(payload: &(dyn Any + Send)) -> String {
    match crate::executor::TaskError::of_panic(payload) {
        crate::executor::TaskError::Panicked(message) => message,
        other => other.to_string(),
    }
}

/// Reads the setup, the first that a master says, and the listening socket that may come with it.
///
/// # Errors
/// The master says something else, speaks another version, or is gone.
pub fn read_setup(socket: &UnixStream) -> Result<(Setup, Option<OwnedFd>), String> {
    let mut buf = BytesMut::new();
    let mut listener = None;
    // One byte after the other would do, too: nothing but the setup may be taken here.
    while buf.len() < 4 || buf.len() < 4 + length(&buf) {
        let lacks = if buf.len() < 4 { 4 } else { 4 + length(&buf) } - buf.len();
        if lacks > wire::FRAME_MAX as usize {
            return Err(format!("a setup of {lacks} bytes"));
        }
        let mut chunk = vec![0; lacks];
        let n = receive(socket, &mut chunk, &mut listener).map_err(|error| error.to_string())?;
        if n == 0 {
            return Err("the master said nothing".to_owned());
        }
        buf.extend_from_slice(&chunk[..n]);
    }
    match wire::decode(&mut buf, wire::FRAME_MAX) {
        Ok(Some(Frame::Setup { version: VERSION, json })) => {
            let setup = serde_json::from_slice(&json).map_err(|error| format!("setup: {error}"))?;
            Ok((setup, listener))
        }
        Ok(Some(Frame::Setup { version, .. })) => Err(format!(
            "the master speaks version {version} of the protocol, and the worker {VERSION}"
        )),
        Ok(Some(frame)) => Err(format!("the master said {} first", frame.name())),
        Ok(None) => unreachable!("the frame was read to its end"),
        Err(error) => Err(format!("the master does not speak the protocol: {error}")),
    }
}

fn length(buf: &BytesMut) -> usize {
    buf.first_chunk().map_or(0, |head| u32::from_le_bytes(*head) as usize)
}

/// Receives bytes, and a descriptor where one comes with them.
pub fn receive(
    socket: impl AsFd,
    chunk: &mut [u8],
    descriptor: &mut Option<OwnedFd>,
) -> io::Result<usize> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut ancillary = RecvAncillaryBuffer::new(&mut space);
    let flags = RecvFlags::CMSG_CLOEXEC;
    let received = loop {
        match recvmsg(&socket, &mut [IoSliceMut::new(chunk)], &mut ancillary, flags) {
            Err(rustix::io::Errno::INTR) => {}
            other => break other?,
        }
    };
    for message in ancillary.drain() {
        if let RecvAncillaryMessage::ScmRights(descriptors) = message {
            *descriptor = descriptors.last().or(descriptor.take());
        }
    }
    Ok(received.bytes)
}
