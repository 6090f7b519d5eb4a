//! When the stimulus was driven last, from the thread that drives it to the one that answers, in two cells of the map's
//! header.

use tardy_sys::cell64::Cell64;
use tardy_sys::shared_map::SharedMap;

use crate::cells::{HEADER_DRIVEN_AT, HEADER_DRIVEN_COUNT};

/// The last rise of the stimulus.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Rise {
    /// How many there have been, this one included.
    pub(super) count: u64,
    /// The clock, monotonic, right before it was written.
    pub(super) at_ns: u64,
}

/// Where the two threads leave it.
#[derive(Clone, Copy)]
pub(super) struct Driven<'a> {
    count: &'a Cell64,
    at_ns: &'a Cell64,
}

impl<'a> Driven<'a> {
    pub(super) fn of(map: &'a SharedMap) -> Self {
        Self { count: map.header(HEADER_DRIVEN_COUNT), at_ns: map.header(HEADER_DRIVEN_AT) }
    }

    /// Says that the stimulus is about to rise. Only the thread that drives it may.
    #[inline(always)]
    pub(super) fn set(self, rise: Rise) {
        self.at_ns.set(rise.at_ns);
        self.count.set(rise.count);
    }

    /// The last rise. An edge that it made is seen later than what is written here: a system call, a wire and another
    /// system call lie between.
    #[inline(always)]
    pub(super) fn last(self) -> Rise {
        loop {
            let count = self.count.get();
            let at_ns = self.at_ns.get();
            if self.count.get() == count {
                return Rise { count, at_ns };
            }
        }
    }
}
