//! The layout as `PROTOCOL.md` shows it, and what has to hold for any frame and for any bytes.

use super::*;
use bytes::BytesMut;
use proptest::collection::vec;
use proptest::prelude::*;

/// Each frame once, as the document shows it.
fn golden() -> Vec<(Frame, &'static str)> {
    let timings = Timings {
        received: 1_000_000,
        started: 2_000_000,
        finished: 5_000_000,
        cpu: Duration::from_nanos(1_500_000),
        gvl_wait: Duration::from_nanos(250_000),
    };
    let done = |ended| Frame::Done(Done { task: 7, timings, ended });
    let hello = Hello { version: 1, pid: 4242, handlers: vec!["echo".into(), "fail".into()] };
    let task = Task { task: 7, deadline: 9_000_000, handler: "echo".into(), payload: "hi".into() };
    vec![
        (Frame::Setup { version: 1, json: "{}".into() }, "05000000 01 0100 7b7d"),
        (Frame::Hello(hello), "11000000 02 0100 92100000 04 6563686f 04 6661696c"),
        (Frame::Refused { why: "no".into() }, "03000000 03 6e6f"),
        (Frame::Task(task), "18000000 04 0700000000000000 4054890000000000 04 6563686f 6869"),
        (
            done(Ended::Ok("hi".into())),
            "34000000 05 0700000000000000 40420f0000000000 80841e0000000000 404b4c0000000000 \
             60e3160000000000 90d0030000000000 00 6869",
        ),
        (
            done(Ended::Failed("no".into())),
            "34000000 05 0700000000000000 40420f0000000000 80841e0000000000 404b4c0000000000 \
             60e3160000000000 90d0030000000000 01 6e6f",
        ),
        (
            done(Ended::Panicked("no".into())),
            "34000000 05 0700000000000000 40420f0000000000 80841e0000000000 404b4c0000000000 \
             60e3160000000000 90d0030000000000 02 6e6f",
        ),
        (
            done(Ended::Cancelled),
            "32000000 05 0700000000000000 40420f0000000000 80841e0000000000 404b4c0000000000 \
             60e3160000000000 90d0030000000000 03",
        ),
        (
            done(Ended::TimedOut),
            "32000000 05 0700000000000000 40420f0000000000 80841e0000000000 404b4c0000000000 \
             60e3160000000000 90d0030000000000 04",
        ),
        (
            done(Ended::TooLarge { size: 16_777_216 }),
            "3a000000 05 0700000000000000 40420f0000000000 80841e0000000000 404b4c0000000000 \
             60e3160000000000 90d0030000000000 05 0000000100000000",
        ),
        (
            done(Ended::NoHandler),
            "32000000 05 0700000000000000 40420f0000000000 80841e0000000000 404b4c0000000000 \
             60e3160000000000 90d0030000000000 06",
        ),
        (Frame::Accepted { pid: 4242 }, "05000000 06 92100000"),
        (Frame::Cancel { task: 7 }, "09000000 07 0700000000000000"),
        (Frame::Recall, "01000000 08"),
        (Frame::Returned { tasks: vec![8, 9] }, "11000000 09 0800000000000000 0900000000000000"),
        (Frame::Ask, "01000000 0a"),
        (Frame::Report { json: "{}".into() }, "03000000 0b 7b7d"),
        (Frame::Drain, "01000000 0c"),
        (Frame::Last, "01000000 0d"),
    ]
}

fn encoded(frame: &Frame) -> BytesMut {
    let mut out = BytesMut::new();
    let payload = put(frame, &mut out);
    out.extend_from_slice(&payload);
    out
}

fn hex(text: &str) -> BytesMut {
    let digits: Vec<u8> = text.bytes().filter(u8::is_ascii_hexdigit).collect();
    let byte = |pair: &[u8]| u8::from_str_radix(std::str::from_utf8(pair).unwrap(), 16).unwrap();
    digits.chunks(2).map(byte).collect()
}

/// A frame of that kind and content.
fn of(kind: u8, rest: &[u8]) -> BytesMut {
    let size = (rest.len() as u32 + 1).to_le_bytes();
    BytesMut::from(&[&size[..], &[kind], rest].concat()[..])
}

fn refused(bytes: impl Into<BytesMut>) -> WireError {
    decode(&mut bytes.into(), FRAME_MAX).unwrap_err()
}

