//! One task inside a worker: begun or given back, and answered once.

use super::boot::text;
use crate::clock::{self, Nanos};
use crate::cluster::app::Answer;
use crate::cluster::link::Link;
use crate::cluster::wire::{Done, Ended, Frame, OVERHEAD_MAX, Timings};
use crate::executor::{Context, JoinHandle, Stop};
use parking_lot::Mutex;
use std::any::Any;
use std::cell::Cell;
use std::collections::{BTreeMap, HashMap};
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering::Relaxed};
use std::time::Duration;

/// Where answers go: the master's socket, or a connection's.
pub(super) type Out = Link<UnixStream>;

/// The tasks that the worker has.
#[derive(Default)]
pub(super) struct Jobs {
    /// Guards: a task is in here from its reading to its answer.
    all: Mutex<HashMap<u64, Known>>,
    /// Guards nothing but itself: answers by their kind.
    ended: Mutex<BTreeMap<String, u64>>,
    /// Once the worker drains.
    drained: Mutex<Option<Drained>>,
}

/// What happens when the last task is answered.
struct Drained {
    /// Whether no other task is about to begin.
    is_last: Box<dyn Fn() -> bool + Send>,
    /// Ends the process.
    exit: Box<dyn Fn() + Send>,
}

struct Known {
    state: Arc<AtomicU8>,
    handle: Option<JoinHandle<()>>,
    /// Before there was a handle to do it with.
    is_cancelled: bool,
}

/// Waits for a thread.
const QUEUED: u8 = 0;
/// Its handler has begun.
const BEGUN: u8 = 1;
/// Given back: never begins.
const RETURNED: u8 = 2;

thread_local! {
    /// How long this thread had waited for the lock when its last task ended.
    static WAITED: Cell<Duration> = const { Cell::new(Duration::ZERO) };
}

/// One task; however it ends, it is answered.
pub(super) struct Job {
    jobs: Arc<Jobs>,
    out: Arc<Out>,
    task: u64,
    state: Arc<AtomicU8>,
    deadline: Nanos,
    frame_max: u32,
    timings: Timings,
    cpu_before: Duration,
    ended: Option<Ended>,
}

impl Jobs {
    /// A task that was just read.
    pub(super) fn begin(
        self: &Arc<Self>,
        task: u64,
        deadline: Nanos,
        out: &Arc<Out>,
        frame_max: u32,
    ) -> Job {
        let state = Arc::new(AtomicU8::new(QUEUED));
        let known = Known { state: Arc::clone(&state), handle: None, is_cancelled: false };
        self.all.lock().insert(task, known);
        Job {
            jobs: Arc::clone(self),
            out: Arc::clone(out),
            task,
            state,
            deadline,
            frame_max,
            timings: Timings { received: clock::now(), ..Timings::default() },
            cpu_before: Duration::ZERO,
            ended: None,
        }
    }

    /// Keeps what cancels the task, while it is there.
    pub(super) fn keep(&self, task: u64, handle: JoinHandle<()>) {
        let mut all = self.all.lock();
        let Some(known) = all.get_mut(&task) else { return };
        if known.is_cancelled {
            drop(all);
            handle.cancel();
        } else {
            known.handle = Some(handle);
        }
    }

    /// Cancels a task; its end answers.
    pub(super) fn cancel(&self, task: u64) {
        // Taken out of the lock: the end of a task comes here.
        let handle = self.all.lock().get_mut(&task).and_then(|known| {
            known.is_cancelled = true;
            known.handle.take()
        });
        handle.inspect(JoinHandle::cancel);
    }

    /// Takes back the tasks that have not begun.
    pub(super) fn recall(&self) -> Vec<u64> {
        let mut all = self.all.lock();
        let give_back = |known: &Known| {
            // ORDERING: Relaxed; the state alone decides, and one of two changes comes first.
            known.state.compare_exchange(QUEUED, RETURNED, Relaxed, Relaxed).is_ok()
        };
        let mut tasks: Vec<u64> =
            all.iter().filter(|(_, known)| give_back(known)).map(|(task, _)| *task).collect();
        tasks.sort_unstable();
        let handles: Vec<_> = tasks.iter().filter_map(|task| all.remove(task)?.handle).collect();
        drop(all);
        handles.iter().for_each(JoinHandle::cancel);
        tasks
    }

    /// Calls `exit` when no task is left, now or later, and none is about to begin.
    pub(super) fn drain(
        &self,
        is_last: impl Fn() -> bool + Send + 'static,
        exit: impl Fn() + Send + 'static,
    ) {
        let drained = Drained { is_last: Box::new(is_last), exit: Box::new(exit) };
        *self.drained.lock() = Some(drained);
        self.look_whether_drained();
    }

