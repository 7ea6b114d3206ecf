//! Each race of the queue once, in all its orders.
//!
//! Run as those of the lock, see `gvl::lock::loom_tests`. A job that is forgotten, or a sleeper that
//! nobody wakes, shows as a deadlock. Time passes at once: a thread that may get tired does.

use super::*;
use loom::thread;
use std::sync::Arc as StdArc;

struct Scene {
    queue: Queue<u32>,
    /// Jobs run, as bits.
    ran: Mutex<u32>,
    more: Condvar,
}

impl Scene {
    fn new(min: u32, max: u32, capacity: usize) -> StdArc<Self> {
        let threads = Threads::new(min, max).expect("a possible number");
        let queue = Queue::new(threads, capacity, WhenFull::Wait, Duration::ZERO, false);
        StdArc::new(Self { queue, ran: Mutex::new(0), more: Condvar::new() })
    }

    /// Starts a thread that counts as alive.
    fn start(scene: &StdArc<Self>) -> thread::JoinHandle<()> {
        let scene = StdArc::clone(scene);
        thread::spawn(move || scene.serve())
    }

    /// What a thread of a pool does.
    fn serve(&self) {
        loop {
            while let Some(job) = self.queue.pop() {
                self.run(job);
                while let Some(job) = self.queue.try_pop() {
                    self.run(job);
                }
            }
            if !self.queue.leave(true) {
                break;
            }
            // A job came meanwhile: this is the thread that takes its place.
        }
    }

    fn run(&self, job: u32) {
        let mut ran = self.ran.lock();
        assert_eq!(*ran & (1 << job), 0, "a job runs once");
        *ran |= 1 << job;
        drop(ran);
        self.more.notify_all();
    }

    /// Waits until the first `jobs` run.
    fn wait_for(&self, jobs: u32) {
        let mut ran = self.ran.lock();
        while *ran != (1 << jobs) - 1 {
            self.more.wait(&mut ran);
        }
    }

    /// Submits a job, and starts the thread that is asked for.
    fn push(scene: &StdArc<Self>, job: u32) -> Option<thread::JoinHandle<()>> {
        match scene.queue.push(false, || job) {
            Ok(Pushed::StartThread) => Some(Self::start(scene)),
            Ok(Pushed::Queued) => None,
            Err(why) => panic!("{why}"),
        }
    }

    fn end(&self, threads: impl IntoIterator<Item = thread::JoinHandle<()>>, jobs: u32) {
        self.queue.stop();
        threads.into_iter().for_each(|t| t.join().expect("the thread ends"));
        assert_eq!(*self.ran.lock(), (1 << jobs) - 1);
        let state = self.queue.entry.state.lock();
        assert_eq!((state.alive, state.leaving), (0, 0));
        assert_eq!((state.idle, state.called, state.looking), (0, 0, 0));
    }
}

fn explore(bound: usize, model: impl Fn() + Sync + Send + 'static) {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = Some(bound);
    builder.check(model);
}

/// Jobs come while the only thread looks, sleeps or is about to; it has to end each of them before
/// the queue is told to stop.
#[test]
fn loom_a_sleeping_thread_is_woken_for_a_job() {
    explore(3, || {
        let scene = Scene::new(1, 1, usize::MAX);
        scene.queue.count_thread();
        let server = Scene::start(&scene);
        assert!(Scene::push(&scene, 0).is_none());
        assert!(Scene::push(&scene, 1).is_none());
        scene.wait_for(2);
        scene.end([server], 2);
    });
}

#[test]
fn loom_two_threads_share_the_jobs_of_two_submitters() {
    explore(2, || {
        let scene = Scene::new(2, 2, usize::MAX);
        scene.queue.count_thread();
        scene.queue.count_thread();
        let servers = [Scene::start(&scene), Scene::start(&scene)];
        let other = {
            let scene = StdArc::clone(&scene);
            thread::spawn(move || assert!(Scene::push(&scene, 0).is_none()))
        };
        assert!(Scene::push(&scene, 1).is_none());
        other.join().expect("the submitter ends");
        scene.end(servers, 2);
    });
}

/// Two jobs that need each other run on two threads: neither waits in the queue while a thread
/// sleeps.
#[test]
fn loom_no_thread_sleeps_beside_a_job() {
    explore(2, || {
        let scene = Scene::new(2, 2, usize::MAX);
        scene.queue.count_thread();
        scene.queue.count_thread();
        let server = || {
            let scene = StdArc::clone(&scene);
            thread::spawn(move || {
                let job = scene.queue.pop().expect("there is one for each");
                scene.run(job);
                // Busy until the other job runs, too.
                scene.wait_for(2);
                assert!(scene.queue.try_pop().is_none());
                assert!(scene.queue.pop().is_none());
                assert!(!scene.queue.leave(true));
            })
        };
        let servers = [server(), server()];
        assert!(Scene::push(&scene, 0).is_none());
        assert!(Scene::push(&scene, 1).is_none());
        scene.wait_for(2);
        scene.end(servers, 2);
    });
}

/// A thread gets tired as a job comes: it takes it, or the submitter starts another one.
#[test]
fn loom_a_job_that_meets_a_tired_thread_is_not_forgotten() {
    explore(3, || {
        let scene = Scene::new(0, 1, usize::MAX);
        let mut servers: Vec<_> = Scene::push(&scene, 0).into_iter().collect();
        servers.extend(Scene::push(&scene, 1));
        scene.wait_for(2);
        scene.end(servers, 2);
    });
}

/// Submitters that wait for room are let in as jobs are taken.
#[test]
fn loom_a_submitter_that_waits_for_room_is_woken() {
    explore(2, || {
        let scene = Scene::new(1, 1, 1);
        scene.queue.count_thread();
        let server = Scene::start(&scene);
        let other = {
            let scene = StdArc::clone(&scene);
            thread::spawn(move || drop(Scene::push(&scene, 0)))
        };
        assert!(Scene::push(&scene, 1).is_none());
        assert!(Scene::push(&scene, 2).is_none());
        other.join().expect("the submitter ends");
        scene.end([server], 3);
    });
}

/// A shutdown meets a submitter that waits for room, and a thread that sleeps.
#[test]
fn loom_a_stop_reaches_everyone() {
    explore(3, || {
        let scene = Scene::new(1, 1, 1);
        scene.queue.count_thread();
        let server = Scene::start(&scene);
        let submitter = {
            let scene = StdArc::clone(&scene);
            thread::spawn(move || {
                let accepted = (0..2).map(|job| scene.queue.push(false, || job).is_ok());
                accepted.filter(|accepted| *accepted).count()
            })
        };
        scene.queue.stop();
        let accepted = submitter.join().expect("the submitter ends");
        server.join().expect("the thread ends");
        assert_eq!(scene.ran.lock().count_ones() as usize, accepted);
        assert_eq!(scene.queue.count(), (0, 0));
    });
}

/// A submitter that waits for room which nobody makes is refused.
#[test]
fn loom_a_stop_reaches_a_submitter_that_waits_for_room() {
    explore(3, || {
        let scene = Scene::new(1, 1, 1);
        scene.queue.count_thread();
        assert!(Scene::push(&scene, 0).is_none());
        let submitter = {
            let scene = StdArc::clone(&scene);
            thread::spawn(move || scene.queue.push(false, || 1).is_err())
        };
        scene.queue.stop();
        assert!(submitter.join().expect("the submitter ends"));
    });
}
