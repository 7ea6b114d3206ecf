//! Whose waits for the GVL: the lock's events, charged to the request the thread serves.
//!
//! A wait ends on the thread that waited, before its request's code goes on; so what a thread
//! waited since it last took stock belongs to the request that takes stock now, the wait for its
//! very first turn included.

use super::record::Record;
use crate::gvl::{Event, EventKind, Hook};
use crate::measure::{Histogram, Waits};
use parking_lot::Mutex;
use std::cell::Cell;
use std::sync::Arc;
use std::time::Duration;

thread_local! {
    static OPEN: Cell<Waits> = const { Cell::new(Waits { count: 0, total: Duration::ZERO }) };
}

/// A hook that notes each wait on its thread, and all of them in the histogram; a record, if there is one,
/// hears of every event.
pub(super) fn hook(record: Option<Arc<Record>>) -> (Hook, Arc<Mutex<Histogram>>) {
    let all = Arc::new(Mutex::new(Histogram::new()));
    let noted = Arc::clone(&all);
    let hook = Hook::new(move |event: &Event<'_>| {
        if let Some(record) = &record {
            record.hear(event);
        }
        if event.kind == EventKind::Resumed && event.waited_ns > 0 {
            let waited = Duration::from_nanos(event.waited_ns);
            let open = OPEN.get();
            OPEN.set(Waits { count: open.count + 1, total: open.total + waited });
            noted.lock().record(waited);
        }
    });
    (hook, all)
}

/// This thread's waits since it was last asked.
pub(super) fn take() -> Waits {
    OPEN.take()
}
