//! The last rise of the stimulus, passed from the thread that drives it to the thread that answers, in two cells of the
//! map's header.

use tardy_sys::cell64::Cell64;
use tardy_sys::shared_map::SharedMap;

use crate::cells::{HEADER_DRIVEN_AT, HEADER_DRIVEN_COUNT};

/// The last rise of the stimulus.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Rise {
    /// The number of rises so far, this one included.
    pub(super) count: u64,
    /// The time right before the write, monotonic.
    pub(super) at_ns: u64,
}

/// The cells that the two threads share.
#[derive(Clone, Copy)]
pub(super) struct Driven<'a> {
    count: &'a Cell64,
    at_ns: &'a Cell64,
}

impl<'a> Driven<'a> {
    pub(super) fn of(map: &'a SharedMap) -> Self {
        Self { count: map.header(HEADER_DRIVEN_COUNT), at_ns: map.header(HEADER_DRIVEN_AT) }
    }

    /// Announces a rise of the stimulus. Only the thread that drives it may call this.
    #[inline(always)]
    pub(super) fn set(self, rise: Rise) {
        self.at_ns.set(rise.at_ns);
        self.count.set(rise.count);
    }

    /// The last rise. The edge that it caused is seen later than this value is written: a system call, a wire and
    /// another system call are between the two.
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