    /// Calls the exit that is waited for, where no task is left.
    pub(super) fn look_whether_drained(&self) {
        // In this order: what is about to begin is among the tasks when it is no more about to.
        if let Some(drained) = &*self.drained.lock()
            && (drained.is_last)()
            && self.all.lock().is_empty()
        {
            (drained.exit)();
        }
    }

    /// Tasks that wait, and that run.
    pub(super) fn count(&self) -> (u64, u64) {
        let all = self.all.lock();
        let queued = all.values().filter(|known| known.state.load(Relaxed) == QUEUED).count();
        (queued as u64, (all.len() - queued) as u64)
    }

    /// Answers by their kind.
    pub(super) fn ended(&self) -> BTreeMap<String, u64> {
        self.ended.lock().clone()
    }
}

impl Job {
    /// The handler may begin: false where the task was given back.
    fn may_begin(&mut self) -> bool {
        // ORDERING: as in `Jobs::recall`.
        let begins = self.state.compare_exchange(QUEUED, BEGUN, Relaxed, Relaxed).is_ok();
        if begins {
            self.timings.started = clock::now();
            self.cpu_before = clock::thread_cpu();
        }
        begins
    }

    /// Runs the handler on a thread that holds the lock, and notes what it gave.
    pub(super) fn run(
        mut self,
        cx: &mut Context<'_>,
        handler: impl FnOnce(&mut Context<'_>) -> Answer,
    ) {
        if !self.may_begin() {
            return;
        }
        let answer = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| handler(cx)));
        self.timings.cpu = clock::thread_cpu().saturating_sub(self.cpu_before);
        let waited = cx.usage().wait;
        self.timings.gvl_wait = waited.saturating_sub(WAITED.replace(waited));
        self.ended = Some(match answer {
            Ok(answer) => ended(answer),
            Err(payload) => {
                let ended = of_panic(&*payload);
                crate::contain::discard(payload);
                ended
            }
        });
    }

    /// Awaits the handler on an event loop, and notes what it gave. A panic goes on, and is noted.
    pub(super) async fn run_on_loop(mut self, handler: impl Future<Output = Answer>) {
        if !self.may_begin() {
            return;
        }
        // What the task is answered with if it is dropped by a panic on its way.
        self.ended = None;
        let waited = || Context::current(|cx| cx.usage().wait).unwrap_or_default();
        let before = waited();
        let answer = Caught(Box::pin(handler)).await;
        // Others were polled meanwhile: what the thread waited is shared by all that were under way.
        self.timings.gvl_wait = waited().saturating_sub(before);
        self.ended = Some(match answer {
            Ok(answer) => ended(answer),
            Err(message) => Ended::Panicked(message),
        });
    }

    /// Ends the task without a handler.
    pub(super) fn end(mut self, ended: Ended) {
        self.ended = Some(ended);
    }
}

impl Drop for Job {
    /// Answers, unless the task was given back.
    fn drop(&mut self) {
        if self.state.load(Relaxed) == RETURNED {
            self.jobs.look_whether_drained();
            return;
        }
        self.timings.finished = clock::now();
        // Dropped without an end: it was cancelled, or it is late.
        let is_late = self.deadline > 0 && self.deadline <= self.timings.finished;
        let ended = self.ended.take();
        let ended = ended.unwrap_or(if is_late { Ended::TimedOut } else { Ended::Cancelled });
        let ended = match ended {
            Ended::Ok(bytes) if bytes.len() > (self.frame_max - OVERHEAD_MAX) as usize => {
                Ended::TooLarge { size: bytes.len() as u64 }
            }
            Ended::Failed(why) => Ended::Failed(shortened(why, self.frame_max)),
            Ended::Panicked(why) => Ended::Panicked(shortened(why, self.frame_max)),
            other => other,
        };
        *self.jobs.ended.lock().entry(kind(&ended).to_owned()).or_default() += 1;
        self.out.put(&Frame::Done(Done { task: self.task, timings: self.timings, ended }));
        self.out.flush();
        // Last: a worker that drains ends when it has no task.
        let was_known = self.jobs.all.lock().remove(&self.task).is_some();
        debug_assert!(was_known, "a task that was not given back is known until its answer");
        self.jobs.look_whether_drained();
    }
}

/// A future that gives a panic as a message.
struct Caught<F>(std::pin::Pin<Box<F>>);

impl<F: Future> Future for Caught<F> {
    type Output = Result<F::Output, String>;

