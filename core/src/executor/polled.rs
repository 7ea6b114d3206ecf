//! A future whose every poll holds the global lock, is timed, and is bound by a deadline.

use super::context;
use super::error::TaskError;
use super::event_loop::Shared;
use crate::clock::Nanos;
use crate::gvl::lock::Member;
use crate::gvl::policy::Leave;
use pin_project::{pin_project, pinned_drop};
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context as Poller, Poll};
use tokio::time::Sleep;
use tracing::Span;

#[pin_project(PinnedDrop)]
pub(super) struct Polled<F> {
    #[pin]
    future: F,
    shared: Arc<Shared>,
    extra: Option<Box<Extra>>,
    stage: Stage,
}

/// What few futures have.
struct Extra {
    name: Option<String>,
    deadline: Option<Pin<Box<Sleep>>>,
    /// Entered by each poll, where somebody listens.
    span: Option<Span>,
}

/// How far the future is; what it is at its drop is its outcome.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Stage {
    /// Not ended: dropped now, it was cancelled.
    Live,
    /// A poll panicked.
    Panicked,
    /// Ended and counted.
    Ended,
}

impl<F> Polled<F> {
    /// Wraps a future of the loop; the caller has counted it as in flight.
    pub(super) fn new(
        future: F,
        shared: Arc<Shared>,
        name: Option<String>,
        deadline: Option<Pin<Box<Sleep>>>,
    ) -> Self {
        let shown = name.as_deref().unwrap_or(std::any::type_name::<F>());
        let span = tracing::trace_span!(target: "gvl_lab::executor", "task", name = shown);
        let span = Some(span).filter(|span| !span.is_disabled());
        let extra = (name.is_some() || deadline.is_some() || span.is_some())
            .then(|| Box::new(Extra { name, deadline, span }));
        Self { future, shared, extra, stage: Stage::Live }
    }
}

/// The global lock for the length of a poll; given back also when the poll panics.
struct Inside<'m> {
    member: &'m Member,
    stage: &'m mut Stage,
}

impl Drop for Inside<'_> {
    fn drop(&mut self) {
        self.member.exit(Leave::Idle);
        *self.stage = Stage::Panicked;
    }
}

impl Inside<'_> {
    /// The poll returned; gives the time.
    fn leave(self) -> Nanos {
        let member = self.member;
        std::mem::forget(self);
        member.exit(Leave::Idle)
    }
}

impl<F: Future> Future for Polled<F> {
    type Output = Result<F::Output, TaskError>;

    fn poll(self: Pin<&mut Self>, poller: &mut Poller<'_>) -> Poll<Self::Output> {
        let this = self.project();
        let extra = this.extra.as_deref();
        let name = || {
            let name = extra.and_then(|extra| extra.name.as_deref());
            name.unwrap_or(std::any::type_name::<F>())
        };
        let _span = extra.and_then(|extra| extra.span.clone()).map(Span::entered);
        let polled = context::with_member(|member| {
            let began = member.enter();
            let inside = Inside { member, stage: this.stage };
            let polled = this.future.poll(poller);
            let ended = inside.leave();
            let took_ns = ended.saturating_sub(began);
            tracing::trace!(target: "gvl_lab::executor", took_ns, "polled");
            this.shared.meter.polled(took_ns, name);
            polled
        });
        if let Poll::Ready(value) = polled {
            *this.stage = Stage::Ended;
            this.shared.counters.done_on_loop();
            tracing::trace!(target: "gvl_lab::executor", "finished");
            return Poll::Ready(Ok(value));
        }
        let deadline = this.extra.as_mut().and_then(|extra| extra.deadline.as_mut());
        if deadline.is_none_or(|deadline| deadline.as_mut().poll(poller).is_pending()) {
            return Poll::Pending;
        }
        *this.stage = Stage::Ended;
        this.shared.counters.failed(&TaskError::TimedOut);
        Poll::Ready(Err(TaskError::TimedOut))
    }
}

#[pinned_drop]
impl<F> PinnedDrop for Polled<F> {
    fn drop(self: Pin<&mut Self>) {
        let this = self.project();
        if *this.stage != Stage::Ended {
            tracing::trace!(target: "gvl_lab::executor", "ended without a value");
        }
        match this.stage {
            Stage::Ended => {}
            Stage::Live => this.shared.counters.failed(&TaskError::Cancelled),
            Stage::Panicked => this.shared.counters.failed(&TaskError::Panicked(String::new())),
        }
        this.shared.ended();
    }
}
