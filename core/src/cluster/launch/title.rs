//! How `ps` shows a process that is this program again.

use procfs::process::Process;
use std::ptr::{copy_nonoverlapping, with_exposed_provenance_mut, write_bytes};

/// What every title begins with.
const OURS: &str = "gvl-lab: ";

/// The title of a template. Longer than that of any of its workers, which take its place.
pub(super) fn of_template(pool: &str) -> String {
    format!("{OURS}template of the workers of {pool}")
}

/// The title of a worker.
pub(super) fn of_worker(number: u32, pool: &str) -> String {
    format!("{OURS}worker {number} of {pool}")
}

/// Replaces the title of this process, if it has one of ours.
///
/// The system shows what is where it had put the program's arguments, and nobody else looks there:
/// what [`std::env::args`] gives is changed, too. This process has one thread.
pub(super) fn replace(title: &str) {
    let Some((from, room)) = arguments() else { return };
    let length = title.len().min(room);
    let place = with_exposed_provenance_mut::<u8>(from);
    // SAFETY: the system says that the arguments of this process are in these `room` + 1 bytes,
    // which are its own and can be written; all references to them are made by whoever reads
    // arguments, and are gone when the only thread is here. `length` is at most `room`.
    unsafe {
        copy_nonoverlapping(title.as_ptr(), place, length);
        write_bytes(place.add(length), 0, room + 1 - length);
    }
}

/// Where the arguments of this process are, and how many bytes before the last, which is 0; none
/// where the first is no title of ours.
fn arguments() -> Option<(usize, usize)> {
    let text = std::fs::read("/proc/self/cmdline").ok()?;
    let stat = Process::myself().and_then(|process| process.stat()).ok()?;
    let from = usize::try_from(stat.arg_start?).ok().filter(|from| *from > 0)?;
    let to = usize::try_from(stat.arg_end?).ok()?;
    let is_ours = text.starts_with(OURS.as_bytes()) && text.len() == to.checked_sub(from)?;
    is_ours.then_some((from, text.len() - 1))
}
