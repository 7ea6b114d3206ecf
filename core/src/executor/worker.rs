//! A thread of a pool: takes jobs in order and runs them under the global lock.
//!
//! It keeps the lock from one job to the next while there are any, as an interpreter's thread
//! does that finds its queue not empty, and gives it back before it waits.

use super::context::{self, Context};
use super::error::TaskError;
use super::pool::Shared;
use super::task::Job;
use crate::contain::contain;
use crate::gvl::lock::Member;
use crate::gvl::policy::Leave;
use crate::sync::serve;
use parking_lot::Mutex;
use std::cell::Cell;
use std::io;
use std::rc::Rc;
use std::sync::Arc;

/// What others may see of a thread: the job it runs.
#[derive(Default)]
pub(super) struct Desk {
    pub(super) job: Mutex<Option<Arc<dyn Job>>>,
}

thread_local! {
    /// Which pool this thread belongs to.
    static POOL: Cell<usize> = const { Cell::new(0) };
}

/// Starts thread number `n` of the pool, which the queue counts as alive already.
///
/// # Errors
/// The system gives no thread.
pub(super) fn start(shared: &Arc<Shared>, n: u32) -> io::Result<()> {
    let name = shared.thread_name(n);
    let shared = Arc::clone(shared);
    serve(&name, move || run(&shared, n))
}

/// Whether the calling thread is one of this pool's.
pub(super) fn is_own(shared: &Shared) -> bool {
    POOL.get() == &raw const *shared as usize
}

/// A thread's place in its pool; given back however the thread ends.
struct Place<'s> {
    shared: &'s Arc<Shared>,
    desk: Arc<Desk>,
    /// The queue told the thread to leave, and counts it as leaving.
    was_told: bool,
}

impl Drop for Place<'_> {
    fn drop(&mut self) {
        self.shared.desks.lock().retain(|other| !Arc::ptr_eq(other, &self.desk));
        if self.shared.queue.leave(self.was_told)
            && let Err(refused) = self.shared.start_thread()
        {
            refused.cancel();
        }
    }
}

fn run(shared: &Arc<Shared>, n: u32) {
    POOL.set(&raw const **shared as usize);
    let mut place = Place { shared, desk: Arc::default(), was_told: false };
    shared.desks.lock().push(Arc::clone(&place.desk));
    let member = Rc::new(shared.lock.join_to_serve(shared.thread_name(n)));
    let _enlisted = context::enlist(&member);
    loop {
        let Some(job) = next(shared, &member, &place.desk) else {
            place.was_told = true;
            break;
        };
        let span = tracing::trace_span!(target: "gvl_lab::executor", "task", name = job.name());
        span.in_scope(|| {
            tracing::trace!(target: "gvl_lab::executor", "started");
            job.run(&mut Context::new(&member, Some(&*job)));
            tracing::trace!(target: "gvl_lab::executor", "finished");
        });
        drop(job);
        if shared.queue.is_one_job() {
            clear(&place.desk, None);
            break;
        }
        member.safepoint();
    }
}

/// The next job, with the global lock held.
fn next(shared: &Shared, member: &Member, desk: &Desk) -> Option<Arc<dyn Job>> {
    let at_once = member.is_inside().then(|| shared.queue.try_pop()).flatten();
    let job = match at_once {
        Some(job) => job,
        None => {
            if member.is_inside() {
                clear(desk, None);
                member.exit(Leave::Idle);
            }
            shared.queue.pop()?
        }
    };
    // The last job goes when the next one comes, or when there is none.
    clear(desk, Some(&job));
    if shared.is_cancelling() {
        // The shutdown looked at this desk before the job was there.
        job.end(TaskError::Cancelled);
    }
    if !member.is_inside() {
        member.enter();
    }
    Some(job)
}

/// Puts the next job on the desk. What was there may be dropped here, with a value that nobody wanted.
fn clear(desk: &Desk, next: Option<&Arc<dyn Job>>) {
    let last = std::mem::replace(&mut *desk.job.lock(), next.cloned());
    contain(|| drop(last));
}
