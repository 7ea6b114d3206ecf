//! A server in virtual time: its processes, and what each of their threads is at.
//!
//! `sim::run` tells it what happens; it tells the kernel what each thread does next. A role is a
//! small state machine a file: threads that serve, event loops, acceptors, reactors. All of them
//! serve requests through `serving`.

mod accept;
mod backlog;
mod client;
mod event_loop;
mod front;
mod interlock;
mod keep;
mod patience;
mod pools;
mod record;
mod request;
mod serving;
mod threads;
mod trim;

use self::accept::{Acceptor, Connection, Door, Listener, Reactor};
use self::backlog::Room;
use self::client::{Client, Turn};
use self::event_loop::{EventLoop, Loop};
use self::front::Front;
use self::interlock::Interlock;
use self::pools::{Databases, Pools};
use self::request::{RequestId, Requests, Stage};
use self::threads::Thread;
use self::trim::Trim;
use super::kernel::{Kernel, LockId, Record, Tid};
use crate::clock::{Nanos, nanos};
use crate::gvl::ThreadUsage;
use crate::load::{Arrival, Connections, Driver, Load, Patience};
use crate::machine::Machine;
use crate::measure::{Finished, GvlUse, Recording, Tally, WorkerRecording};
use crate::model::{Dispatch, Serving, ThreadsLive, Topology};
use crate::random::Stream;
use crate::workload::{Program, Workload};
use std::collections::VecDeque;
use std::time::Duration;

/// What roles ask to be reminded of.
#[derive(Debug, Clone, Copy)]
pub(super) enum Timer {
    /// A request arrives.
    Arrival,
    /// The client has opened a request's connection, or sent it.
    Client(RequestId, Turn, u32),
    /// A client that was given no connection asks again.
    Syn(RequestId, u32, u8),
    /// A client has waited long enough.
    GivesUp(RequestId, u32),
    /// A client tries again.
    Retry(RequestId),
    /// An async handler's wait is over.
    Await(RequestId, u32),
    /// A wait for a connection of a pool runs out.
    Checkout(RequestId, u32),
    /// An acceptor has waited long enough for a request to end.
    NoneEnded(u32, u32),
    /// A user's connection has had no request for too long.
    Idle(u32, u32),
    /// A process looks whether it has a thread too many.
    Trim(u32),
    /// A thread has waited long enough for the next request of a user's connection.
    NoneFollows(u32, u32),
}

/// What a thread is there for.
#[derive(Debug, Clone, Copy)]
enum Role {
    Thread(Thread),
    Loop(Loop),
    Acceptor(Acceptor),
    Reactor(Reactor),
}

/// The server and its clients.
pub(in crate::sim) struct Server<'a> {
    kernel: Kernel<Timer>,
    topology: &'a Topology,
    workload: &'a Workload,
    programs: Vec<Program>,
    driver: Driver,
    /// When the calendar has the next arrival.
    arrival_at: Option<Nanos>,
    processes: Vec<Process>,
    databases: Databases,
    /// By thread: its process and its role.
    roles: Vec<(u32, Role)>,
    requests: Requests,
    client: Client,
    costs: Costs,
    /// How long clients wait, and how often they try.
    patience: Patience,
    seed: u64,
    /// Attempts under way whose client has left.
    gone: u64,
    tally: Tally,
    /// The socket, where workers accept.
    listener: Option<Listener>,
    /// The users' connections, where they are kept.
    connections: Vec<Connection>,
    /// The proxy, where there is one.
    front: Option<Front>,
    /// The master's queue, where it has one.
    queue: Option<VecDeque<RequestId>>,
    /// A thread lives for one request.
    one_request: bool,
}

/// CPU time of a worker beside what requests ask for.
#[derive(Debug, Clone, Copy, Default)]
struct Costs {
    receive: Nanos,
    answer: Nanos,
}

impl Costs {
    fn of(machine: &Machine, topology: &Topology) -> Self {
        if !topology.dispatch.has_workers() {
            return Self::default();
        }
        Self { receive: nanos(machine.receive()), answer: nanos(machine.answer()) }
    }
}

