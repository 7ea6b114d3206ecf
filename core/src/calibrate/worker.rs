//! What a worker of the real engine needs to take a request in, and to answer it.
//!
//! A short run of one worker with one thread, of which the timeline tells how long its acceptor and its
//! reactor held the lock, and how much longer than its request computes the thread did.

use super::median;
use crate::load::closed;
use crate::model::puma;
use crate::run::{Engine, RunOptions};
use crate::timeline::{Grant, Role};
use crate::workload::{cpu, ms};
use crate::{Error, Experiment};
use std::time::Duration;

const REQUESTS: u32 = 200;

/// How long a request computes: long enough that caches forget how to accept.
const SERVICE: Duration = Duration::from_millis(1);

/// The CPU time to take a request in, and to answer it.
pub(super) fn costs() -> Result<(Duration, Duration), Error> {
    let experiment = Experiment::new(puma().workers(1).threads(1))
        .workload([cpu(SERVICE)])
        .load(closed(1).requests(REQUESTS.into()).think(ms(2)));
    let report = experiment.run_with(Engine::Real, RunOptions::new().timeline(true))?;
    let timeline = report.rows[0].timeline.as_ref();
    let grants: Vec<Grant<'_>> = timeline.map(|t| t.grants().collect()).unwrap_or_default();
    let held = |grant: &Grant<'_>| Duration::from_nanos(grant.span.to - grant.span.from);
    let (threads, door): (Vec<_>, Vec<_>) =
        grants.iter().partition(|grant| grant.track.role == Role::Thread);
    let mut served: Vec<_> = threads.iter().map(&held).collect();
    let mut each: Vec<_> = door.iter().map(held).collect();
    // Medians, so that a core that was taken away does not count.
    let times = each.len() as f64 / f64::from(REQUESTS);
    let receive = median(&mut each).mul_f64(times);
    Ok((receive, median(&mut served).saturating_sub(SERVICE)))
}
