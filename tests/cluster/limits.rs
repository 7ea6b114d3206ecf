//! How long payloads and queues may be.

use crate::trials;
use crate::watch::{leaves_nothing, pids, small, until};
use gvl_lab::cluster::CallOptions;
use gvl_lab::executor::{RejectedWhy, TaskError, WhenFull};
use std::time::Duration;

trials![
    payloads_of_any_length_up_to_the_limit,
    a_payload_over_the_limit_is_refused,
    a_result_over_the_limit_is_its_tasks_error,
    short_payloads_leave_room_for_all_else,
    a_full_queue_refuses_or_waits,
    ten_thousand_tasks_before_a_slow_worker_take_bounded_memory,
    bytes_in_flight_are_bounded,
];

fn payloads_of_any_length_up_to_the_limit() {
    leaves_nothing(|| {
        let cluster = small(2).payload_max(1 << 20).build().unwrap();
        for length in [0, 1, 64, 16_383, 16_384, 65_536, 300_000, 1 << 20] {
            let payload: Vec<u8> = (0..length).map(|n| (n % 251) as u8).collect();
            let reply = cluster.submit("echo", payload.clone()).unwrap().wait().unwrap();
            assert!(reply.bytes == payload, "{length} bytes");
        }
        // Many at once, more than the socket takes.
        let payload = vec![5_u8; 1 << 20];
        let handles: Vec<_> =
            (0..32).map(|_| cluster.submit("length", payload.clone()).unwrap()).collect();
        for handle in handles {
            assert_eq!(handle.wait().unwrap().bytes, "1048576");
        }
    });
}

fn a_payload_over_the_limit_is_refused() {
    let cluster = small(1).payload_max(1 << 20).build().unwrap();
    let rejected = cluster.submit("echo", vec![0_u8; (1 << 20) + 1]).unwrap_err();
    assert_eq!(rejected.why, RejectedWhy::TooLarge { size: (1 << 20) + 1, limit: 1 << 20 });
    assert_eq!(rejected.task.len(), (1 << 20) + 1);
    assert_eq!(rejected.to_string(), "a payload of 1048577 bytes, where 1048576 are the limit");
    assert_eq!(cluster.submit("echo", "x").unwrap().wait().unwrap().bytes, "x");
}

fn a_result_over_the_limit_is_its_tasks_error() {
    let cluster = small(1).payload_max(1 << 20).build().unwrap();
    let before = pids(&cluster);
    let most = cluster.submit("make", "1048576").unwrap().wait().unwrap();
    assert_eq!(most.bytes.len(), 1 << 20);
    let error = cluster.submit("make", "1048577").unwrap().wait().unwrap_err();
    assert_eq!(error, TaskError::TooLarge { size: (1 << 20) + 1, limit: 1 << 20 });
    assert_eq!(pids(&cluster), before);
}

fn short_payloads_leave_room_for_all_else() {
    let cluster = small(1).threads(30, 30).payload_max(1).build().unwrap();
    let before = pids(&cluster);
    assert_eq!(cluster.submit("echo", "x").unwrap().wait().unwrap().bytes, "x");
    let error = cluster.submit("fail", "x").unwrap().wait().unwrap_err();
    assert_eq!(error, TaskError::Failed("told to fail: x".to_owned()));
    // A thread is in it once it has begun.
    until("all threads are there", || {
        cluster.reports(Duration::from_secs(60))[0].2.gvl.len() == 30
    });
    assert_eq!(pids(&cluster), before);
}

fn a_full_queue_refuses_or_waits() {
    let cluster = small(1).queue(3, WhenFull::Reject).build().unwrap();
    let first = cluster.submit("obey", "").unwrap();
    until("it runs", || cluster.stats().running == 1);
    let waiting: Vec<_> = (0..3).map(|_| cluster.submit("echo", "").unwrap()).collect();
    let rejected = cluster.submit("echo", "back").unwrap_err();
    assert_eq!((rejected.why, &rejected.task[..]), (RejectedWhy::Full, &b"back"[..]));
    first.cancel();
    waiting.into_iter().for_each(|handle| assert!(handle.wait().is_ok()));
    assert_eq!(cluster.stats().counts.rejected, 1);

    let cluster = small(1).queue(3, WhenFull::Wait).build().unwrap();
    let first = cluster.submit("obey", "").unwrap();
    std::thread::scope(|scope| {
        let submitter = scope.spawn(|| {
            let handles: Vec<_> = (0..20).map(|_| cluster.submit("echo", "").unwrap()).collect();
            handles.into_iter().filter(|_| true).map(|handle| handle.wait()).all(|o| o.is_ok())
        });
        until("the queue is full", || cluster.stats().queued == 3);
        first.cancel();
        assert!(submitter.join().unwrap());
    });
}

/// The memory of this process that is its own, in bytes.
fn own_memory() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|line| line.starts_with("RssAnon:")).unwrap();
    line.split_whitespace().nth(1).unwrap().parse::<u64>().unwrap() * 1024
}

fn ten_thousand_tasks_before_a_slow_worker_take_bounded_memory() {
    let cluster = small(1).build().unwrap();
    let slow = cluster.submit("obey", "").unwrap();
    until("it runs", || cluster.stats().running == 1);
    let worker = pids(&cluster)[0];
    let before = own_memory();
    let handles: Vec<_> =
        (0..10_000).map(|_| cluster.submit("echo", vec![1_u8; 1000]).unwrap()).collect();
    assert_eq!((cluster.stats().queued, cluster.stats().bytes), (10_000, 10_000_000));
    // 10 MB of payloads, and what a task takes beside: not twice that again.
    let grown = own_memory().saturating_sub(before);
    assert!(grown < 30_000_000, "{grown} bytes");
    // The worker has none of them.
    let memory = cluster.snapshot().processes.pop().unwrap();
    assert_eq!(memory.pid, worker);
    slow.cancel();
    handles.into_iter().for_each(|handle| assert!(handle.wait().is_ok()));
    assert_eq!(cluster.stats().bytes, 0);
}

fn bytes_in_flight_are_bounded() {
    let cluster = small(1).bytes_max(4 << 20).queue(1000, WhenFull::Reject).build().unwrap();
    let slow = cluster.submit("obey", "").unwrap();
    let mut handles = Vec::new();
    let refused = loop {
        match cluster.submit("length", vec![0_u8; 1 << 20]) {
            Ok(handle) => handles.push(handle),
            Err(rejected) => break rejected.why,
        }
    };
    assert_eq!((refused, handles.len()), (RejectedWhy::Full, 4));
    slow.cancel();
    handles.into_iter().for_each(|handle| assert!(handle.wait().is_ok()));
    // One that is longer than all may come when there is nothing else.
    let options = CallOptions::new().deadline(Duration::from_secs(60));
    let long = cluster.submit_with(options, "length", vec![0_u8; 5 << 20]).unwrap();
    assert_eq!(long.wait().unwrap().bytes, "5242880");
}
