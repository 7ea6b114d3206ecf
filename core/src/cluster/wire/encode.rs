//! From a message to bytes.

use super::{Done, Ended, Frame, Hello, Task, Timings};
use bytes::{BufMut, Bytes, BytesMut};

/// [`Frame::Last`] as it is sent.
pub(in crate::cluster) const LAST: [u8; 5] = [1, 0, 0, 0, 13];

/// Appends the frame to `out`, all but the payload at its end, which is given back: appended next,
/// or written after `out` without a copy.
///
/// # Panics
/// If a handler's name is longer than [`NAME_MAX`](super::NAME_MAX), or the frame longer than its
/// length can say. That names are not empty, handlers not too many and frames not longer than the
/// other side allows is the caller's affair.
#[must_use = "a frame without its payload is none"]
pub fn put(frame: &Frame, out: &mut BytesMut) -> Bytes {
    let start = out.len();
    out.put_u32_le(0);
    out.put_u8(frame.kind());
    let payload = match frame {
        Frame::Setup { version, json } => {
            out.put_u16_le(*version);
            json.clone()
        }
        Frame::Hello(hello) => put_hello(hello, out),
        Frame::Refused { why } => Bytes::copy_from_slice(why.as_bytes()),
        Frame::Task(task) => put_task(task, out),
        Frame::Done(done) => put_done(done, out),
        Frame::Accepted { pid } => {
            out.put_u32_le(*pid);
            Bytes::new()
        }
        Frame::Cancel { task } => {
            out.put_u64_le(*task);
            Bytes::new()
        }
        Frame::Recall | Frame::Ask | Frame::Drain | Frame::Last => Bytes::new(),
        Frame::Returned { tasks } => {
            tasks.iter().for_each(|task| out.put_u64_le(*task));
            Bytes::new()
        }
        Frame::Report { json } => json.clone(),
    };
    let length = out.len() - start - 4 + payload.len();
    let length = u32::try_from(length).expect("payloads are checked against the frame's limit");
    out[start..start + 4].copy_from_slice(&length.to_le_bytes());
    payload
}

fn put_hello(hello: &Hello, out: &mut BytesMut) -> Bytes {
    out.put_u16_le(hello.version);
    out.put_u32_le(hello.pid);
    hello.handlers.iter().for_each(|name| put_name(name, out));
    Bytes::new()
}

fn put_task(task: &Task, out: &mut BytesMut) -> Bytes {
    out.put_u64_le(task.task);
    out.put_u64_le(task.deadline);
    put_name(&task.handler, out);
    task.payload.clone()
}

fn put_done(done: &Done, out: &mut BytesMut) -> Bytes {
    let Timings { received, started, finished, cpu, gvl_wait } = done.timings;
    out.put_u64_le(done.task);
    out.put_u64_le(received);
    out.put_u64_le(started);
    out.put_u64_le(finished);
    out.put_u64_le(crate::clock::nanos(cpu));
    out.put_u64_le(crate::clock::nanos(gvl_wait));
    let text = |text: &str| Bytes::copy_from_slice(text.as_bytes());
    let (ended, payload) = match &done.ended {
        Ended::Ok(bytes) => (0, bytes.clone()),
        Ended::Failed(why) => (1, text(why)),
        Ended::Panicked(message) => (2, text(message)),
        Ended::Cancelled => (3, Bytes::new()),
        Ended::TimedOut => (4, Bytes::new()),
        Ended::TooLarge { size } => (5, Bytes::copy_from_slice(&size.to_le_bytes())),
        Ended::NoHandler => (6, Bytes::new()),
    };
    out.put_u8(ended);
    payload
}

/// A name after its length, which callers check.
fn put_name(name: &str, out: &mut BytesMut) {
    let length = u8::try_from(name.len()).expect("names are checked against their limit");
    out.put_u8(length);
    out.put_slice(name.as_bytes());
}

impl Frame {
    pub(super) fn kind(&self) -> u8 {
        match self {
            Self::Setup { .. } => 1,
            Self::Hello(_) => 2,
            Self::Refused { .. } => 3,
            Self::Task(_) => 4,
            Self::Done(_) => 5,
            Self::Accepted { .. } => 6,
            Self::Cancel { .. } => 7,
            Self::Recall => 8,
            Self::Returned { .. } => 9,
            Self::Ask => 10,
            Self::Report { .. } => 11,
            Self::Drain => 12,
            Self::Last => 13,
        }
    }

    /// What it is, in a word.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Setup { .. } => "Setup",
            Self::Hello(_) => "Hello",
            Self::Refused { .. } => "Refused",
            Self::Task(_) => "Task",
            Self::Done(_) => "Done",
            Self::Accepted { .. } => "Accepted",
            Self::Cancel { .. } => "Cancel",
            Self::Recall => "Recall",
            Self::Returned { .. } => "Returned",
            Self::Ask => "Ask",
            Self::Report { .. } => "Report",
            Self::Drain => "Drain",
            Self::Last => "Last",
        }
    }
}
