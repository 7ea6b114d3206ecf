//! The cluster's thread: it starts workers, reads what they say, replaces those that are lost.
//!
//! One place (`place.rs`) a worker number, one life (`life.rs`) a process; both are tasks of a
//! runtime of one thread, so that they share without locks what is not the desk's. The thread lives
//! as long as the workers: the system ends a worker when the thread that started it ends.

use super::client;
use super::desk::Phase;
use super::launch::Launchpad;
use super::place::{self, Told};
use super::shared::Shared;
use crate::executor::TaskError;
use std::cell::{Cell, RefCell};
use std::os::fd::OwnedFd;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::mpsc::{Sender, channel};
use std::time::{Duration, Instant};
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::{Mutex, mpsc, oneshot};
use tokio::task::{JoinHandle, spawn_local};

/// What the master wants.
pub(super) enum Command {
    /// So many workers.
    Scale(u32, Sender<Result<(), String>>),
    /// A new process for each worker, one after the other.
    Restart(Sender<Result<(), String>>),
    /// The end: what is left at that time is cancelled.
    Stop(Option<Instant>, Sender<Ended>),
}

/// How the end went.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Ended {
    pub(super) drained: bool,
    pub(super) cancelled: u64,
}

/// What all places share.
pub(super) struct Keeper {
    pub(super) shared: Arc<Shared>,
    /// There until the end.
    pub(super) pad: Mutex<Option<Launchpad>>,
    pub(super) listener: Option<OwnedFd>,
    pub(super) slots: u32,
    /// The longest frame of a task or its answer.
    pub(super) frame_max: u32,
    pub(super) boot_max: Duration,
    pub(super) grace: Duration,
    /// The next process's number.
    pub(super) next: Cell<u64>,
    /// Places where starting a worker is hopeless: why, by number.
    pub(super) hopeless: RefCell<std::collections::BTreeMap<u32, String>>,
    /// Places that are to have one.
    pub(super) places: Cell<u32>,
}

/// One place, as the keeper sees it.
struct Place {
    told: mpsc::UnboundedSender<Told>,
    ends: JoinHandle<()>,
}

/// How long workers that were told to exit have before they are killed, once nobody waits for their
/// tasks any more.
const LAST_MOMENT: Duration = Duration::from_millis(500);

/// Runs until it is told to stop. `booted` hears when every worker serves or failed for the first
/// time: the failures.
pub(super) async fn run(
    keeper: Rc<Keeper>,
    workers: u32,
    on_signals: bool,
    outgoing: Option<(mpsc::UnboundedReceiver<u64>, client::Address)>,
    mut commands: mpsc::UnboundedReceiver<Command>,
    booted: Sender<Vec<String>>,
) {
    let deadlines = spawn_local(expire(Arc::clone(&keeper.shared)));
    let clients = outgoing.map(|(tasks, address)| {
        spawn_local(client::run(Arc::clone(&keeper.shared), tasks, address, keeper.frame_max))
    });
    let mut places = Vec::new();
    let mut firsts = Vec::new();
    for number in 0..workers {
        let (place, first) = take_place(&keeper, number);
        places.push(place);
        firsts.push(first);
    }
    spawn_local(async move {
        let mut failures = Vec::new();
        for first in firsts {
            if let Ok(Err(why)) = first.await {
                failures.push(why);
            }
        }
        // Nobody waits where the cluster was dropped meanwhile.
        let _ = booted.send(failures);
    });
    let mut signals = on_signals.then(Signals::new).flatten();
    let reply = loop {
        let command = tokio::select! {
            command = commands.recv() => command,
            () = Signals::next(&mut signals) => {
                tracing::info!(target: "gvl_lab::cluster", "told by a signal to stop");
                keeper.shared.stop();
                Some(Command::Stop(Instant::now().checked_add(keeper.grace), channel().0))
            }
        };
        // A stop comes first, whatever is under way: the reply of that is dropped.
        match command {
            Some(Command::Scale(workers, reply)) => {
                tokio::select! {
                    result = scale(&keeper, &mut places, workers) => drop(reply.send(result)),
                    () = stopping(&keeper.shared) => {}
                }
            }
            Some(Command::Restart(reply)) => {
                tokio::select! {
                    result = restart(&keeper, &places) => drop(reply.send(result)),
                    () = stopping(&keeper.shared) => {}
                }
            }
            Some(Command::Stop(until, reply)) => break Some((until, reply)),
            None => break None,
        }
    };
    let (mut until, mut replies) = match reply {
        Some((until, reply)) => (until, vec![reply]),
        None => (Some(Instant::now()), Vec::new()),
    };
    keeper.shared.stop();
    let drained = loop {
        tokio::select! {
            drained = drain(&keeper.shared, until) => break drained,
            // Whoever has the least patience decides.
            Some(command) = commands.recv() => if let Command::Stop(sooner, reply) = command {
                until = [until, sooner].into_iter().flatten().min();
                replies.push(reply);
            },
            () = Signals::next(&mut signals) => until = Some(Instant::now()),
        }
    };
    let ended = stop(&keeper, places, drained, until).await;
    deadlines.abort();
    clients.inspect(JoinHandle::abort);
    for reply in replies {
        let _ = reply.send(ended);
    }
}

