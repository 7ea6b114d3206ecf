//! The decoder of frames: any bytes, received in any pieces.
//!
//! The first two bytes say the limit and the pieces, the rest is the stream. No panic and no hang;
//! each frame takes bytes, and is encoded to the same; nothing is allocated while a frame is not
//! whole, and little more than it has when it is; the pieces decide nothing.

#![no_main]

use bytes::BytesMut;
use gvl_lab::cluster::wire::{self, FRAME_MAX, Frame, WireError};
use libfuzzer_sys::fuzz_target;
use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

/// Counts what is allocated.
struct Counting;

#[global_allocator]
static COUNTING: Counting = Counting;

thread_local! {
    static ALLOCATED: Cell<usize> = const { Cell::new(0) };
}

// SAFETY: the system's allocator does all of it; a cell without a destructor counts.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ALLOCATED.set(ALLOCATED.get() + layout.size());
        // SAFETY: the caller's promises are passed on.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
        // SAFETY: as above.
        unsafe { System.dealloc(at, layout) }
    }
}

/// What decoding a frame of `size` bytes may allocate: its content, a vector that doubles of names
/// with a byte or two each, and what parts of a buffer share.
fn allowed(size: usize) -> usize {
    32 * size + 256
}

fuzz_target!(|input: &[u8]| {
    let [limit, pieces, stream @ ..] = input else { return };
    let limit = match limit {
        0 => FRAME_MAX,
        1 => u32::MAX,
        few => u32::from(*few) * 16,
    };
    let whole = receive(stream, limit, |_| stream.len().max(1));
    let cut = receive(stream, limit, |at| 1 + (at * 31 + usize::from(*pieces)) % 127);
    assert_eq!(cut, whole);
    let again: Vec<u8> = whole.0.iter().flat_map(encoded).collect();
    assert!(stream.starts_with(&again), "a frame is encoded to something else");
});

fn receive(
    stream: &[u8],
    limit: u32,
    piece: impl Fn(usize) -> usize,
) -> (Vec<Frame>, Option<WireError>) {
    let (mut buf, mut frames, mut at) = (BytesMut::new(), Vec::new(), 0);
    while at < stream.len() {
        let end = stream.len().min(at + piece(at));
        buf.extend_from_slice(&stream[at..end]);
        at = end;
        loop {
            let length = buf.len();
            let before = ALLOCATED.get();
            let decoded = wire::decode(&mut buf, limit);
            let allocated = ALLOCATED.get() - before;
            let taken = length - buf.len();
            match decoded {
                Ok(Some(frame)) => {
                    assert!((5..=limit as usize + 4).contains(&taken), "{taken} bytes");
                    assert!(allocated <= allowed(taken), "{allocated} bytes for {taken}");
                    frames.push(frame);
                }
                Ok(None) => {
                    assert_eq!((taken, allocated), (0, 0));
                    break;
                }
                Err(error) => {
                    assert!(allocated <= allowed(taken), "{allocated} bytes for {taken}");
                    return (frames, Some(error));
                }
            }
        }
    }
    (frames, None)
}

fn encoded(frame: &Frame) -> Vec<u8> {
    let mut out = BytesMut::new();
    let payload = wire::put(frame, &mut out);
    [&out[..], &payload].concat()
}
