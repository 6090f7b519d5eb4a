//! The worst samples, and the selection of the one that the next worse sample replaces.
//!
//! The samples are in the block's cells in the order of their arrival. A separate heap determines the least bad.
//! Searching all samples whenever a new one arrives would cost more than all other work of tardy for a thousand
//! wake-ups.

use tardy_record::series::WORST_COUNT;
use tardy_sys::cell64::Cell64;

use super::wakeup::Wakeup;
use crate::cells::{WORST_CELLS, Worst};

/// The worst samples in a block's cells.
pub(super) struct WorstSamples<'a> {
    samples: &'a [Cell64],
    count: &'a Cell64,
    /// A binary heap, the least at its root. Free places have the lowest possible lateness.
    heap: [Place; WORST_COUNT],
}

#[derive(Clone, Copy)]
struct Place {
    late_ns: i64,
    slot: usize,
}

impl<'a> WorstSamples<'a> {
    /// An empty set. `samples` are the cells for the samples, and `count` the cell for their number.
    pub(super) fn new(samples: &'a [Cell64], count: &'a Cell64) -> Self {
        Self { samples, count, heap: [Place { late_ns: i64::MIN, slot: 0 }; WORST_COUNT] }
    }

    /// A lateness up to this one is not among the worst.
    #[inline(always)]
    pub(super) fn floor_ns(&self) -> i64 {
        self.heap[0].late_ns
    }

    /// Keeps a wake-up later than [`Self::floor_ns`]. If there is no free place, it replaces the least bad sample.
    pub(super) fn keep(&mut self, wakeup: &Wakeup) {
        let count = self.count.get() as usize;
        let slot = if count < WORST_COUNT { count } else { self.heap[0].slot };
        let cell = |field: Worst| &self.samples[slot * WORST_CELLS + field as usize];
        cell(Worst::Lateness).set(wakeup.late_ns as u64);
        cell(Worst::At).set(wakeup.at_ns);
        cell(Worst::Cycle).set(wakeup.cycle);
        if count < WORST_COUNT {
            self.count.set(count as u64 + 1);
        }
        self.replace_least(Place { late_ns: wakeup.late_ns, slot });
    }

    /// Puts `place` at the root and moves it down to its position.
    fn replace_least(&mut self, place: Place) {
        let mut at = 0;
        loop {
            let (left, right) = (2 * at + 1, 2 * at + 2);
            let least = if right < WORST_COUNT && self.heap[right].late_ns < self.heap[left].late_ns {
                right
            } else {
                left
            };
            if least >= WORST_COUNT || self.heap[least].late_ns >= place.late_ns {
                self.heap[at] = place;
                return;
            }
            self.heap[at] = self.heap[least];
            at = least;
        }
    }
}