/// A process that serves requests.
struct Process {
    lock: LockId,
    pools: Pools,
    interlock: Interlock,
    /// Requests for its threads.
    todo: VecDeque<RequestId>,
    /// Threads without a request, the longest idle first.
    idle: VecDeque<Tid>,
    live: u32,
    threads_max: u32,
    trim: Trim,
    event_loop: Option<EventLoop>,
    door: Door,
    /// Requests given to it, where the master has the queue.
    assigned: u32,
}

impl<'a> Server<'a> {
    pub(super) fn new(
        topology: &'a Topology,
        workload: &'a Workload,
        load: &Load,
        machine: &Machine,
        seed: u64,
        timeline: Option<usize>,
    ) -> Self {
        let keeps = load.connections == Connections::KeepAlive;
        let users = load.users().filter(|_| keeps && topology.dispatch != Dispatch::InProcess);
        let mut server = Self {
            kernel: Kernel::new(machine, seed),
            topology,
            workload,
            programs: workload.programs(),
            driver: Driver::new(load, workload, seed),
            arrival_at: None,
            processes: Vec::new(),
            databases: Databases::new(&workload.pools),
            roles: Vec::new(),
            requests: Requests::default(),
            client: Client::of(machine),
            costs: Costs::of(machine, topology),
            patience: load.patience.clone(),
            seed,
            gone: 0,
            tally: Tally::new(workload, 0, false),
            listener: topology
                .dispatch
                .accept()
                .map(|accept| Listener::new(accept, Room::new(topology.socket, machine))),
            connections: vec![Connection::default(); users.unwrap_or(0) as usize],
            front: match &topology.dispatch {
                Dispatch::Balanced(balance) => Some(Front::new(balance, seed)),
                _ => None,
            },
            queue: (topology.dispatch == Dispatch::SharedQueue).then(VecDeque::new),
            one_request: matches!(
                topology.serving,
                Serving::Pool { threads_live: ThreadsLive::OneRequest, .. }
            ),
        };
        server.kernel.record = timeline.map(|max| Box::new(Record::new(max)));
        for number in 0..topology.processes {
            server.start_process(number, Stream::new(seed, "process", number.into()).bits());
        }
        server.arrivals();
        server
    }

    fn start_process(&mut self, number: u32, seed: u64) {
        let lock = self.kernel.add_lock(&self.topology.gvl, seed);
        let (least, most) = match self.topology.serving {
            Serving::Pool { max_threads, .. } if self.one_request => (0, max_threads),
            Serving::Pool { min_threads, max_threads, .. } => (min_threads, max_threads),
            Serving::EventLoop { offload_threads, .. } => (0, offload_threads),
        };
        self.processes.push(Process {
            lock,
            pools: Pools::new(&self.workload.pools),
            interlock: Interlock::default(),
            todo: VecDeque::new(),
            idle: VecDeque::new(),
            live: 0,
            threads_max: most,
            trim: Trim::of(self.topology.serving),
            event_loop: None,
            door: Door::default(),
            assigned: 0,
        });
        if let Serving::EventLoop { handlers, .. } = self.topology.serving {
            let tid = self.add(number, Role::Loop(Loop::Polls));
            self.processes[number as usize].event_loop = Some(EventLoop::new(tid, handlers));
            self.kernel.wake(tid);
            return;
        }
        (0..least).for_each(|_| self.spawn_thread(number));
        if self.listener.is_some() {
            let acceptor = self.add(number, Role::Acceptor(Acceptor::Gate));
            let reactor = self.add(number, Role::Reactor(Reactor::Poll));
            let door = &mut self.processes[number as usize].door;
            (door.acceptor, door.reactor) = (Some(acceptor), Some(reactor));
            self.kernel.wake(acceptor);
            self.kernel.wake(reactor);
        }
    }

    /// Adds a thread to a process.
    fn add(&mut self, number: u32, role: Role) -> Tid {
        // The application sets it for its own threads; acceptors, reactors and loops are the server's.
        let priority = match role {
            Role::Thread(_) => self.topology.gvl.priority,
            Role::Loop(_) | Role::Acceptor(_) | Role::Reactor(_) => 0,
        };
        let tid = self.kernel.add_thread(self.processes[number as usize].lock, priority);
        match self.roles.get_mut(tid.0 as usize) {
            Some(place) => *place = (number, role),
            None => self.roles.push((number, role)),
        }
        self.begins(tid, number, role);
        tid
    }