/// What a frame holds, in bytes as they are sent.
fn content(frame: &Frame) -> usize {
    match frame {
        Frame::Setup { json, .. } | Frame::Report { json } => json.len(),
        Frame::Hello(hello) => hello.handlers.iter().map(|name| 1 + name.len()).sum(),
        Frame::Refused { why } => why.len(),
        Frame::Task(task) => task.handler.len() + task.payload.len(),
        Frame::Done(done) => match &done.ended {
            Ended::Ok(bytes) => bytes.len(),
            Ended::Failed(text) | Ended::Panicked(text) => text.len(),
            _ => 0,
        },
        Frame::Returned { tasks } => 8 * tasks.len(),
        _ => 0,
    }
}

#[test]
fn frames_look_as_the_document_shows_them() {
    let document: String =
        include_str!("PROTOCOL.md").split_whitespace().collect::<Vec<_>>().join(" ");
    for (frame, bytes) in golden() {
        assert_eq!(encoded(&frame), hex(bytes), "{frame:?}");
        assert_eq!(decode(&mut hex(bytes), FRAME_MAX), Ok(Some(frame)));
        assert!(document.contains(bytes), "the document lacks {bytes}");
    }
}

#[test]
fn the_last_frame_is_known_by_its_bytes() {
    assert_eq!(encoded(&Frame::Last)[..], LAST);
}

#[test]
fn the_document_tells_the_limits() {
    let document = include_str!("PROTOCOL.md");
    for limit in
        [FRAME_MAX as usize, FRAME_MIN as usize, OVERHEAD_MAX as usize, NAME_MAX, HANDLERS_MAX]
    {
        assert!(document.contains(&format!("| {limit} |")), "the document lacks {limit}");
    }
}

/// The document's JSON of that number, as it is read and written again, and as it stands there.
fn documented<T: serde::Serialize + serde::de::DeserializeOwned>(
    number: usize,
) -> [serde_json::Value; 2] {
    let block = include_str!("PROTOCOL.md").split("```json").nth(number).unwrap();
    let json = block.split("```").next().unwrap();
    let read: T = serde_json::from_str(json).unwrap();
    [serde_json::to_value(read).unwrap(), serde_json::from_str(json).unwrap()]
}

#[test]
fn the_documents_json_is_whole() {
    let [read, stands] = documented::<crate::cluster::setup::Setup>(1);
    assert_eq!(read, stands);
    let [read, stands] = documented::<crate::cluster::setup::WorkerReport>(2);
    assert_eq!(read, stands);
}

#[test]
fn a_limit_is_honoured_to_the_byte() {
    let frame = Frame::Report { json: vec![7; 99].into() };
    assert_eq!(decode(&mut encoded(&frame), 100), Ok(Some(frame.clone())));
    let too_large = Err(WireError::TooLarge { size: 100, limit: 99 });
    assert_eq!(decode(&mut encoded(&frame), 99), too_large);
    // By its length alone.
    assert_eq!(decode(&mut encoded(&frame).split_to(4), 99), too_large);
    assert_eq!(decode(&mut BytesMut::from(&[255; 4][..]), u32::MAX), Ok(None));
}

#[test]
fn a_frame_without_a_kind_is_an_error() {
    assert_eq!(refused(&[0; 4][..]), WireError::Malformed { kind: 0 });
}

#[test]
fn unknown_kinds_are_told() {
    for kind in (0..=u8::MAX).filter(|kind| !(1..=13).contains(kind)) {
        assert_eq!(refused(of(kind, &[])), WireError::Unknown { kind });
    }
}

#[test]
fn every_frame_has_to_be_whole_and_no_longer() {
    for (frame, bytes) in golden() {
        let (kind, rest) = (frame.kind(), &hex(bytes)[5..]);
        let ends_with_all_that_is_left = match &frame {
            Frame::Setup { .. } | Frame::Refused { .. } | Frame::Task(_) | Frame::Report { .. } => {
                true
            }
            Frame::Done(done) => {
                matches!(done.ended, Ended::Ok(_) | Ended::Failed(_) | Ended::Panicked(_))
            }
            _ => false,
        };
        if !ends_with_all_that_is_left {
            assert_eq!(refused(of(kind, &[rest, &[9]].concat())), WireError::Malformed { kind });
        }
        for length in 0..rest.len() - content(&frame) {
            let cut = decode(&mut of(kind, &rest[..length]), FRAME_MAX);
            assert_eq!(cut, Err(WireError::Malformed { kind }), "{length} bytes of {frame:?}");
        }
    }
}

