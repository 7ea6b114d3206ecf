//! From bytes to a message.

use super::{Done, Ended, Frame, HANDLERS_MAX, Hello, Task, Timings, WireError};
use bytes::{Buf, Bytes, BytesMut};
use std::time::Duration;

/// From this length on a payload stays where it was received; a shorter one is copied, so that it
/// does not keep the whole buffer alive.
const STAYS: usize = 16 << 10;

/// Takes the next message from the front of `buf`; `None` while it is not all there. `limit`: the
/// longest frame, its length left out.
///
/// # Errors
/// The bytes are no message. `buf` is of no use then.
pub fn decode(buf: &mut BytesMut, limit: u32) -> Result<Option<Frame>, WireError> {
    let Some(head) = buf.first_chunk::<4>() else { return Ok(None) };
    let size = u32::from_le_bytes(*head);
    if size > limit {
        return Err(WireError::TooLarge { size, limit });
    }
    let size = size as usize;
    if buf.len() - 4 < size {
        return Ok(None);
    }
    buf.advance(4);
    let mut rest = Rest(buf.split_to(size));
    let kind = rest.u8().ok_or(WireError::Malformed { kind: 0 })?;
    let frame = rest.frame(kind)?.ok_or(WireError::Malformed { kind })?;
    // What a kind does not end with a payload has to have been used up.
    if !rest.0.is_empty() {
        return Err(WireError::Malformed { kind });
    }
    Ok(Some(frame))
}

/// What is left of a frame.
struct Rest(BytesMut);

impl Rest {
    fn frame(&mut self, kind: u8) -> Result<Option<Frame>, WireError> {
        Ok(match kind {
            1 => self.setup(),
            2 => self.hello(),
            3 => self.text().map(|why| Frame::Refused { why }),
            4 => self.task(),
            5 => self.done(),
            6 => self.u32().map(|pid| Frame::Accepted { pid }),
            7 => self.u64().map(|task| Frame::Cancel { task }),
            8 => Some(Frame::Recall),
            9 => self.returned(),
            10 => Some(Frame::Ask),
            11 => Some(Frame::Report { json: self.payload() }),
            12 => Some(Frame::Drain),
            13 => Some(Frame::Last),
            _ => return Err(WireError::Unknown { kind }),
        })
    }

    fn setup(&mut self) -> Option<Frame> {
        Some(Frame::Setup { version: self.u16()?, json: self.payload() })
    }

    fn hello(&mut self) -> Option<Frame> {
        let (version, pid) = (self.u16()?, self.u32()?);
        let mut handlers = Vec::new();
        while !self.0.is_empty() && handlers.len() < HANDLERS_MAX {
            handlers.push(self.name()?);
        }
        Some(Frame::Hello(Hello { version, pid, handlers }))
    }

    fn task(&mut self) -> Option<Frame> {
        let (task, deadline) = (self.u64()?, self.u64()?);
        Some(Frame::Task(Task { task, deadline, handler: self.name()?, payload: self.payload() }))
    }

    fn done(&mut self) -> Option<Frame> {
        let task = self.u64()?;
        let timings = Timings {
            received: self.u64()?,
            started: self.u64()?,
            finished: self.u64()?,
            cpu: Duration::from_nanos(self.u64()?),
            gvl_wait: Duration::from_nanos(self.u64()?),
        };
        let ended = match self.u8()? {
            0 => Ended::Ok(self.payload()),
            1 => Ended::Failed(self.text()?),
            2 => Ended::Panicked(self.text()?),
            3 => Ended::Cancelled,
            4 => Ended::TimedOut,
            5 => Ended::TooLarge { size: self.u64()? },
            6 => Ended::NoHandler,
            _ => return None,
        };
        Some(Frame::Done(Done { task, timings, ended }))
    }

    fn returned(&mut self) -> Option<Frame> {
        let mut tasks = Vec::with_capacity(self.0.len() / 8);
        while !self.0.is_empty() {
            tasks.push(self.u64()?);
        }
        Some(Frame::Returned { tasks })
    }

    fn name(&mut self) -> Option<String> {
        let length = usize::from(self.u8().filter(|length| *length > 0)?);
        let name = (self.0.len() >= length).then(|| self.0.split_to(length))?;
        std::str::from_utf8(&name).ok().map(str::to_owned)
    }

    fn text(&mut self) -> Option<String> {
        std::str::from_utf8(&self.payload()).ok().map(str::to_owned)
    }

    /// All that is left.
    fn payload(&mut self) -> Bytes {
        let rest = self.0.split();
        if rest.len() < STAYS { Bytes::copy_from_slice(&rest) } else { rest.freeze() }
    }

    fn u8(&mut self) -> Option<u8> {
        self.0.try_get_u8().ok()
    }

    fn u16(&mut self) -> Option<u16> {
        self.0.try_get_u16_le().ok()
    }

    fn u32(&mut self) -> Option<u32> {
        self.0.try_get_u32_le().ok()
    }

    fn u64(&mut self) -> Option<u64> {
        self.0.try_get_u64_le().ok()
    }
}
