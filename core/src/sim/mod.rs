//! The engine of virtual time: ops x topology x load on a simulated machine.
//!
//! Called by `run` with a topology, never with a server's name. `calendar` has the time, `kernel` the
//! cores, threads and locks (decided by `gvl::policy`, as the real ones are), `server` what each
//! thread does. The same seed gives the same run everywhere: time is whole nanoseconds, events at one
//! time have an order, and all chance comes from named streams.

mod calendar;
mod kernel;
mod server;
#[cfg(test)]
mod tests;

use self::kernel::Happening;
use self::server::Server;
use crate::clock::{Nanos, nanos};
use crate::error::Error;
use crate::load::{Load, Until, WarmUp};
use crate::machine::Machine;
use crate::measure::{Begin, LeftOut, Offered, Recording, Settled, figure};
use crate::model::Topology;
use crate::workload::Workload;

/// The most requests under way at once: each is held in memory, and a server that is so far behind
/// never catches up.
const UNDER_WAY_MAX: u64 = 200_000;

/// When a run counts as one that never ends: time is counted in 64 bits, 584 years.
const CENTURY: Nanos = 100 * 365 * 24 * 3600 * 1_000_000_000;

/// How many events pass between two looks at how far the run is.
const NEWS: u32 = 1 << 16;

/// What a run is told beside its server, its load and its seed.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Conditions<'a> {
    pub(crate) machine: &'a Machine,
    /// What the load asks of the server, where that is known before it runs.
    pub(crate) offered: Option<&'a Offered>,
    /// What is left out of the figures.
    pub(crate) warm_up: Option<WarmUp>,
    /// Record what each thread does: so many events at most.
    pub(crate) timeline: Option<usize>,
}

/// Runs the load on the topology in virtual time; `observe` hears how much of it is done, from 0
/// to 1.
///
/// # Errors
/// An open load whose queue is expected to outgrow the 200,000 requests that are kept, more than
/// those under way at once, requests that wait for each other for ever, or a run that is not over
/// after a century of virtual time.
pub(crate) fn run(
    topology: &Topology,
    workload: &Workload,
    load: &Load,
    conditions: Conditions<'_>,
    seed: u64,
    observe: &mut dyn FnMut(f64),
) -> Result<Recording, Error> {
    // Who waits no longer than so long is not expected to be there at the end.
    if load.patience.timeout.is_none() {
        conditions.offered.map_or(Ok(()), check_backlog)?;
    }
    let simulate = |begin, observe: &mut dyn FnMut(f64)| {
        simulate(topology, workload, load, conditions, seed, begin, observe)
    };
    if conditions.warm_up != Some(WarmUp::Auto) {
        let begin = conditions.warm_up.and_then(Begin::after);
        return simulate(begin, observe).map(|(recording, _)| recording);
    }
    // The same seed gives the same run: what the first one tells holds for the second.
    let (whole, settled) = simulate(None, &mut |done| observe(done / 2.0))?;
    let kept = |unsettled| LeftOut { unsettled, ..LeftOut::default() };
    match settled {
        Some(Settled::From(n)) if n > 0 => {
            let begin = Some(Begin::After(n));
            simulate(begin, &mut |done| observe(0.5 + done / 2.0)).map(|(recording, _)| recording)
        }
        settled => Ok(whole.without(Some(kept(settled == Some(Settled::Never))))),
    }
}

/// One simulation whose figures begin there, or with it, and where its latencies settled, if that is
/// still to be found.
fn simulate(
    topology: &Topology,
    workload: &Workload,
    load: &Load,
    conditions: Conditions<'_>,
    seed: u64,
    begin: Option<Begin>,
    observe: &mut dyn FnMut(f64),
) -> Result<(Recording, Option<Settled>), Error> {
    let until = load.until().expect("a load that was checked has an end");
    let end = match until {
        Until::Duration(length) => nanos(length),
        Until::Requests(_) => u64::MAX,
    };
    let mut server =
        Server::new(topology, workload, load, conditions.machine, seed, conditions.timeline);
    match begin {
        Some(begin) => server.tally().begin_at(begin),
        None if conditions.warm_up == Some(WarmUp::Auto) => server.tally().watch(),
        None => {}
    }
    let mut news = 0;
    while !server.is_done() {
        match server.kernel().next(end) {
            Some(Happening::Step(thread)) => server.step(thread),
            Some(Happening::Timer(timer)) => server.remember(timer),
            None => break,
        }
        news += 1;
        if news == NEWS {
            news = 0;
            observe(match until {
                Until::Duration(_) => server.kernel().now() as f64 / end.max(1) as f64,
                Until::Requests(wanted) => server.finished() as f64 / wanted.max(1) as f64,
            });
        }
        if server.under_way() > UNDER_WAY_MAX {
            return Err(too_many(conditions.offered));
        }
        if server.kernel().now() > CENTURY {
            let why = "not over after 100 years of virtual time";
            return Err(Error::failed("load", why, "a load that comes to its end"));
        }
    }
    let elapsed = match until {
        Until::Duration(_) => end,
        Until::Requests(wanted) if server.finished() < wanted => {
            let why = format!("{} of {wanted} requests ever end", server.finished());
            return Err(Error::failed("load.requests", why, "requests that do not wait for ever"));
        }
        Until::Requests(_) => server.kernel().now(),
    };
    let (left_out, settled) = (server.tally().left_out(elapsed), server.tally().settled());
    Ok((server.record(elapsed).without(left_out), settled))
}

/// The requests under way outgrew what is kept of them.
fn too_many(offered: Option<&Offered>) -> Error {
    let known = offered.map(|offered| format!(" at a {}", offered.words())).unwrap_or_default();
    let why = format!("more than {UNDER_WAY_MAX} requests under way{known}");
    Error::failed("load", why, "a load that the server keeps up with")
}

/// Refuses an open load whose queue outgrows the memory it may have, before it does.
fn check_backlog(offered: &Offered) -> Result<(), Error> {
    let backlog = offered.backlog();
    if backlog <= UNDER_WAY_MAX as f64 {
        return Ok(());
    }
    let most = figure::number(offered.ceiling.rps);
    Err(Error::invalid(
        "load.open.rate",
        offered.rate,
        format!(
            "less than the {most} requests per second that are served, or a shorter run: at a {} \
             some {backlog:.0} requests would wait at its end, more than the {UNDER_WAY_MAX} that \
             are kept",
            offered.words()
        ),
    ))
}
