//! The counts of the queue, step by step.

use super::*;

fn queue(min: u32, max: u32, idle_max: Duration) -> Queue<u32> {
    let threads = Threads::new(min, max).unwrap();
    Queue::new(threads, usize::MAX, WhenFull::Reject, idle_max, false)
}

fn push(queue: &Queue<u32>, job: u32) -> bool {
    match queue.push(false, || job) {
        Ok(Pushed::StartThread) => true,
        Ok(Pushed::Queued) => false,
        Err(why) => panic!("{why}"),
    }
}

#[test]
fn no_more_threads_get_tired_than_there_are_above_the_minimum() {
    let queue = queue(1, 2, Duration::ZERO);
    queue.count_thread();
    queue.count_thread();
    // One is on its way out; the other one is the last, and stays.
    assert_eq!(queue.pop(), None);
    std::thread::scope(|scope| {
        let last = scope.spawn(|| queue.pop());
        while queue.entry.state.lock().idle == 0 && !last.is_finished() {
            std::thread::yield_now();
        }
        assert!(!queue.leave(true));
        assert!(!push(&queue, 7));
        assert_eq!(last.join().unwrap(), Some(7));
    });
    assert_eq!(queue.count(), (0, 1));
}

#[test]
fn a_thread_that_does_not_start_leaves_its_jobs_to_the_others_if_there_are_any() {
    let queue = queue(0, 2, Duration::ZERO);
    assert!(push(&queue, 1));
    assert!(push(&queue, 2));
    assert_eq!(queue.not_started(), [0; 0]);
    assert_eq!(queue.count(), (2, 1));
    assert_eq!(queue.not_started(), [1, 2]);
    assert_eq!(queue.count(), (0, 0));
    assert!(queue.wait_until_deserted(None));
    // The counts are as they were: the next job asks for a thread again.
    assert!(push(&queue, 3));
    assert_eq!(queue.pop(), Some(3));
}

#[test]
fn jobs_leave_in_the_order_they_came_by_whichever_way() {
    let queue = queue(1, 1, Duration::MAX);
    queue.count_thread();
    let mut order = Vec::new();
    for round in 0..10 {
        for n in 0..3 {
            push(&queue, 3 * round + n);
        }
        // The thread looks once, then has a job after the other.
        if order.is_empty() {
            order.extend(queue.pop());
        }
        order.extend(queue.try_pop());
    }
    order.extend(queue.drain());
    assert_eq!(order, (0..30).collect::<Vec<_>>());
    assert_eq!(queue.length(), 0);
}

/// Submitters and threads in a crowd: each job goes out once, no more than the capacity wait, no
/// more than the maximum of threads live, and the counts come to nought.
#[test]
fn in_a_crowd_each_job_is_taken_once() {
    for (min, max, capacity) in [(0, 1, 1), (0, 3, 2), (2, 4, usize::MAX), (3, 3, 5)] {
        let threads = Threads::new(min, max).unwrap();
        let queue = &Queue::new(threads, capacity, WhenFull::Wait, Duration::ZERO, false);
        let seen = &parking_lot::Mutex::new(Vec::new());
        std::thread::scope(|scope| {
            let start = move || {
                scope.spawn(move || {
                    loop {
                        while let Some(job) = queue.pop() {
                            seen.lock().push(job);
                            while let Some(job) = queue.try_pop() {
                                seen.lock().push(job);
                            }
                        }
                        if !queue.leave(true) {
                            break;
                        }
                        // A job came meanwhile: this is the thread that takes its place.
                    }
                });
            };
            for _ in 0..min {
                queue.count_thread();
                start();
            }
            let submitters: Vec<_> = (0..3)
                .map(|n| {
                    scope.spawn(move || {
                        for job in 0..500 {
                            match queue.push(false, || 500 * n + job) {
                                Ok(Pushed::StartThread) => start(),
                                Ok(Pushed::Queued) => {}
                                Err(why) => panic!("{why}"),
                            }
                            let state = queue.entry.state.lock();
                            assert!(queue.length() <= capacity && state.alive <= max);
                        }
                    })
                })
                .collect();
            submitters.into_iter().for_each(|s| s.join().unwrap());
            queue.stop();
            assert!(queue.wait_until_deserted(None));
        });
        let mut seen = std::mem::take(&mut *seen.lock());
        seen.sort_unstable();
        assert_eq!(seen, (0..1500).collect::<Vec<u32>>());
        let state = queue.entry.state.lock();
        assert_eq!((state.idle, state.called, state.looking, state.leaving), (0, 0, 0, 0));
    }
}
