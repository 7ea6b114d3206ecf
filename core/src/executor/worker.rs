//! A thread of a pool: takes jobs in order and runs them under the global lock.
//!
//! It keeps the lock from one job to the next while there are any, as an interpreter's thread
//! does that finds its queue not empty, and gives it back before it waits.

use super::context::{self, Context};
use super::pool::Shared;
use super::task::Job;
use crate::gvl::lock::Member;
use crate::gvl::policy::Leave;
use parking_lot::Mutex;
use std::cell::Cell;
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
pub(super) fn start(shared: &Arc<Shared>, n: u32) {
    let shared = Arc::clone(shared);
    std::thread::Builder::new()
        .name(format!("{} {n}", shared.name))
        .spawn(move || run(&shared, n))
        .expect("the system can start one more thread");
}

/// Whether the calling thread is one of this pool's.
pub(super) fn is_own(shared: &Shared) -> bool {
    POOL.get() == &raw const *shared as usize
}

fn run(shared: &Arc<Shared>, n: u32) {
    POOL.set(&raw const **shared as usize);
    let desk = Arc::new(Desk::default());
    shared.desks.lock().push(Arc::clone(&desk));
    {
        let member = Rc::new(shared.lock.join(format!("{} {n}", shared.name)));
        let _enlisted = context::enlist(&member);
        while let Some(job) = next(shared, &member, &desk) {
            // The last job goes when the next one comes, or when there is none.
            let last = desk.job.lock().replace(Arc::clone(&job));
            drop(last);
            let span = tracing::trace_span!(target: "gvl_lab::executor", "task", name = job.name());
            span.in_scope(|| {
                tracing::trace!(target: "gvl_lab::executor", "started");
                job.run(&mut Context::new(&member, Some(&*job)));
                tracing::trace!(target: "gvl_lab::executor", "finished");
            });
            drop(job);
            if shared.queue.is_one_job() {
                break;
            }
            member.safepoint();
        }
    }
    shared.desks.lock().retain(|other| !Arc::ptr_eq(other, &desk));
    if shared.queue.leave() {
        shared.start_thread();
    }
}

/// The next job, with the global lock held.
fn next(shared: &Shared, member: &Member, desk: &Desk) -> Option<Arc<dyn Job>> {
    if member.is_inside() {
        if let Some(job) = shared.queue.try_pop() {
            return Some(job);
        }
        let last = desk.job.lock().take();
        drop(last);
        member.exit(Leave::Idle);
    }
    let job = shared.queue.pop()?;
    member.enter();
    Some(job)
}
