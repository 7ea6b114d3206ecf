//! One run: a load on a server, from the first arrival to the last answer that counts.

use super::handler::Served;
use super::server::{Server, Watch};
use super::tally::{Finished, Tally};
use crate::clock::{self, Nanos, nanos};
use crate::error::Error;
use crate::executor::RejectedWhy;
use crate::load::{Arrival, Driver, Load, Until};
use crate::measure::Recording;
use crate::model::Topology;
use crate::workload::{Cursor, Workload};
use parking_lot::{Condvar, Mutex};
use std::sync::Arc;
use std::time::Duration;

/// The longest run, whatever its load asks for: an experiment that is still not done was a mistake.
const LONGEST: Duration = Duration::from_secs(3600);

/// The most requests under way at once: each is held in memory, and a server that is so far behind
/// is not measured any more.
const UNDER_WAY_MAX: u64 = 100_000;

/// How often whoever watches the run hears of it.
const NEWS: Duration = Duration::from_millis(100);

/// A run under way.
struct Run {
    server: Server,
    start: Nanos,
    /// When the last request may end to count.
    end: Nanos,
    /// Guards: an arrival is started once, and none is forgotten.
    gate: Mutex<Gate>,
    /// Told when the next arrival is sooner than it was, or all is done.
    changed: Condvar,
    /// Guards nothing but itself; never held together with `gate`.
    tally: Mutex<Tally>,
}

struct Gate {
    driver: Driver,
    in_flight: u64,
    over: bool,
    /// More requests came than may be under way.
    flooded: bool,
    /// Why the server takes no more requests.
    refused: Option<RejectedWhy>,
}

/// One request on its way.
struct Request {
    run: Arc<Run>,
    endpoint: usize,
    user: Option<u32>,
    intended: Nanos,
    /// What the server made of it; `None` if it is dropped on the way.
    served: Option<Served>,
}

/// Runs the load on the topology in real time; `observe` hears how much of it is done, from 0
/// to 1.
///
/// # Errors
/// A topology with worker processes, threads that the system refuses, a run of over an hour, or more
/// than 100,000 requests under way at once.
pub fn run(
    topology: &Topology,
    workload: &Workload,
    load: &Load,
    seed: u64,
    observe: &mut dyn FnMut(f64),
) -> Result<Recording, Error> {
    let driver = Driver::new(load, workload, seed);
    let server = Server::start(topology, workload)?;
    let start = clock::now();
    let cpu_before = clock::process_cpu();
    let until = load.until().expect("a load that was checked has an end");
    let length = match until {
        Until::Duration(length) => length,
        Until::Requests(_) => LONGEST,
    };
    let run = Arc::new(Run {
        server,
        start,
        end: start.saturating_add(nanos(length)),
        gate: Mutex::new(Gate { driver, in_flight: 0, over: false, flooded: false, refused: None }),
        changed: Condvar::new(),
        tally: Mutex::new(Tally::new(workload, start)),
    });
    let unfinished = run.drive(until, observe);
    let cpu = clock::process_cpu() - cpu_before;
    let gvl = run.server.gvl_use();
    let event_loop = run.server.loop_use();
    run.server.end();
    if run.gate.lock().flooded {
        let why = format!("more than {UNDER_WAY_MAX} requests under way");
        return Err(Error::failed("load", why, "a load that the server keeps up with"));
    }
    if let Some(why) = run.gate.lock().refused {
        return Err(Error::failed("server", why, "a system that gives it threads"));
    }
    let mut tally = run.tally.lock();
    let elapsed = match until {
        Until::Duration(length) => length,
        Until::Requests(wanted) => {
            let finished: u64 = tally.endpoints.iter().map(|e| e.requests()).sum();
            if finished < wanted {
                let why = format!("{finished} of {wanted} requests after an hour");
                return Err(Error::failed("load.requests", why, "a run of less than an hour"));
            }
            Duration::from_nanos(tally.last_finish - start)
        }
    };
    Ok(Recording {
        elapsed,
        last_answer: Duration::from_nanos(tally.last_finish - start),
        unfinished,
        processes: [(std::process::id(), tally.ok)].into(),
        workers: Vec::new(),
        queue: tally.queue_use(start, start + nanos(elapsed)),
        endpoints: std::mem::take(&mut tally.endpoints),
        pools: std::mem::take(&mut tally.pools),
        gvl,
        cpu,
        event_loop,
    })
}

