//! What the system takes for the bytes alone: a socket pair, and this program again, which sends
//! back what it reads.

use super::measure::{LARGE, Measure, SMALL, rate, round_trip};
use std::io::{ErrorKind, Read, Write};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::process::{Command, Stdio};
use std::thread;

/// Tells the child what to do, and how much it reads before it answers.
const ROLE: &str = "GVL_LAB_BENCH_ECHO";

const TRIPS: usize = 10_000;
const LARGE_TRIPS: usize = 500;

/// Sends back what comes in messages of the size that the parent told, and ends this process with
/// the parent's end of the socket; returns in a process that was told nothing.
pub fn echo_if_told() {
    let Ok(size) = std::env::var(ROLE) else { return };
    let mut message = vec![0; size.parse().expect("the parent says a number")];
    let input = std::io::stdin();
    let socket = rustix::io::dup(&input).expect("the parent gives a socket");
    let mut socket = UnixStream::from(socket);
    loop {
        match socket.read_exact(&mut message) {
            Ok(()) => socket.write_all(&message).expect("the parent reads"),
            Err(error) if error.kind() == ErrorKind::UnexpectedEof => std::process::exit(0),
            Err(error) => panic!("the parent cannot be heard: {error}"),
        }
    }
}

/// With nobody to submit to there is nothing to submit one by one.
pub fn measure(measure: Measure) -> Option<f64> {
    let trip = |socket: &mut UnixStream, message: &mut [u8]| {
        socket.write_all(message).expect("the child reads");
        socket.read_exact(message).expect("the child answers");
    };
    Some(match measure {
        Measure::OneByOne => return None,
        Measure::RoundTrip => with_child(SMALL, |socket| {
            let mut message = [7; SMALL];
            round_trip(TRIPS, || trip(socket, &mut message))
        }),
        Measure::Large => with_child(LARGE, |socket| {
            let mut message = vec![7; LARGE];
            (0..LARGE_TRIPS / 10).for_each(|_| trip(socket, &mut message));
            rate(LARGE_TRIPS, |trips| (0..trips).for_each(|_| trip(socket, &mut message)))
        }),
        Measure::LargeAhead => with_child(LARGE, |socket| {
            let mut writer = socket.try_clone().expect("the system gives a descriptor");
            rate(LARGE_TRIPS, |trips| {
                thread::scope(|scope| {
                    scope.spawn(move || {
                        let message = vec![7; LARGE];
                        for _ in 0..trips {
                            writer.write_all(&message).expect("the child reads");
                        }
                    });
                    let mut message = vec![0; LARGE];
                    for _ in 0..trips {
                        socket.read_exact(&mut message).expect("the child answers");
                    }
                });
            })
        }),
    })
}

fn with_child<R>(size: usize, run: impl FnOnce(&mut UnixStream) -> R) -> R {
    let (mut ours, theirs) = UnixStream::pair().expect("the system gives a socket pair");
    let program = std::env::current_exe().expect("the system knows this program");
    let mut child = Command::new(program)
        .env(ROLE, size.to_string())
        .stdin(Stdio::from(OwnedFd::from(theirs)))
        .spawn()
        .expect("this program runs again");
    let result = run(&mut ours);
    drop(ours);
    assert!(child.wait().expect("the child ends").success());
    result
}
