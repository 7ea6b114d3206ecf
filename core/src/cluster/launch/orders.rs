//! What a master and its template say to each other on the template's standard input, after the
//! setup: JSON after its length, four bytes little endian.
//!
//! ```text
//! template                  master
//! "Ready"              ->             or {"Refused": {"why": "..."}}, and it ends
//!                      <-   "Fork"    with the worker's socket as its descriptor
//! {"Forked": {"pid"}}  ->             with the worker's pidfd, or {"Failed": {"why": "..."}}
//! {"Exited": {...}}    ->             when a worker has ended, after its Forked
//! ```
//!
//! Answers come in the order of the orders. Pure: no socket here.

use bytes::{Buf, BytesMut};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use std::io;

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
    /// A worker, as ordered. Its pidfd comes with this: a number alone may be another process's by
    /// the time it is read.
    Forked { pid: u32 },
    /// None, and why.
    Failed { why: String },
    /// A worker has ended, and is reaped; neither status nor signal where nobody knows how.
    Exited { pid: u32, status: Option<i32>, signal: Option<i32> },
}

/// The longest order or answer.
pub(super) const ORDER_MAX: usize = 64 << 10;

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