impl Run {
    /// Starts arrivals as they fall due, until there are no more and all have ended, or the time
    /// is over; gives how many have not ended.
    fn drive(self: &Arc<Self>, until: Until, observe: &mut dyn FnMut(f64)) -> u64 {
        loop {
            let due = self.take_due(None);
            let any = !due.is_empty();
            due.into_iter().for_each(|arrival| self.submit(arrival));
            observe(self.done(until));
            let mut gate = self.gate.lock();
            let now = clock::now();
            let done = gate.in_flight == 0 && gate.driver.is_exhausted(self.at(now));
            if done || now >= self.end || gate.is_cut_short() {
                gate.over = true;
                return gate.in_flight;
            }
            if any {
                continue;
            }
            let next = gate.driver.next_due().map_or(self.end, |due| self.start + due);
            let wake = next.min(self.end).min(now + nanos(NEWS));
            self.changed.wait_until(&mut gate, clock::instant(wake));
        }
    }

    /// The time on the run's own clock.
    fn at(&self, now: Nanos) -> Nanos {
        now.saturating_sub(self.start)
    }

    /// What may start now; first ends `finished`, a request of that user.
    fn take_due(&self, finished: Option<Option<u32>>) -> Vec<Arrival> {
        let mut gate = self.gate.lock();
        let now = self.at(clock::now());
        let next_before = gate.driver.next_due();
        if let Some(user) = finished {
            gate.in_flight -= 1;
            gate.driver.finished(user, now);
        }
        let mut due = Vec::new();
        while !gate.over
            && !gate.is_cut_short()
            && let Some(arrival) = gate.driver.take_due(now)
        {
            gate.in_flight += 1;
            due.push(arrival);
            gate.flooded = gate.in_flight > UNDER_WAY_MAX;
        }
        let idle = gate.in_flight == 0;
        let sooner = match (gate.driver.next_due(), next_before) {
            (Some(next), Some(before)) => next < before,
            (next, _) => next.is_some(),
        };
        drop(gate);
        if idle || sooner {
            self.changed.notify_one();
        }
        due
    }

    fn submit(self: &Arc<Self>, arrival: Arrival) {
        let request = Request {
            run: Arc::clone(self),
            endpoint: arrival.endpoint,
            user: arrival.user,
            intended: self.start + arrival.intended,
            served: None,
        };
        self.tally.lock().queued(clock::now());
        let run = Arc::clone(self);
        let refused = move |why| run.refuse(why);
        let cursor = Cursor::new(arrival.stream);
        self.server.submit(arrival.endpoint, cursor, Box::new(request), refused);
    }

    /// The server takes no more requests: the run ends, if it has not.
    fn refuse(&self, why: RejectedWhy) {
        let mut gate = self.gate.lock();
        if !gate.over {
            gate.refused = Some(why);
        }
        drop(gate);
        self.changed.notify_one();
    }

    /// How much of the run is done.
    fn done(&self, until: Until) -> f64 {
        match until {
            Until::Duration(length) => self.at(clock::now()) as f64 / nanos(length).max(1) as f64,
            Until::Requests(wanted) => {
                let tally = self.tally.lock();
                let finished: u64 = tally.endpoints.iter().map(|e| e.requests()).sum();
                finished as f64 / wanted.max(1) as f64
            }
        }
        .min(1.0)
    }
}

impl Gate {
    /// Whether the run ends for a reason of its own.
    fn is_cut_short(&self) -> bool {
        self.flooded || self.refused.is_some()
    }
}

impl Watch for Request {
    fn started(&self) {
        self.run.tally.lock().started(clock::now());
    }

    fn served(mut self: Box<Self>, served: Served) {
        self.served = Some(served);
    }
}

impl Drop for Request {
    /// Counts the request and starts its user's next one; also when its handler panicked.
    fn drop(&mut self) {
        let at = clock::now();
        let run = &self.run;
        let served = self.served.take().unwrap_or_else(Served::panicked);
        if at <= run.end && !run.gate.lock().over {
            run.tally.lock().finished(Finished {
                endpoint: self.endpoint,
                intended: self.intended,
                at,
                ended: served.ended,
                demand: served.demand,
                waits: served.waits,
                in_pools: served.in_pools,
            });
        }
        for arrival in run.take_due(Some(self.user)) {
            run.submit(arrival);
        }
    }
}
