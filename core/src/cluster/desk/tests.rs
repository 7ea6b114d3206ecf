//! The desk alone: what each event does to each task, and what is said to whom.

use super::*;
use crate::cluster::accept::{Accept, AcceptWait, Backoff, Between};
use crate::cluster::dispatch::Dispatch;
use crate::cluster::wire::{self, FRAME_MAX, Timings};
use crate::executor::Outcome;
use bytes::BytesMut;
use std::io::Read;
use std::os::unix::net::UnixStream;
use std::sync::Weak;
use std::task::{Poll, Waker};
use tokio::runtime::Runtime;

/// A desk, and what its workers hear.
struct Bench {
    runtime: Runtime,
    desk: Desk,
    workers: Vec<(WorkerId, UnixStream, Arc<Notify>)>,
}

const HANG: Duration = Duration::from_nanos(50);

impl Bench {
    fn new(dispatch: Dispatch) -> Self {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        Self { runtime, desk: Desk::new(Lanes::new(dispatch), 1000, HANG), workers: Vec::new() }
    }

    fn of_kernel() -> Self {
        Self::new(Dispatch::KernelAccept(Accept {
            wait: AcceptWait::Herd,
            only_when_free: false,
            backoff: Backoff::None,
            burst: 1,
            between: Between::Closed,
        }))
    }

    /// Changes the desk, and does what follows.
    fn change<R>(&mut self, change: impl FnOnce(&mut Desk, &mut Acts) -> R) -> R {
        let mut acts = Acts::default();
        let result = change(&mut self.desk, &mut acts);
        acts.run();
        result
    }

    /// Another worker serves. Its process has its number.
    fn open(&mut self, slots: u32) -> WorkerId {
        let _in_runtime = self.runtime.enter();
        let (ours, theirs) = UnixStream::pair().unwrap();
        ours.set_nonblocking(true).unwrap();
        theirs.set_nonblocking(true).unwrap();
        let link = Arc::new(Link::new(Arc::new(tokio::net::UnixStream::from_std(ours).unwrap())));
        let (number, kill) = (self.workers.len() as u32 + 1, Arc::default());
        let id = WorkerId(number.into());
        let station = Station::new(number, number, &link, &kill);
        self.workers.push((id, theirs, kill));
        let mut acts = Acts::default();
        self.desk.open(id, slots, station, &mut acts);
        acts.run();
        id
    }

    fn submit(&mut self, deadline: Option<Nanos>, reruns: Option<u32>) -> (u64, Arc<Slot>) {
        let order = Order {
            handler: "echo".to_owned(),
            payload: Bytes::from_static(b"payload"),
            deadline,
            idempotent: reruns.is_some(),
            reruns: reruns.unwrap_or(0),
            connection: None,
        };
        let backlog = self.desk.lanes.is_kernels();
        let number = self.desk.next;
        let slot = |task| Arc::new(Slot::new(task, Weak::new(), None));
        let (slot, _) = self.change(|desk, acts| desk.accept(order, backlog, slot, acts));
        (number, slot)
    }

    fn lose(&mut self, id: WorkerId) {
        self.change(|desk, acts| desk.gone(id, Exit::Signal(9), false, acts));
    }

    /// What a worker was told since it was looked at last.
    fn heard(&mut self, id: WorkerId) -> Vec<String> {
        let (_, socket, _) = self.workers.iter_mut().find(|(known, ..)| *known == id).unwrap();
        let (mut buf, mut chunk) = (BytesMut::new(), [0; 4096]);
        while let Ok(n) = socket.read(&mut chunk) {
            if n == 0 {
                break;
            }
            buf.extend_from_slice(&chunk[..n]);
        }
        let mut all = Vec::new();
        while let Some(frame) = wire::decode(&mut buf, FRAME_MAX).unwrap() {
            all.push(match frame {
                Frame::Task(task) => format!("task {}", task.task),
                Frame::Cancel { task } => format!("cancel {task}"),
                other => other.name().to_owned(),
            });
        }
        all
    }

    fn is_to_be_killed(&self, id: WorkerId) -> bool {
        let (.., kill) = self.workers.iter().find(|(known, ..)| *known == id).unwrap();
        self.runtime.block_on(async {
            tokio::select! {
                biased;
                () = kill.notified() => true,
                () = std::future::ready(()) => false,
            }
        })
    }

    /// Nothing waits, runs or takes memory.
    fn is_empty(&self) {
        let running: u64 = self.desk.stations.values().map(|station| station.running).sum();
        assert_eq!((self.desk.queued, self.desk.bytes, running), (0, 0, 0));
        assert!(self.desk.tasks.is_empty());
    }
}

fn ok(task: u64) -> Done {
    Done { task, timings: Timings::default(), ended: Ended::Ok(Bytes::new()) }
}

