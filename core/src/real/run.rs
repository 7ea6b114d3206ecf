//! One run: a load on a server, from the first arrival to the last answer that counts.

use super::clients::{Attempt, Clients, Left, Then};
use super::server::{Call, ProcessUse, Server, Watch};
use crate::clock::{self, Nanos, nanos};
use crate::error::Error;
use crate::executor::RejectedWhy;
use crate::load::{Arrival, Driver, Load, Until};
use crate::measure::{Answered, Begin, Finished, Recording, Served, Snapshots, Tally};
use crate::model::Topology;
use crate::timeline::{Log, Timeline};
use crate::workload::Workload;
use parking_lot::{Condvar, Mutex, MutexGuard};
use std::collections::BTreeMap;
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
    half: Half,
    /// Whether clients give up.
    gives_up: bool,
    /// Whether the server looks for the client before it begins.
    sees_closed: bool,
    /// Guards: an arrival is started once, and none is forgotten.
    gate: Mutex<Gate>,
    /// Told when the next arrival is sooner than it was, or all is done.
    changed: Condvar,
    /// Guards nothing but itself; where both are held, taken after `gate`.
    tally: Mutex<Tally>,
}

/// What is half of a run, whose load is a time or a number of requests.
struct Half {
    time: Nanos,
    requests: u64,
}

struct Gate {
    driver: Driver,
    /// The clients, where they do not wait for ever.
    clients: Option<Clients>,
    in_flight: u64,
    /// Requests that ended in time.
    ended: u64,
    /// Half of the requests have ended, and the driving thread has not looked yet.
    half_ended: bool,
    /// Requests that ended after the time was over and before that was noticed.
    late: u64,
    over: bool,
    /// More requests came than may be under way.
    flooded: bool,
    /// Why the server takes no more requests.
    refused: Option<RejectedWhy>,
}

/// One attempt on its way.
struct Request {
    run: Arc<Run>,
    /// What the clients know it by, where they do not wait for ever.
    key: Option<u64>,
    endpoint: usize,
    user: Option<u32>,
    intended: Nanos,
    /// The worker process that had it.
    by: Option<u32>,
    /// What the server made of it; `None` if it is dropped on the way.
    served: Option<Served>,
}

/// What a run is told beside its server, its load and its seed.
#[derive(Debug, Clone, Copy, Default)]
pub struct Options {
    /// Look at the server's processes twice.
    pub snapshots: bool,
    /// Record what each thread does: so many events at most.
    pub timeline: Option<usize>,
    /// Where the figures begin; at the start, if nothing is said.
    pub begin: Option<Begin>,
}

