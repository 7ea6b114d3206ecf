//! What a worker does about signals: SIGINT is the master's affair, SIGTERM asks for an end.

use crate::sync::serve;
use std::mem::MaybeUninit;

/// Ignores SIGINT, and calls `term` at SIGTERM, on a thread of its own. Called before any other
/// thread is started: they inherit that SIGTERM is not for them.
///
/// # Errors
/// The system gives no thread.
pub(super) fn listen(name: &str, term: impl Fn() + Send + 'static) -> std::io::Result<()> {
    let set = term_set();
    // SAFETY: the set is initialised; ignoring a signal runs no code of ours in a handler.
    unsafe {
        libc::signal(libc::SIGINT, libc::SIG_IGN);
        libc::pthread_sigmask(libc::SIG_BLOCK, &raw const set, std::ptr::null_mut());
        // A template ignores it, and what a handler starts should not.
        libc::signal(libc::SIGTERM, libc::SIG_DFL);
    }
    serve(name, move || {
        loop {
            let mut signal = 0;
            // SAFETY: both pointers are to locals that live through the call.
            let failed = unsafe { libc::sigwait(&raw const set, &raw mut signal) };
            if failed == 0 {
                term();
            }
        }
    })
}

fn term_set() -> libc::sigset_t {
    let mut set = MaybeUninit::uninit();
    // SAFETY: sigemptyset initialises the set, and cannot fail for a set of ours.
    unsafe {
        libc::sigemptyset(set.as_mut_ptr());
        libc::sigaddset(set.as_mut_ptr(), libc::SIGTERM);
        set.assume_init()
    }
}