/// The outcome of a task, if it has one: nothing where it is a value.
fn outcome(slot: &Slot) -> Option<Option<TaskError>> {
    match slot.poll(Waker::noop()) {
        Poll::Ready(outcome) => Some(outcome.err()),
        Poll::Pending => None,
    }
}

const LOST: TaskError = TaskError::WorkerLost { pid: 1, exit: Exit::Signal(9) };

#[test]
fn a_worker_speaks_of_its_own_tasks_alone() {
    let mut bench = Bench::new(Dispatch::SharedQueue);
    let (a, b) = (bench.open(1), bench.open(1));
    let (first, slot) = bench.submit(None, None);
    let (second, other) = bench.submit(None, None);
    assert_eq!((bench.heard(a), bench.heard(b)), (vec!["task 1".into()], vec!["task 2".into()]));
    bench.change(|desk, acts| desk.done(b, vec![ok(first)], acts));
    bench.change(|desk, acts| desk.returned(b, &[first], acts));
    assert_eq!((outcome(&slot), bench.desk.queued), (None, 0));
    assert_eq!(bench.desk.stations[&b].running, 1);
    bench.change(|desk, acts| desk.done(b, vec![ok(second)], acts));
    bench.change(|desk, acts| desk.done(a, vec![ok(first)], acts));
    assert_eq!((outcome(&slot), outcome(&other)), (Some(None), Some(None)));
    bench.is_empty();
}

#[test]
fn an_answer_of_a_worker_before_does_not_count() {
    let mut bench = Bench::new(Dispatch::SharedQueue);
    let a = bench.open(1);
    let (task, slot) = bench.submit(None, Some(1));
    bench.lose(a);
    let b = bench.open(1);
    assert_eq!(bench.heard(b), ["task 1"]);
    bench.change(|desk, acts| desk.done(a, vec![ok(task)], acts));
    assert_eq!(outcome(&slot), None);
    bench.change(|desk, acts| desk.done(b, vec![ok(task)], acts));
    assert_eq!(outcome(&slot), Some(None));
    bench.is_empty();
}

#[test]
fn an_outcome_stands() {
    let mut bench = Bench::new(Dispatch::SharedQueue);
    let a = bench.open(1);
    let (task, slot) = bench.submit(None, None);
    assert!(bench.change(|desk, acts| desk.end_task(task, TaskError::Cancelled, acts)));
    assert!(!bench.change(|desk, acts| desk.end_task(task, TaskError::TimedOut, acts)));
    assert_eq!(bench.heard(a), ["task 1", "cancel 1"]);
    bench.change(|desk, acts| desk.done(a, vec![ok(task)], acts));
    assert_eq!(outcome(&slot), Some(Some(TaskError::Cancelled)));
    let counts = &bench.desk.counts;
    assert_eq!((counts.done, counts.failed.values().sum::<u64>()), (0, 1));
    bench.is_empty();
}

#[test]
fn a_lost_worker_takes_what_may_not_run_twice() {
    let mut bench = Bench::new(Dispatch::SharedQueue);
    let a = bench.open(3);
    let (_, once) = bench.submit(None, None);
    let (_, twice) = bench.submit(None, Some(1));
    let (ended, _) = bench.submit(None, Some(9));
    bench.change(|desk, acts| desk.end_task(ended, TaskError::Cancelled, acts));
    bench.lose(a);
    assert_eq!((outcome(&once), outcome(&twice)), (Some(Some(LOST)), None));
    assert_eq!(bench.desk.queued, 1);
    let b = bench.open(3);
    assert_eq!(bench.heard(b), ["task 2"]);
    bench.lose(b);
    let lost = TaskError::WorkerLost { pid: 2, exit: Exit::Signal(9) };
    assert_eq!(outcome(&twice), Some(Some(lost)));
    assert_eq!((bench.desk.counts.reruns, bench.desk.counts.workers_lost), (1, 2));
    bench.is_empty();
}

#[test]
fn a_deadline_is_kept_in_the_queue_and_at_a_worker() {
    let mut bench = Bench::new(Dispatch::SharedQueue);
    let a = bench.open(1);
    let (_, runs) = bench.submit(Some(100), None);
    let (_, waits) = bench.submit(Some(110), None);
    assert_eq!(bench.change(|desk, acts| desk.expire(99, acts)), Some(100));
    assert_eq!((outcome(&runs), outcome(&waits)), (None, None));
    assert_eq!(bench.change(|desk, acts| desk.expire(110, acts)), Some(150));
    assert_eq!(outcome(&runs), Some(Some(TaskError::TimedOut)));
    assert_eq!(outcome(&waits), Some(Some(TaskError::TimedOut)));
    assert_eq!((bench.desk.queued, bench.heard(a)), (0, vec!["task 1".into(), "cancel 1".into()]));
    assert!(!bench.is_to_be_killed(a));
    assert_eq!(bench.change(|desk, acts| desk.expire(150, acts)), None);
    assert!(bench.is_to_be_killed(a));
    bench.lose(a);
    bench.is_empty();
}