/// Runs the load on the topology in real time; `observe` hears how much of it is done, from 0
/// to 1.
///
/// # Errors
/// Threads or processes that the system refuses, a program that cannot be a worker, a run of over an
/// hour, or more than 100,000 requests under way at once.
pub fn run(
    topology: &Topology,
    workload: &Workload,
    load: &Load,
    seed: u64,
    options: Options,
    observe: &mut dyn FnMut(f64),
) -> Result<Recording, Error> {
    let driver = Driver::new(load, workload, seed);
    let server = Server::start(topology, workload, load, seed, options.timeline)?;
    let told_late = server.tells_late();
    let before = options.snapshots.then(|| server.snapshot());
    let start = clock::now();
    let mut tally = Tally::new(workload, start, told_late);
    if let Some(begin) = options.begin {
        tally.begin_at(begin);
    }
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
        half: Half {
            time: start.saturating_add(nanos(length / 2)),
            requests: match until {
                Until::Duration(_) => u64::MAX,
                Until::Requests(wanted) => wanted.div_ceil(2),
            },
        },
        gives_up: load.patience.timeout.is_some(),
        sees_closed: topology.socket.sees_closed,
        gate: Mutex::new(Gate {
            driver,
            clients: Clients::new(&load.patience, seed),
            in_flight: 0,
            ended: 0,
            half_ended: false,
            late: 0,
            over: false,
            flooded: false,
            refused: None,
        }),
        changed: Condvar::new(),
        tally: Mutex::new(tally),
    });
    let mut under_load = None;
    let unfinished = run.drive(until, &mut |done| {
        if before.is_some() && under_load.is_none() && done >= 0.5 {
            under_load = Some(run.server.snapshot());
        }
        observe(done);
    });
    let snapshots = before.map(|before| {
        // A run that was over first is looked at as it ends.
        let under_load = under_load.unwrap_or_else(|| run.server.snapshot()).since(&before);
        Snapshots { before, under_load }
    });
    let mut used = run.server.used();
    let logs: Vec<_> = used.iter_mut().filter_map(log).collect();
    let lost = run.server.lost();
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
            let finished = tally.ended();
            if finished < wanted {
                let why = format!("{finished} of {wanted} requests after an hour");
                return Err(Error::failed("load.requests", why, "a run of less than an hour"));
            }
            Duration::from_nanos(tally.last_finish.max(tally.last_abandoned) - start)
        }
    };
    let left_out = tally.left_out(start + nanos(elapsed));
    let window = start..start + nanos(elapsed);
    let timeline = options.timeline.map(|_| {
        let endpoints = workload.endpoints.iter().map(|endpoint| endpoint.name.clone()).collect();
        Timeline::of_logs(logs, window, endpoints)
    });
    let by_process = std::mem::take(&mut tally.by_process);
    let processes = if told_late {
        by_worker(used, by_process, lost)
    } else {
        let here = used.pop().expect("this process used something");
        Recording {
            processes: [(std::process::id(), tally.ok)].into(),
            gvl: here.gvl,
            cpu: here.cpu.saturating_sub(cpu_before),
            event_loop: here.event_loop,
            ..Recording::default()
        }
    };
    let recording = Recording {
        elapsed,
        last_answer: Duration::from_nanos(tally.last_finish - start),
        unfinished,
        queue: tally.queue_use(start, start + nanos(elapsed)),
        endpoints: std::mem::take(&mut tally.endpoints),
        pools: std::mem::take(&mut tally.pools),
        snapshots,
        clients: load.patience.timeout.map(|_| tally.clients),
        timeline,
        ..processes
    };
    Ok(recording.without(left_out))
}

/// The log of a process, and who the process is.
fn log(process: &mut ProcessUse) -> Option<(Log, impl Fn(u32) -> (u32, u32) + use<>)> {
    let who = process.worker.unwrap_or((0, std::process::id()));
    process.log.take().map(|log| (log, move |_| who))
}

/// What the worker processes answered and used.
fn by_worker(
    used: Vec<ProcessUse>,
    mut answered: BTreeMap<u32, Answered>,
    mut lost: Vec<(u32, u32)>,
) -> Recording {
    let mut workers = Vec::new();
    for process in used {
        let (number, pid) = process.worker.expect("a worker has a number");
        let mut worker = answered.remove(&pid).unwrap_or_default().worker(number, pid);
        worker.gvl = process.gvl;
        worker.cpu = process.cpu;
        worker.event_loop = process.event_loop;
        workers.push(worker);
    }
    // Those that are gone cannot tell what they used.
    for (pid, answered) in answered {
        let place = lost.iter().position(|(_, of)| *of == pid);
        let number = place.map_or(0, |place| lost.swap_remove(place).0);
        let mut worker = answered.worker(number, pid);
        worker.lost = u64::from(place.is_some());
        workers.push(worker);
    }
    for (number, pid) in lost {
        let mut worker = Answered::default().worker(number, pid);
        worker.lost = 1;
        workers.push(worker);
    }
    Recording::of_workers(&workers)
}

