//! Runs code of others where a panic has nobody to go to.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// Runs a hook, a waker or a destructor of the embedder's; a panic is logged and ends there.
///
/// For threads that serve everybody: one task's destructor may not end the deadlines of the
/// others, nor a hook leave the lock half taken.
pub(crate) fn contain(code: impl FnOnce()) {
    if let Err(payload) = catch_unwind(AssertUnwindSafe(code)) {
        tracing::error!(target: "gvl_lab", "a hook, a waker or a destructor panicked");
        discard(payload);
    }
}

/// Drops what a panic carried, which may panic itself.
pub(crate) fn discard(payload: Box<dyn Any + Send>) {
    if let Err(worse) = catch_unwind(AssertUnwindSafe(|| drop(payload))) {
        // Its destructor has had its chance.
        std::mem::forget(worse);
    }
}