fn take_place(keeper: &Rc<Keeper>, number: u32) -> (Place, oneshot::Receiver<Result<(), String>>) {
    let (told, orders) = mpsc::unbounded_channel();
    let (first, heard) = oneshot::channel();
    let ends = spawn_local(place::run(Rc::clone(keeper), number, orders, first));
    keeper.places.set(keeper.places.get() + 1);
    (Place { told, ends }, heard)
}

async fn scale(keeper: &Rc<Keeper>, places: &mut Vec<Place>, workers: u32) -> Result<(), String> {
    let mut firsts = Vec::new();
    while places.len() < workers as usize {
        let (place, first) = take_place(keeper, places.len() as u32);
        places.push(place);
        firsts.push(first);
    }
    keeper.places.set(workers);
    for place in &places[workers as usize..] {
        let _ = place.told.send(Told::Leave(Instant::now().checked_add(keeper.grace)));
    }
    // One after the other, so that who stops meanwhile finds those that are left.
    while places.len() > workers as usize {
        let last = places.last_mut().expect("there are more than wanted");
        let _ = (&mut last.ends).await;
        places.pop();
    }
    let mut result = Ok(());
    for first in firsts {
        result = result.and(first.await.unwrap_or(Ok(())));
    }
    result
}

/// Replaces every worker, and the template before them: the application is loaded anew.
async fn restart(keeper: &Keeper, places: &[Place]) -> Result<(), String> {
    if let Some(pad) = keeper.pad.lock().await.as_mut() {
        pad.renew().await;
    }
    let mut result = Ok(());
    for place in places {
        let (reply, replaced) = oneshot::channel();
        let _ = place.told.send(Told::Replace(reply));
        result = replaced.await.unwrap_or_else(|_| Err("the cluster stops".to_owned()));
        if result.is_err() {
            break;
        }
    }
    if let Some(pad) = keeper.pad.lock().await.as_mut() {
        pad.retire(result.is_ok()).await;
        let template = pad.template();
        keeper.shared.look(|desk| desk.template = template);
    }
    result
}

/// Waits until nothing more is accepted.
async fn stopping(shared: &Shared) {
    while shared.look(|desk| matches!(desk.phase, Phase::Open | Phase::Broken(_))) {
        shared.stopping.notified().await;
    }
}

/// Waits for the tasks at most until then; whether all have ended.
async fn drain(shared: &Shared, until: Option<Instant>) -> bool {
    let idle = async {
        // Looked at now and then: nobody is woken for it while tasks end at full speed.
        let mut pause = Duration::from_micros(100);
        while shared.look(|desk| desk.has_open()) {
            tokio::time::sleep(pause).await;
            pause = (pause * 2).min(Duration::from_millis(5));
        }
    };
    match until {
        None => {
            idle.await;
            true
        }
        Some(until) => tokio::time::timeout_at(until.into(), idle).await.is_ok(),
    }
}

/// Cancels what is left, and ends the workers.
async fn stop(
    keeper: &Rc<Keeper>,
    places: Vec<Place>,
    drained: bool,
    until: Option<Instant>,
) -> Ended {
    let shared = &keeper.shared;
    let cancelled = shared.change(|desk, acts| desk.end_all(&TaskError::Cancelled, acts));
    let last = Instant::now() + LAST_MOMENT;
    // Where nothing was left they exit by themselves, as far as the grace allows it.
    let last = if cancelled == 0 { until.map_or(last, |until| until.max(last)) } else { last };
    for place in &places {
        let _ = place.told.send(Told::Leave(Some(last)));
    }
    for place in places {
        let _ = place.ends.await;
    }
    if let Some(pad) = keeper.pad.lock().await.take() {
        pad.end().await;
    }
    Ended { drained: drained && cancelled == 0, cancelled }
}

/// Ends tasks whose deadline comes.
async fn expire(shared: Arc<Shared>) {
    loop {
        match shared.expire() {
            Some(next) => {
                tokio::select! {
                    () = tokio::time::sleep_until(next.into()) => {}
                    () = shared.sooner.notified() => {}
                }
            }
            None => shared.sooner.notified().await,
        }
    }
}

/// SIGTERM and SIGINT.
struct Signals(tokio::signal::unix::Signal, tokio::signal::unix::Signal);

impl Signals {
    fn new() -> Option<Self> {
        let both = signal(SignalKind::terminate()).and_then(|term| {
            signal(SignalKind::interrupt()).map(|interrupt| Self(term, interrupt))
        });
        both.inspect_err(|error| {
            tracing::error!(target: "gvl_lab::cluster", %error, "signals are not heard");
        })
        .ok()
    }

    /// Waits for the next one; for ever where none is heard.
    async fn next(signals: &mut Option<Self>) {
        match signals {
            None => std::future::pending().await,
            Some(Self(term, interrupt)) => {
                tokio::select! {
                    _ = term.recv() => {}
                    _ = interrupt.recv() => {}
                }
            }
        }
    }
}