impl Run {
    /// Starts arrivals as they fall due, until there are no more and all have ended, or the time
    /// is over; gives how many have not ended.
    fn drive(self: &Arc<Self>, until: Until, observe: &mut dyn FnMut(f64)) -> u64 {
        loop {
            let again = self.take_again();
            let due = self.take_due();
            let any = !due.is_empty() || !again.is_empty();
            again.into_iter().for_each(|attempt| self.send(attempt));
            due.into_iter().for_each(|arrival| self.submit(&arrival));
            observe(self.done(until));
            let mut gate = self.gate.lock();
            let now = clock::now();
            let done = gate.under_way() == 0 && gate.driver.is_exhausted(self.at(now));
            if done || now >= self.end || gate.is_cut_short() {
                gate.over = true;
                return gate.in_flight + gate.late;
            }
            if any || std::mem::take(&mut gate.half_ended) {
                continue;
            }
            let next = gate.driver.next_due().map_or(self.end, |due| self.start + due);
            let half = if now < self.half.time { self.half.time } else { self.end };
            let late = gate.clients.as_ref().and_then(Clients::next_due).unwrap_or(self.end);
            let wake = next.min(late).min(half).min(self.end).min(now + nanos(NEWS));
            self.changed.wait_until(&mut gate, clock::instant(wake));
        }
    }

    /// The time on the run's own clock.
    fn at(&self, now: Nanos) -> Nanos {
        now.saturating_sub(self.start)
    }

    /// What may start now.
    fn take_due(&self) -> Vec<Arrival> {
        let gate = self.gate.lock();
        let next_before = gate.driver.next_due();
        self.take_due_of(gate, next_before)
    }

    /// Lets the clients leave whose patience is over, and gives the attempts that begin now.
    fn take_again(&self) -> Vec<Attempt> {
        let mut gate = self.gate.lock();
        // Whoever leaves when the time is over has not left in the run.
        let now = clock::now().min(self.end);
        let mut again = Vec::new();
        while let Some(left) = gate.clients.as_mut().and_then(|clients| clients.take_late(now)) {
            again.extend(self.leave(&mut gate, left));
        }
        while let Some(attempt) = gate.clients.as_mut().and_then(|clients| clients.take_paused(now))
        {
            again.push(attempt);
        }
        again
    }

    /// A client has left: the attempt that it makes at once, if it does; else its request has failed,
    /// unless it tries again later.
    fn leave(&self, gate: &mut Gate, left: Left) -> Option<Attempt> {
        if let Some(connection) = left.connection {
            self.server.part(connection);
        }
        match left.then {
            Then::Again(attempt) => return Some(attempt),
            Then::Later => return None,
            Then::Fails => {}
        }
        let Attempt { endpoint, user, intended, .. } = left.attempt;
        let served = &Served::without_an_end("timeout");
        let finished = Finished { endpoint, intended, at: left.at, pid: None, served };
        self.count(gate, left.at, &finished);
        gate.in_flight -= 1;
        gate.driver.finished(user, self.at(clock::now()));
        None
    }

    /// Counts an attempt that was answered, and gives what may start now: its user's next one. Where
    /// its client has left there is nothing to count but work for nobody, and that client's next
    /// attempt, if the server saw it leave first.
    fn finish(
        &self,
        key: Option<u64>,
        user: Option<u32>,
        finished: &Finished,
    ) -> (Vec<Arrival>, Option<Attempt>) {
        let mut gate = self.gate.lock();
        let next_before = gate.driver.next_due();
        let (at, mut again) = (finished.at, None);
        if let (Some(key), Some(clients)) = (key, &mut gate.clients) {
            let left = clients.left_before(key, at, finished.served.dropped);
            let waited = clients.answered(key);
            again = left.and_then(|left| self.leave(&mut gate, left));
            if !waited {
                if !gate.over && at <= self.end {
                    let served = Some(finished.served).filter(|served| !served.dropped);
                    self.tally.lock().abandoned(at, served);
                }
                return (self.take_due_of(gate, next_before), again);
            }
        }
        self.count(&mut gate, at, finished);
        gate.in_flight -= 1;
        gate.driver.finished(user, self.at(clock::now()));
        (self.take_due_of(gate, next_before), again)
    }

