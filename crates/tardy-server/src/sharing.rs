//! What threads share: locks, and news that wake the threads that wait for them.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// Locks what no holder leaves half changed, even if it panics.
pub(crate) fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Does `work` on a thread that goes on if it panics, of which the program's output has the reason.
///
/// # Errors
/// If it panicked.
pub(crate) fn caught<T>(work: impl FnOnce() -> T) -> Result<T, Panicked> {
    catch_unwind(AssertUnwindSafe(work)).map_err(|_| Panicked)
}

/// The work panicked.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Panicked;

/// Wakes the threads that follow what happens: runs that were added, states that were set, the end of the server.
#[derive(Debug, Default)]
pub(crate) struct News {
    state: Mutex<NewsState>,
    changed: Condvar,
    reported: Mutex<String>,
}

#[derive(Clone, Copy, Debug, Default)]
struct NewsState {
    count: u64,
    ended: bool,
}

impl News {
    /// Something happened.
    pub(crate) fn tell(&self) {
        locked(&self.state).count += 1;
        self.changed.notify_all();
    }

    /// The server ends.
    pub(crate) fn end(&self) {
        locked(&self.state).ended = true;
        self.changed.notify_all();
    }

    /// Waits until something happened since the caller's `seen`, or for `at_most`. Returns false when the server ends.
    pub(crate) fn wait(&self, seen: &mut u64, at_most: Duration) -> bool {
        let state = locked(&self.state);
        let nothing_new = |state: &mut NewsState| state.count == *seen && !state.ended;
        let (state, _) = self
            .changed
            .wait_timeout_while(state, at_most, nothing_new)
            .unwrap_or_else(PoisonError::into_inner);
        *seen = state.count;
        !state.ended
    }

    /// Waits for this time, whatever happens. Returns false, at once, when the server ends.
    pub(crate) fn pause(&self, time: Duration) -> bool {
        let state = locked(&self.state);
        let (state, _) = self
            .changed
            .wait_timeout_while(state, time, |state| !state.ended)
            .unwrap_or_else(PoisonError::into_inner);
        !state.ended
    }

    /// Reports a problem that lasts, once.
    pub(crate) fn report_once(&self, problem: &str) {
        let mut reported = locked(&self.reported);
        if *reported != problem {
            eprintln!("tardy serve: {problem}");
            problem.clone_into(&mut reported);
        }
    }
}