    /// Whether there is a master, whose workers are told apart.
    fn has_workers(&self) -> bool {
        self.topology.dispatch.has_workers()
    }

    /// The machine that it runs on.
    pub(super) fn kernel(&mut self) -> &mut Kernel<Timer> {
        &mut self.kernel
    }

    /// A thread wants to know what to do.
    pub(super) fn step(&mut self, tid: Tid) {
        let (number, role) = self.roles[tid.0 as usize];
        match role {
            Role::Thread(at) => self.step_thread(tid, number, at),
            Role::Loop(at) => self.step_loop(tid, number, at),
            Role::Acceptor(at) => self.step_acceptor(tid, number, at),
            Role::Reactor(at) => self.step_reactor(tid, number, at),
        }
    }

    /// A time has come.
    pub(super) fn remember(&mut self, timer: Timer) {
        match timer {
            // One that was entered before a sooner one is not needed any more.
            Timer::Arrival if self.arrival_at == Some(self.kernel.now()) => {
                self.arrival_at = None;
                self.arrivals();
            }
            Timer::Arrival => {}
            Timer::Client(id, turn, life) => self.turn_over(id, turn, life),
            Timer::Syn(id, life, resent) => self.knock_again(id, life, resent),
            Timer::GivesUp(id, life) => self.gives_up(id, life),
            Timer::Retry(id) => self.attempt(id),
            Timer::Await(id, wait) => {
                if self.requests.at(id).wait == wait {
                    self.resume(id);
                }
            }
            Timer::Checkout(id, wait) => self.checkout_late(id, wait),
            Timer::NoneEnded(number, wait) => self.none_ended(number, wait),
            Timer::Idle(user, number) => self.idle_too_long(user, number),
            Timer::Trim(number) => self.trim(number),
            Timer::NoneFollows(user, number) => self.none_follows(user, number),
        }
    }

    /// Whether every request has ended, and no more will come.
    pub(super) fn is_done(&self) -> bool {
        self.requests.under_way() == 0 && self.driver.is_exhausted(self.kernel.now())
    }

    pub(super) fn under_way(&self) -> u64 {
        self.requests.under_way()
    }

    pub(super) fn finished(&self) -> u64 {
        self.tally.ended()
    }

    /// What happened so far.
    pub(super) fn tally(&mut self) -> &mut Tally {
        &mut self.tally
    }

    /// Takes in what arrives now.
    fn arrivals(&mut self) {
        let now = self.kernel.now();
        while let Some(arrival) = self.driver.take_due(now) {
            self.submit(arrival);
        }
        let next = self.driver.next_due();
        if let Some(at) = next
            && self.arrival_at.is_none_or(|known| at < known)
        {
            self.arrival_at = next;
            self.kernel.remind(at, Timer::Arrival);
        }
    }

    fn submit(&mut self, arrival: Arrival) {
        let id = self.requests.add(arrival);
        self.attempt(id);
    }

    /// A request is there.
    fn deliver(&mut self, id: RequestId) {
        if self.listener.is_some() {
            if self.comes_over_connection(id) {
                self.requests.at_mut(id).stage = Stage::Inside;
            } else {
                self.knock(id, 0);
            }
            return;
        }
        self.requests.at_mut(id).stage = Stage::Inside;
        if let Some(queue) = &mut self.queue {
            queue.push_back(id);
            return self.hand_out();
        }
        let number = self.backend_for(id);
        if self.processes[number as usize].event_loop.is_some() {
            self.requests.at_mut(id).process = number;
            self.resume(id);
        } else {
            self.enqueue(number, id);
        }
    }

    /// The master gives what waits to the workers with a free thread, the idlest first.
    fn hand_out(&mut self) {
        while self.queue.as_ref().is_some_and(|queue| !queue.is_empty()) {
            let free = |p: &(usize, &Process)| p.1.assigned < p.1.threads_max;
            let free = self.processes.iter().enumerate().filter(free);
            let Some((number, _)) = free.min_by_key(|p| p.1.assigned) else { return };
            let Some(id) = self.queue.as_mut().and_then(VecDeque::pop_front) else { return };
            self.processes[number].assigned += 1;
            self.enqueue(number as u32, id);
        }
    }

