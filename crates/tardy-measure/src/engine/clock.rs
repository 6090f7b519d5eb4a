//! The supervisor's time: ns since the start of the run.

use std::cell::Cell;
use std::io;
use std::os::fd::RawFd;

use tardy_sys::clock::monotonic_ns;
use tardy_sys::signals::wait_readable;
use tardy_sys::thread_usage;

/// The time of a run, and waiting in it.
pub(crate) trait Clock {
    /// Time since the start of the run, in ns.
    fn now_ns(&self) -> u64;

    /// Start of the run on the monotonic clock, in ns; 0 for a synthetic clock.
    fn start_ns(&self) -> u64;

    /// Advances a synthetic clock to `then_ns`, unless it is later already. No effect on a real clock.
    fn advance_to(&self, then_ns: u64);

    /// How often the calling thread has slept so far; constant for a clock that does not wait.
    fn sleeps(&self) -> u64 {
        0
    }

    /// Waits until one of `descriptors` is readable, for at most `at_most_ns`. Returns which of them are readable.
    fn wait(&self, descriptors: &[RawFd], at_most_ns: u64) -> io::Result<Vec<bool>> {
        wait_readable(descriptors, at_most_ns)
    }
}

/// The monotonic clock.
#[derive(Debug)]
pub(crate) struct MonotonicClock {
    start_ns: u64,
}

impl MonotonicClock {
    /// A clock that starts now.
    pub(crate) fn start() -> Self {
        Self { start_ns: monotonic_ns() }
    }
}

impl Clock for MonotonicClock {
    fn now_ns(&self) -> u64 {
        monotonic_ns() - self.start_ns
    }

    fn start_ns(&self) -> u64 {
        self.start_ns
    }

    fn advance_to(&self, _then_ns: u64) {}

    fn sleeps(&self) -> u64 {
        thread_usage::sleeps_of_this_thread()
    }
}

/// The clock of a synthetic run (`--fake`): it shows the time of the last synthetic reading.
#[derive(Debug, Default)]
pub(crate) struct SyntheticClock(Cell<u64>);

impl Clock for SyntheticClock {
    fn now_ns(&self) -> u64 {
        self.0.get()
    }

    fn start_ns(&self) -> u64 {
        0
    }

    fn advance_to(&self, then_ns: u64) {
        self.0.set(self.0.get().max(then_ns));
    }
}