    /// Counts a request that ended.
    fn count(&self, gate: &mut Gate, at: Nanos, finished: &Finished) {
        if !gate.over {
            if at <= self.end {
                self.tally.lock().finished(finished);
                gate.ended += 1;
                if gate.ended == self.half.requests {
                    gate.half_ended = true;
                    self.changed.notify_one();
                }
            } else {
                gate.late += 1;
            }
        }
    }

    fn take_due_of(
        &self,
        mut gate: MutexGuard<'_, Gate>,
        next_before: Option<Nanos>,
    ) -> Vec<Arrival> {
        let now = self.at(clock::now());
        let mut due = Vec::new();
        while !gate.over
            && !gate.is_cut_short()
            && let Some(arrival) = gate.driver.take_due(now)
        {
            gate.in_flight += 1;
            due.push(arrival);
            gate.flooded = gate.under_way() > UNDER_WAY_MAX;
        }
        let idle = gate.under_way() == 0;
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

    fn submit(self: &Arc<Self>, arrival: &Arrival) {
        self.send(Attempt {
            number: arrival.number,
            attempt: 0,
            endpoint: arrival.endpoint,
            user: arrival.user,
            intended: self.start + arrival.intended,
        });
    }

    /// An attempt begins.
    fn send(self: &Arc<Self>, attempt: Attempt) {
        let now = clock::now();
        let Attempt { number, endpoint, user, intended, .. } = attempt;
        let (mut key, mut leaves, mut connection) = (None, None, user.map(u64::from));
        if self.gives_up {
            let mut gate = self.gate.lock();
            let clients = gate.clients.as_mut().expect("clients that give up are counted");
            let before = clients.next_due();
            connection = user.map(|user| clients.connection(user));
            let (begun, late) = clients.begin(attempt, now);
            (key, leaves) = (Some(begun), self.sees_closed.then_some(late));
            if before.is_none_or(|before| late < before) {
                self.changed.notify_one();
            }
        }
        let run = Arc::clone(self);
        let request = Request { run, key, endpoint, user, intended, by: None, served: None };
        let mut tally = self.tally.lock();
        if attempt.attempt > 0 {
            tally.retried(now);
        }
        tally.queued(now);
        drop(tally);
        let run = Arc::clone(self);
        let refused = move |why| run.refuse(why);
        let call = Call { number, attempt: attempt.attempt, endpoint, connection, leaves };
        self.server.submit(&call, Box::new(request), refused);
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
    /// Requests that have not ended, and attempts whose client has left.
    fn under_way(&self) -> u64 {
        self.in_flight + self.clients.as_ref().map_or(0, |clients| clients.gone)
    }

    /// Whether the run ends for a reason of its own.
    fn is_cut_short(&self) -> bool {
        self.flooded || self.refused.is_some()
    }
}

impl Watch for Request {
    fn started(&self) {
        self.run.tally.lock().started(clock::now());
    }

    fn started_at(&self, at: Nanos) {
        self.run.tally.lock().started(at);
    }

    fn served(mut self: Box<Self>, by: Option<u32>, served: Served) {
        self.by = by;
        self.served = Some(served);
    }
}

impl Drop for Request {
    /// Counts the request and starts its user's next one; also when its handler panicked.
    fn drop(&mut self) {
        let at = clock::now();
        let run = &self.run;
        let served = self.served.take().unwrap_or_else(|| Served::without_an_end("panicked"));
        let finished = Finished {
            endpoint: self.endpoint,
            intended: self.intended,
            at,
            pid: self.by,
            served: &served,
        };
        let (due, again) = run.finish(self.key, self.user, &finished);
        again.into_iter().for_each(|attempt| run.send(attempt));
        due.iter().for_each(|arrival| run.submit(arrival));
    }
}