#[test]
fn texts_are_utf8() {
    assert_eq!(refused(of(3, &[0xff])), WireError::Malformed { kind: 3 });
    let head = &hex(golden()[4].1)[5..53];
    for ended in [1, 2] {
        let done = of(5, &[head, &[ended, 0xc3, 0x28]].concat());
        assert_eq!(refused(done), WireError::Malformed { kind: 5 });
    }
    assert_eq!(refused(of(2, &[1, 0, 1, 0, 0, 0, 1, 0xff])), WireError::Malformed { kind: 2 });
    assert_eq!(refused(of(5, &[head, &[7]].concat())), WireError::Malformed { kind: 5 });
}

#[test]
fn names_have_a_length_and_a_longest_one() {
    let hello = |handlers| Frame::Hello(Hello { version: 1, pid: 1, handlers });
    let longest = hello(vec!["n".repeat(NAME_MAX)]);
    assert_eq!(decode(&mut encoded(&longest), FRAME_MAX), Ok(Some(longest)));
    let empty = encoded(&hello(vec!["echo".into(), String::new()]));
    assert_eq!(refused(empty), WireError::Malformed { kind: 2 });
    // Longer than the frame.
    assert_eq!(
        refused(of(2, &[1, 0, 1, 0, 0, 0, 3, b'n', b'n'])),
        WireError::Malformed { kind: 2 }
    );
}

#[test]
#[should_panic(expected = "names are checked against their limit")]
fn a_name_that_is_too_long_is_never_sent() {
    let handlers = vec!["n".repeat(NAME_MAX + 1)];
    encoded(&Frame::Hello(Hello { version: 1, pid: 1, handlers }));
}

#[test]
fn handlers_are_counted() {
    let hello = |n| Frame::Hello(Hello { version: 1, pid: 1, handlers: vec!["n".into(); n] });
    let most = hello(HANDLERS_MAX);
    assert_eq!(decode(&mut encoded(&most), FRAME_MIN), Ok(Some(most)));
    assert_eq!(refused(encoded(&hello(HANDLERS_MAX + 1))), WireError::Malformed { kind: 2 });
    let longest = vec!["n".repeat(NAME_MAX); HANDLERS_MAX];
    let longest = encoded(&Frame::Hello(Hello { version: 1, pid: 1, handlers: longest }));
    assert!(longest.len() - 4 <= FRAME_MIN as usize);
}

#[test]
fn a_long_payload_stays_where_it_was_received() {
    for (length, stays) in [(100, false), (64 << 10, true)] {
        let mut buf = encoded(&Frame::Report { json: vec![7; length].into() });
        let at = buf.as_ptr() as usize + 5;
        let Ok(Some(Frame::Report { json })) = decode(&mut buf, FRAME_MAX) else { panic!() };
        assert_eq!((json.len(), json.as_ptr() as usize == at), (length, stays));
    }
}

fn text() -> impl Strategy<Value = String> {
    ".{0,40}"
}

fn name() -> impl Strategy<Value = String> {
    prop_oneof!["[a-z]{1,9}", Just("n".repeat(NAME_MAX)), "\\PC{1,20}"]
}

fn payload() -> impl Strategy<Value = Bytes> {
    prop_oneof![vec(any::<u8>(), 0..80), vec(any::<u8>(), (16 << 10) - 1..(16 << 10) + 2)]
        .prop_map(Bytes::from)
}

fn ended() -> impl Strategy<Value = Ended> {
    prop_oneof![
        payload().prop_map(Ended::Ok),
        text().prop_map(Ended::Failed),
        text().prop_map(Ended::Panicked),
        Just(Ended::Cancelled),
        Just(Ended::TimedOut),
        any::<u64>().prop_map(|size| Ended::TooLarge { size }),
        Just(Ended::NoHandler),
    ]
}

fn done() -> impl Strategy<Value = Done> {
    (any::<[u64; 6]>(), ended()).prop_map(
        |([task, received, started, finished, cpu, wait], ended)| {
            let (cpu, gvl_wait) = (Duration::from_nanos(cpu), Duration::from_nanos(wait));
            Done { task, timings: Timings { received, started, finished, cpu, gvl_wait }, ended }
        },
    )
}

fn frame() -> impl Strategy<Value = Frame> {
    let hello = (any::<u16>(), any::<u32>(), vec(name(), 0..6))
        .prop_map(|(version, pid, handlers)| Hello { version, pid, handlers });
    let task = (any::<u64>(), any::<u64>(), name(), payload())
        .prop_map(|(task, deadline, handler, payload)| Task { task, deadline, handler, payload });
    prop_oneof![
        (any::<u16>(), payload()).prop_map(|(version, json)| Frame::Setup { version, json }),
        hello.prop_map(Frame::Hello),
        text().prop_map(|why| Frame::Refused { why }),
        task.prop_map(Frame::Task),
        done().prop_map(Frame::Done),
        any::<u32>().prop_map(|pid| Frame::Accepted { pid }),
        any::<u64>().prop_map(|task| Frame::Cancel { task }),
        Just(Frame::Recall),
        vec(any::<u64>(), 0..20).prop_map(|tasks| Frame::Returned { tasks }),
        Just(Frame::Ask),
        payload().prop_map(|json| Frame::Report { json }),
        Just(Frame::Drain),
    ]
}

