//! The house's time: ns since the start of the run.

use std::cell::Cell;

use tardy_sys::clock::monotonic_ns;

/// Real time, or with a fake probe the time that the probe's readings say has passed.
#[derive(Debug)]
pub(super) enum HouseClock {
    /// The monotonic clock.
    Real {
        /// Start of the run on it.
        start_ns: u64,
    },
    /// Set by hand.
    Fake(Cell<u64>),
}

impl HouseClock {
    /// A clock that starts now.
    pub(super) fn start(fake: bool) -> Self {
        if fake { Self::Fake(Cell::new(0)) } else { Self::Real { start_ns: monotonic_ns() } }
    }

    /// Time since the start of the run.
    pub(super) fn now_ns(&self) -> u64 {
        match self {
            Self::Real { start_ns } => monotonic_ns() - start_ns,
            Self::Fake(now_ns) => now_ns.get(),
        }
    }

    /// Start of the run on the monotonic clock, or what stands for it.
    pub(super) fn start_ns(&self) -> u64 {
        match self {
            Self::Real { start_ns } => *start_ns,
            Self::Fake(_) => 0,
        }
    }

    /// Lets fake time pass; real time passes by itself.
    pub(super) fn advance_to(&self, then_ns: u64) {
        if let Self::Fake(now_ns) = self {
            now_ns.set(now_ns.get().max(then_ns));
        }
    }
}