#[test]
fn a_worker_that_drains_gives_back_and_gets_nothing() {
    let mut bench = Bench::new(Dispatch::SharedQueue);
    let a = bench.open(2);
    let (first, _) = bench.submit(None, None);
    let (second, _) = bench.submit(None, None);
    bench.change(|desk, acts| desk.close(a, acts));
    bench.submit(None, None);
    assert_eq!(bench.heard(a), ["task 1", "task 2", "Recall", "Drain"]);
    let b = bench.open(2);
    assert_eq!(bench.heard(b), ["task 3"]);
    bench.change(|desk, acts| desk.returned(a, &[second], acts));
    assert_eq!(bench.heard(b), ["task 2"]);
    bench.change(|desk, acts| desk.done(a, vec![ok(first)], acts));
    bench.change(|desk, acts| desk.gone(a, Exit::Status(0), false, acts));
    assert_eq!((bench.heard(a), bench.desk.counts.workers_lost), (Vec::new(), 0));
}

#[test]
fn what_has_ended_is_forgotten() {
    let mut bench = Bench::new(Dispatch::SharedQueue);
    for _ in 0..5 * STALE {
        let (task, _) = bench.submit(Some(Nanos::MAX), None);
        bench.change(|desk, acts| desk.end_task(task, TaskError::Cancelled, acts));
    }
    bench.is_empty();
    assert!(bench.desk.lanes.queued() <= STALE && bench.desk.due.len() <= STALE + 1);
}

#[test]
fn a_task_that_ends_in_the_backlog_is_told_to_who_accepted_it() {
    let mut bench = Bench::of_kernel();
    let a = bench.open(1);
    let (task, slot) = bench.submit(None, None);
    assert_eq!(bench.desk.queued, 1);
    assert!(bench.change(|desk, acts| desk.outgoing(task, acts)).is_some());
    bench.change(|desk, acts| desk.end_task(task, TaskError::Cancelled, acts));
    assert_eq!((outcome(&slot), bench.desk.queued), (Some(Some(TaskError::Cancelled)), 0));
    bench.change(|desk, acts| desk.accepted(task, 1, acts));
    assert_eq!(bench.heard(a), ["cancel 1"]);
    bench.change(|desk, acts| desk.answered(ok(task), 1, acts));
    bench.is_empty();
    // Nobody had: it is not sent again.
    let (task, _) = bench.submit(None, None);
    assert!(bench.change(|desk, acts| desk.outgoing(task, acts)).is_some());
    bench.change(|desk, acts| desk.end_task(task, TaskError::Cancelled, acts));
    assert!(bench.change(|desk, acts| desk.outgoing(task, acts)).is_none());
    bench.is_empty();
}

#[test]
fn what_was_accepted_is_lost_with_its_worker() {
    let mut bench = Bench::of_kernel();
    let a = bench.open(2);
    let (first, once) = bench.submit(None, None);
    let (second, twice) = bench.submit(None, Some(1));
    let (third, waits) = bench.submit(None, None);
    for task in [first, second] {
        assert!(bench.change(|desk, acts| desk.outgoing(task, acts)).is_some());
        bench.change(|desk, acts| desk.accepted(task, 1, acts));
    }
    assert!(!bench.change(|desk, acts| desk.hung_up(first, 1, acts)));
    bench.lose(a);
    assert!(bench.desk.is_forsaken(first) && !bench.desk.is_forsaken(third));
    assert!(bench.change(|desk, acts| desk.hung_up(first, 1, acts)));
    assert!(bench.change(|desk, acts| desk.hung_up(second, 1, acts)));
    assert_eq!(outcome(&once), Some(Some(LOST)));
    assert_eq!((outcome(&twice), outcome(&waits), bench.desk.queued), (None, None, 2));
    assert!(bench.change(|desk, acts| desk.outgoing(first, acts)).is_none());
    assert!(bench.change(|desk, acts| desk.outgoing(second, acts)).is_some());
}

#[test]
fn a_task_that_nobody_speaks_of_is_given_up() {
    let mut bench = Bench::of_kernel();
    bench.open(1);
    for is_accepted in [false, true] {
        let (task, slot) = bench.submit(None, None);
        assert!(bench.change(|desk, acts| desk.outgoing(task, acts)).is_some());
        if is_accepted {
            bench.change(|desk, acts| desk.accepted(task, 1, acts));
        }
        bench.change(|desk, acts| desk.abandon(task, TaskError::Failed(String::new()), acts));
        assert_eq!(outcome(&slot), Some(Some(TaskError::Failed(String::new()))));
        bench.is_empty();
    }
}