/// Bytes that are frames by their heads, so that what is in them is looked at.
fn likely() -> impl Strategy<Value = Vec<u8>> {
    let one = (0..14_u8, vec(any::<u8>(), 0..80), -2..3_i32).prop_map(|(kind, rest, off)| {
        let size = (rest.len() as i32 + 1 + off).max(0) as u32;
        [&size.to_le_bytes()[..], &[kind], &rest].concat()
    });
    vec(one, 0..5).prop_map(|frames| frames.concat())
}

/// Receives `bytes` in pieces and decodes what is there; what holds for any bytes is checked.
fn receive(bytes: &[u8], cuts: &[usize], limit: u32) -> (Vec<Frame>, Option<WireError>) {
    let (mut buf, mut frames, mut rest) = (BytesMut::new(), Vec::new(), bytes);
    let mut cuts = cuts.iter().cycle();
    while !rest.is_empty() {
        let cut = cuts.next().map_or(rest.len(), |cut| (cut % 97 + 1).min(rest.len()));
        buf.extend_from_slice(&rest[..cut]);
        rest = &rest[cut..];
        loop {
            let (length, capacity) = (buf.len(), buf.capacity());
            match decode(&mut buf, limit) {
                Ok(Some(frame)) => {
                    let taken = length - buf.len();
                    assert!((5..=limit as usize + 4).contains(&taken), "{taken} bytes: {frame:?}");
                    assert!(content(&frame) < taken, "{frame:?} from {taken} bytes");
                    frames.push(frame);
                }
                Ok(None) => {
                    assert_eq!((buf.len(), buf.capacity()), (length, capacity));
                    assert!(length < limit as usize + 4, "{length} bytes are no frame");
                    break;
                }
                Err(error) => return (frames, Some(error)),
            }
        }
    }
    (frames, None)
}

proptest! {
    #[test]
    fn any_frames_arrive_however_they_are_cut(
        frames in vec(frame(), 1..5),
        cuts in vec(any::<usize>(), 1..20),
    ) {
        let mut bytes = BytesMut::new();
        for frame in &frames {
            let payload = put(frame, &mut bytes);
            bytes.extend_from_slice(&payload);
        }
        prop_assert_eq!(receive(&bytes, &cuts, FRAME_MAX), (frames.clone(), None));
        prop_assert_eq!(receive(&bytes, &[], FRAME_MAX), (frames, None));
    }

    #[test]
    fn a_cut_frame_waits_for_its_rest(frame in frame(), at in any::<prop::sample::Index>()) {
        let mut buf = encoded(&frame);
        let rest = buf.split_off(at.index(buf.len()));
        prop_assert_eq!(decode(&mut buf, FRAME_MAX), Ok(None));
        buf.extend_from_slice(&rest);
        prop_assert_eq!(decode(&mut buf, FRAME_MAX), Ok(Some(frame)));
        prop_assert!(buf.is_empty());
    }

    #[test]
    fn any_bytes_are_frames_or_an_error(
        bytes in prop_oneof![vec(any::<u8>(), 0..300), likely()],
        cuts in vec(any::<usize>(), 1..20),
        limit in prop_oneof![0..200_u32, Just(u32::MAX)],
    ) {
        let (frames, error) = receive(&bytes, &cuts, limit);
        // How they were cut decides nothing.
        prop_assert_eq!(receive(&bytes, &[], limit), (frames.clone(), error));
        // What was understood is what was said.
        let again: Vec<u8> = frames.iter().flat_map(encoded).collect();
        prop_assert!(bytes.starts_with(&again));
    }

    #[test]
    fn a_limit_is_exact(frame in frame(), less in 1..4_u32) {
        let size = encoded(&frame).len() as u32 - 4;
        prop_assert_eq!(decode(&mut encoded(&frame), size), Ok(Some(frame.clone())));
        let limit = size.saturating_sub(less);
        let too_large = Err(WireError::TooLarge { size, limit });
        prop_assert_eq!(decode(&mut encoded(&frame), limit), too_large);
    }
}
