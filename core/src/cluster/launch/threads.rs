//! The threads of this process, beside the one that asks.

use procfs::ProcResult;
use procfs::process::{Process, StatFlags};
use rustix::thread::gettid;

/// Their names. One that is on its way out is none: it runs nothing of the program any more, and
/// whoever joined it was told so before the system has forgotten it.
///
/// # Errors
/// The system does not tell.
pub(super) fn others() -> ProcResult<Vec<String>> {
    let own = gettid().as_raw_nonzero().get();
    let mut names = Vec::new();
    for task in Process::myself()?.tasks()? {
        // It may have ended since it was listed.
        let Ok(stat) = task.and_then(|task| task.stat()) else { continue };
        let flags = StatFlags::from_bits_truncate(stat.flags);
        if stat.pid != own && !flags.contains(StatFlags::PF_EXITING) {
            names.push(stat.comm);
        }
    }
    Ok(names)
}

#[cfg(test)]
#[cfg(not(model_check))]
mod tests {
    use super::*;
    use std::sync::mpsc::channel;

    fn is_there(name: &str) -> bool {
        others().unwrap().iter().any(|other| other == name)
    }

    #[test]
    fn a_thread_is_there_until_it_was_joined() {
        for _ in 0..200 {
            let (end, ends) = channel::<()>();
            let (run, runs) = channel();
            let thread = std::thread::Builder::new().name("one of a kind".to_owned());
            let thread = thread.spawn(move || {
                run.send(()).unwrap();
                let _ = ends.recv();
            });
            runs.recv().unwrap();
            assert!(is_there("one of a kind"));
            drop(end);
            thread.unwrap().join().unwrap();
            assert!(!is_there("one of a kind"));
        }
    }
}