    fn poll(
        mut self: std::pin::Pin<&mut Self>,
        poller: &mut std::task::Context<'_>,
    ) -> std::task::Poll<Self::Output> {
        let future = self.0.as_mut();
        let polled = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| future.poll(poller)));
        match polled {
            Ok(polled) => polled.map(Ok),
            Err(payload) => {
                let message = text(&*payload);
                crate::contain::discard(payload);
                std::task::Poll::Ready(Err(message))
            }
        }
    }
}

fn ended(answer: Answer) -> Ended {
    match answer {
        Ok(bytes) => Ended::Ok(bytes),
        Err(why) => Ended::Failed(why),
    }
}

fn of_panic(payload: &(dyn Any + Send)) -> Ended {
    match payload.downcast_ref::<Stop>() {
        Some(Stop::Cancelled) => Ended::Cancelled,
        Some(Stop::TimedOut) => Ended::TimedOut,
        None => Ended::Panicked(text(payload)),
    }
}

/// A text that fits into a frame.
fn shortened(mut text: String, frame_max: u32) -> String {
    let mut most = (frame_max - OVERHEAD_MAX) as usize;
    if text.len() > most {
        while !text.is_char_boundary(most) {
            most -= 1;
        }
        text.truncate(most);
    }
    text
}

fn kind(ended: &Ended) -> &'static str {
    match ended {
        Ended::Ok(_) => "ok",
        Ended::Failed(_) => "failed",
        Ended::Panicked(_) => "panicked",
        Ended::Cancelled => "cancelled",
        Ended::TimedOut => "timed out",
        Ended::TooLarge { .. } => "too large",
        Ended::NoHandler => "no handler",
    }
}

#[cfg(test)]
#[cfg(not(model_check))]
mod tests {
    use super::*;
    use crate::cluster::wire::{self, FRAME_MAX};
    use std::io::Read;
    use std::sync::mpsc::channel;

    /// The tasks of a worker, and what its master reads.
    fn worker() -> (Arc<Jobs>, Arc<Out>, UnixStream) {
        let (ours, theirs) = UnixStream::pair().unwrap();
        (Arc::default(), Arc::new(Link::new(Arc::new(ours))), theirs)
    }

    /// The tasks that were answered.
    fn answered(out: Arc<Out>, mut master: UnixStream) -> Vec<u64> {
        drop(out);
        let mut bytes = Vec::new();
        master.read_to_end(&mut bytes).unwrap();
        let mut buf = bytes::BytesMut::from(&bytes[..]);
        let next = || wire::decode(&mut buf, FRAME_MAX).unwrap();
        std::iter::from_fn(next)
            .map(|frame| match frame {
                Frame::Done(done) => done.task,
                other => panic!("{}", other.name()),
            })
            .collect()
    }

    #[test]
    fn what_has_begun_is_not_given_back() {
        let (jobs, out, master) = worker();
        let begin = |task| jobs.begin(task, 0, &out, FRAME_MAX);
        let (mut begun, mut waits, ended) = (begin(1), begin(2), begin(3));
        assert!(begun.may_begin());
        drop(ended);
        assert_eq!(jobs.count(), (1, 1));
        assert_eq!((jobs.recall(), jobs.recall()), (vec![2], vec![]));
        assert!(!waits.may_begin());
        drop((begun, waits));
        assert_eq!(jobs.count(), (0, 0));
        assert_eq!(answered(out, master), [3, 1]);
    }

    #[test]
    fn a_worker_drains_when_the_last_task_is_answered() {
        let (jobs, out, master) = worker();
        let (first, second) =
            (jobs.begin(1, 0, &out, FRAME_MAX), jobs.begin(2, 0, &out, FRAME_MAX));
        let (exit, exits) = channel();
        jobs.drain(|| true, move || exit.send(()).unwrap());
        drop(first);
        assert!(exits.try_recv().is_err());
        assert_eq!(jobs.recall(), [2]);
        drop(second);
        assert!(exits.try_recv().is_ok());
        assert_eq!(answered(out, master), [1]);
    }

    #[test]
    fn a_worker_does_not_drain_while_a_task_is_about_to_begin() {
        let jobs = Jobs::default();
        let (exit, exits) = channel();
        let last = Arc::new(AtomicU8::new(0));
        let is_last = Arc::clone(&last);
        jobs.drain(move || is_last.load(Relaxed) == 1, move || exit.send(()).unwrap());
        assert!(exits.try_recv().is_err());
        last.store(1, Relaxed);
        jobs.look_whether_drained();
        assert!(exits.try_recv().is_ok());
    }
}