    /// A request is served: it is counted, and its user goes on.
    fn finish(&mut self, id: RequestId) {
        let now = self.kernel.now();
        while let Some(pool) = self.requests.at_mut(id).held.pop() {
            self.give_back(id, pool);
        }
        self.leave_interlock(id);
        let request = self.requests.at(id);
        let (endpoint, user, number) = (request.endpoint, request.user, request.process);
        let (intended, served) = (request.intended, &request.served);
        let pid = self.has_workers().then(|| pid_of(number));
        let by = request.proxied_by;
        if request.gone {
            self.gone -= 1;
            self.tally.abandoned(now, (request.stage != Stage::Dropped).then_some(served));
        } else {
            self.tally.finished(&Finished { endpoint, intended, at: now, pid, served });
        }
        self.requests.end(id);
        self.proxied(by, number);
        self.answered(number, user);
        if self.queue.is_some() {
            self.processes[number as usize].assigned -= 1;
            self.hand_out();
        }
        if user.is_some() {
            self.driver.finished(user, now);
            self.arrivals();
        }
    }

    /// What the run left behind, which ended at `end`.
    pub(super) fn record(mut self, end: Nanos) -> Recording {
        let mut workers: Vec<_> =
            (0..self.processes.len()).map(|n| self.worker(n as u32, end)).collect();
        let processes = if !self.has_workers() {
            let here = workers.pop().expect("there is a process");
            Recording {
                processes: [(pid_of(0), self.tally.ok)].into(),
                gvl: here.gvl,
                cpu: here.cpu,
                event_loop: here.event_loop,
                ..Recording::default()
            }
        } else {
            Recording::of_workers(&workers)
        };
        let timeline = self.timeline(end);
        let throttled = self.kernel.throttled(end);
        self.databases.tell(&mut self.tally.pools);
        Recording {
            elapsed: Duration::from_nanos(end),
            timeline,
            throttled,
            last_answer: Duration::from_nanos(self.tally.last_finish),
            unfinished: self.requests.under_way() - self.gone,
            clients: self.patience.timeout.map(|_| self.tally.clients),
            backlog: self.listener.as_ref().map(|listener| listener.room.used(self.tally.drops)),
            queue: self.tally.queue_use(0, end),
            endpoints: std::mem::take(&mut self.tally.endpoints),
            pools: std::mem::take(&mut self.tally.pools),
            ..processes
        }
    }

    /// What a process did.
    fn worker(&mut self, number: u32, end: Nanos) -> WorkerRecording {
        let process = &self.processes[number as usize];
        let answered = self.tally.by_process.remove(&pid_of(number)).unwrap_or_default();
        let mut worker = answered.worker(number, pid_of(number));
        let (ended, waits, cpu) = self.kernel.totals(process.lock);
        let mut threads: Vec<ThreadUsage> = Vec::new();
        let mut served = 0;
        // What those used that have ended is known already.
        let threads_of = |(_, (of, role)): &(usize, &(u32, Role))| {
            *of == number && !matches!(role, Role::Thread(Thread::End))
        };
        for (n, (_, role)) in self.roles.iter().enumerate().filter(threads_of) {
            let name = match role {
                Role::Thread(_) => {
                    served += 1;
                    format!("thread {}", served - 1)
                }
                Role::Loop(_) => "loop".to_owned(),
                Role::Acceptor(_) => "acceptor".to_owned(),
                Role::Reactor(_) => "reactor".to_owned(),
            };
            threads.push(ThreadUsage { name, usage: self.kernel.usage(Tid(n as u32), end) });
        }
        if self.one_request {
            // Those that are left are among them.
            let usage = threads.drain(..).fold(ended, |sum, thread| sum + thread.usage);
            threads.push(ThreadUsage { name: "threads".to_owned(), usage });
        } else if ended.acquisitions > 0 {
            threads.push(ThreadUsage { name: "threads that ended".to_owned(), usage: ended });
        }
        worker.gvl = GvlUse::of_threads(threads, waits);
        worker.cpu = cpu;
        worker.event_loop = process.event_loop.as_ref().map(|event_loop| event_loop.used.clone());
        worker
    }
}

/// The process id that a process is given, from 1: there is no real one.
fn pid_of(number: u32) -> u32 {
    number + 1
}
