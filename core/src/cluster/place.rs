//! One worker's place: there is a process in it, or one to come, until the place is given up.

use super::backoff::Backoff;
use super::desk::Phase;
use super::keeper::Keeper;
use super::life::{Gone, Life};
use crate::executor::TaskError;
use std::rc::Rc;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::sync::{Notify, mpsc, oneshot};
use tokio::task::{JoinHandle, spawn_local};

/// What a place is told.
pub(super) enum Told {
    /// Start another process, then let this one go.
    Replace(oneshot::Sender<Result<(), String>>),
    /// Give the place up: the process finishes what it has, at most until then.
    Leave(Option<Instant>),
}

/// A process in its place.
struct Incumbent {
    life: super::dispatch::WorkerId,
    since: Instant,
    kill: Arc<Notify>,
    ends: JoinHandle<Gone>,
}

/// What comes next for a place.
enum Next {
    Boot { after: Duration },
    Left,
}

/// Keeps the place. `first` hears of the first boot.
pub(super) async fn run(
    keeper: Rc<Keeper>,
    number: u32,
    mut told: mpsc::UnboundedReceiver<Told>,
    first: oneshot::Sender<Result<(), String>>,
) {
    let mut first = Some(first);
    // Who wants another process than there was, while there is none.
    let mut replaced = None;
    let mut backoff = Backoff::default();
    let mut next = Next::Boot { after: Duration::ZERO };
    while let Next::Boot { after } = next {
        let booted = tokio::select! {
            booted = boot(&keeper, number, after) => booted,
            order = told.recv() => match order {
                // What is about to start may be older than what is asked for.
                Some(Told::Replace(reply)) => {
                    replaced = Some(reply);
                    next = Next::Boot { after: Duration::ZERO };
                    continue;
                }
                Some(Told::Leave(_)) | None => return,
            },
        };
        let mut heard = |result: Result<(), String>| {
            let replaced = replaced.take().map(|replaced| replaced.send(result.clone()));
            drop((replaced, first.take().map(|first| first.send(result))));
        };
        next = match booted {
            Ok(incumbent) => {
                keeper.hopeless.borrow_mut().remove(&number);
                heard(Ok(()));
                serve(&keeper, number, incumbent, &mut told, &mut backoff).await
            }
            Err(why) => {
                tracing::error!(target: "gvl_lab::cluster", number, why, "worker does not serve");
                let after = backoff.failed_to_boot();
                if backoff.is_hopeless() {
                    give_up(&keeper, number, &why);
                }
                heard(Err(why));
                Next::Boot { after }
            }
        };
    }
}

async fn boot(keeper: &Rc<Keeper>, number: u32, after: Duration) -> Result<Incumbent, String> {
    tokio::time::sleep(after).await;
    let life = Life::begin(keeper, number).await?;
    Ok(Incumbent {
        life: life.id,
        since: life.since,
        kill: life.killer(),
        ends: spawn_local(life.run(Rc::clone(keeper))),
    })
}

/// Waits for the end of the process, or for what the place is told.
async fn serve(
    keeper: &Rc<Keeper>,
    number: u32,
    mut incumbent: Incumbent,
    told: &mut mpsc::UnboundedReceiver<Told>,
    backoff: &mut Backoff,
) -> Next {
    loop {
        tokio::select! {
            gone = &mut incumbent.ends => {
                let announced = gone.is_ok_and(|gone| gone.announced);
                let served = if announced { Duration::MAX } else { incumbent.since.elapsed() };
                return Next::Boot { after: backoff.lost(served) };
            }
            order = told.recv() => match order {
                Some(Told::Replace(reply)) => {
                    let replaced = tokio::select! {
                        replaced = replace(keeper, number, &mut incumbent) => Ok(replaced),
                        until = leave(told) => Err(until),
                    };
                    match replaced {
                        Ok(result) => drop(reply.send(result)),
                        Err(until) => {
                            let _ = reply.send(Err("the worker's place is given up".to_owned()));
                            dismiss(keeper, &mut incumbent, until).await;
                            return Next::Left;
                        }
                    }
                }
                Some(Told::Leave(until)) => {
                    dismiss(keeper, &mut incumbent, until).await;
                    return Next::Left;
                }
                None => return Next::Left,
            }
        }
    }
}

/// Starts a successor, and when it serves lets the process go. Dropped on the way it leaves one of
/// them in the place; the other one is killed.
async fn replace(
    keeper: &Rc<Keeper>,
    number: u32,
    incumbent: &mut Incumbent,
) -> Result<(), String> {
    let successor = boot(keeper, number, Duration::ZERO).await?;
    let mut before = Doomed(std::mem::replace(incumbent, successor));
    dismiss(keeper, &mut before.0, Instant::now().checked_add(keeper.grace)).await;
    Ok(())
}

/// A process that is killed when nobody waits for it any more.
struct Doomed(Incumbent);

impl Drop for Doomed {
    fn drop(&mut self) {
        self.0.kill.notify_one();
    }
}

/// Lets a process finish what it has, at most until then, and waits for its end.
async fn dismiss(keeper: &Keeper, incumbent: &mut Incumbent, until: Option<Instant>) {
    keeper.shared.change(|desk, acts| desk.close(incumbent.life, acts));
    if let Some(until) = until {
        if tokio::time::timeout_at(until.into(), &mut incumbent.ends).await.is_ok() {
            return;
        }
        incumbent.kill.notify_one();
    }
    let _ = (&mut incumbent.ends).await;
}

/// Waits until the place is given up; until when. What else it is told meanwhile is refused.
async fn leave(told: &mut mpsc::UnboundedReceiver<Told>) -> Option<Instant> {
    loop {
        match told.recv().await {
            Some(Told::Replace(reply)) => {
                let _ = reply.send(Err("the worker is about to be replaced".to_owned()));
            }
            Some(Told::Leave(until)) => return until,
            None => return Some(Instant::now()),
        }
    }
}

/// No worker starts here. Where that holds for all places, every task that waits ends.
fn give_up(keeper: &Keeper, number: u32, why: &str) {
    let mut hopeless = keeper.hopeless.borrow_mut();
    hopeless.insert(number, why.to_owned());
    if hopeless.len() < keeper.places.get() as usize {
        return;
    }
    drop(hopeless);
    keeper.shared.change(|desk, acts| {
        if desk.stations.is_empty() && desk.phase == Phase::Open {
            desk.phase = Phase::Broken(why.to_owned());
            desk.end_all(&TaskError::NoWorkers(why.to_owned()), acts);
        }
    });
    keeper.shared.tell();
}
