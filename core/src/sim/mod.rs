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
use crate::clock::nanos;
use crate::error::Error;
use crate::load::{Load, Until};
use crate::machine::Machine;
use crate::measure::Recording;
use crate::model::Topology;
use crate::workload::Workload;

/// The most requests under way at once: each is held in memory, and a server that is so far behind
/// never catches up.
const UNDER_WAY_MAX: u64 = 200_000;

/// How many events pass between two looks at how far the run is.
const NEWS: u32 = 1 << 16;

/// Runs the load on the topology in virtual time; `observe` hears how much of it is done, from 0
/// to 1. With `timeline`, records so many events of it.
///
/// # Errors
/// More than 200,000 requests under way at once, or requests that wait for each other for ever.
pub(crate) fn run(
    topology: &Topology,
    workload: &Workload,
    load: &Load,
    machine: &Machine,
    seed: u64,
    timeline: Option<usize>,
    observe: &mut dyn FnMut(f64),
) -> Result<Recording, Error> {
    let until = load.until().expect("a load that was checked has an end");
    let end = match until {
        Until::Duration(length) => nanos(length),
        Until::Requests(_) => u64::MAX,
    };
    let mut server = Server::new(topology, workload, load, machine, seed, timeline);
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
            let why = format!("more than {UNDER_WAY_MAX} requests under way");
            return Err(Error::failed("load", why, "a load that the server keeps up with"));
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
    Ok(server.record(elapsed))
}
