//! How long a thread keeps a core that another one wants.

use super::{begin, end, median, stay_on_one_core};
use crate::clock;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

/// How long it is watched.
const WATCHED: Duration = Duration::from_millis(400);

/// Who is away for longer was not running.
const AWAY: Duration = Duration::from_micros(200);

/// The median length of the runs of two threads that compute on one core; `None` where there were too
/// few to tell.
pub(super) fn length() -> io::Result<Option<Duration>> {
    let over = Arc::new(AtomicBool::new(false));
    let computing = |over: Arc<AtomicBool>| {
        move || {
            stay_on_one_core()?;
            Ok(runs(&over))
        }
    };
    let computes = |_| begin(computing(Arc::clone(&over)));
    let begun: Vec<_> = (0..2).map(computes).collect::<Result<_, _>>()?;
    thread::sleep(WATCHED);
    // ORDERING: a flag of its own.
    over.store(true, Ordering::Relaxed);
    let mut all = Vec::new();
    for thread in begun {
        let runs: io::Result<Vec<Duration>> = end(thread)?;
        all.extend(runs?);
    }
    let length = (all.len() >= 5).then(|| median(&mut all));
    // What a machine file may say.
    Ok(length.map(|d| d.clamp(Duration::from_micros(10), Duration::from_secs(1))))
}

/// The lengths of this thread's runs, the first and the last left out.
fn runs(over: &AtomicBool) -> Vec<Duration> {
    let away = clock::nanos(AWAY);
    let mut runs = Vec::new();
    let (mut began, mut last) = (None, clock::now());
    while !over.load(Ordering::Relaxed) {
        let now = clock::now();
        if now - last > away {
            if let Some(began) = began {
                runs.push(Duration::from_nanos(last - began));
            }
            began = Some(now);
        }
        last = now;
    }
    runs
}
