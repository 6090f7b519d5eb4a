//! A ring in the shared map: one thread writes slots, another reads them, in two processes, and neither ever waits.
//!
//! Head and tail are running 32-bit counts of slots that wrap, so the whole ring can be used and `head == tail` always
//! means empty. Every target has 32-bit atomics, ARMv5 included; a slot's cells need no atomics, since the head is
//! published after they are written and the tail after they are read. Head and tail each have a cache line, and the
//! writer reads the tail only when the ring seems full: a wake-up touches only its slot and the head.

use std::sync::atomic::{AtomicU32, Ordering};

use crate::cell64::Cell64;

/// Cells per slot.
pub const SLOT_CELLS: usize = 3;

/// The content of a slot.
pub type Slot = [u64; SLOT_CELLS];

/// A ring; its two ends are [`Self::writer`] and [`Self::reader`].
#[derive(Clone, Copy, Debug)]
pub struct Ring<'a> {
    pub(crate) head: &'a AtomicU32,
    pub(crate) tail: &'a AtomicU32,
    /// The slots; their number is a power of two.
    pub(crate) slots: &'a [[Cell64; SLOT_CELLS]],
}

impl<'a> Ring<'a> {
    /// The number of slots.
    pub fn slot_count(&self) -> usize {
        self.slots.len()
    }

    /// Whether the ring is full.
    pub fn is_full(&self) -> bool {
        let filled = self.head.load(Ordering::Relaxed).wrapping_sub(self.tail.load(Ordering::Acquire));
        filled as usize >= self.slots.len()
    }

    /// The writing end. Only one may be in use.
    pub fn writer(&self) -> RingWriter<'a> {
        let head = self.head.load(Ordering::Relaxed);
        RingWriter { ring: *self, head, free: 0 }
    }

    /// The reading end. Only one may be in use.
    pub fn reader(&self) -> RingReader<'a> {
        let tail = self.tail.load(Ordering::Relaxed);
        RingReader { ring: *self, tail }
    }

    #[inline(always)]
    fn slot(&self, count: u32) -> &'a [Cell64; SLOT_CELLS] {
        &self.slots[count as usize & (self.slots.len() - 1)]
    }
}

/// The writing end.
#[derive(Debug)]
pub struct RingWriter<'a> {
    ring: Ring<'a>,
    head: u32,
    /// Free slots when the tail was last read, minus those filled since.
    free: usize,
}

impl RingWriter<'_> {
    /// Writes `slot`; returns whether there was room.
    #[inline(always)]
    pub fn put(&mut self, slot: Slot) -> bool {
        if self.free == 0 && !self.has_room() {
            return false;
        }
        for (cell, value) in self.ring.slot(self.head).iter().zip(slot) {
            cell.set(value);
        }
        self.free -= 1;
        self.head = self.head.wrapping_add(1);
        self.ring.head.store(self.head, Ordering::Release);
        true
    }

    /// Whether there is room now, according to the reader's progress.
    #[cold]
    pub fn has_room(&mut self) -> bool {
        let filled = self.head.wrapping_sub(self.ring.tail.load(Ordering::Acquire)) as usize;
        self.free = self.ring.slots.len().saturating_sub(filled);
        self.free > 0
    }
}

/// The reading end.
#[derive(Debug)]
pub struct RingReader<'a> {
    ring: Ring<'a>,
    tail: u32,
}

impl RingReader<'_> {
    /// The number of slots that can be read now.
    pub fn waiting(&self) -> usize {
        let filled = self.ring.head.load(Ordering::Acquire).wrapping_sub(self.tail) as usize;
        // More than all slots only if another program wrote into the file.
        filled.min(self.ring.slots.len())
    }

    /// Reads the oldest slot; `None` if the ring is empty.
    pub fn take(&mut self) -> Option<Slot> {
        if self.waiting() == 0 {
            return None;
        }
        let slot = self.ring.slot(self.tail).each_ref().map(Cell64::get);
        self.tail = self.tail.wrapping_add(1);
        self.ring.tail.store(self.tail, Ordering::Release);
        Some(slot)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A ring whose counts are about to wrap.
    fn with_ring(slots: usize, test: impl FnOnce(Ring<'_>)) {
        let slots: Vec<_> = (0..slots).map(|_| <[Cell64; SLOT_CELLS]>::default()).collect();
        let start = u32::MAX - 5;
        test(Ring { head: &AtomicU32::new(start), tail: &AtomicU32::new(start), slots: &slots });
    }

    #[test]
    fn slots_are_read_in_order_when_the_counts_wrap() {
        with_ring(4, |ring| {
            let (mut writer, mut reader) = (ring.writer(), ring.reader());
            for value in 0..20 {
                assert!(writer.put([value, value + 1, value + 2]));
                assert_eq!(reader.waiting(), 1);
                assert_eq!(reader.take(), Some([value, value + 1, value + 2]));
                assert_eq!(reader.take(), None);
            }
        });
    }

    #[test]
    fn a_full_ring_refuses_and_keeps_its_slots() {
        with_ring(8, |ring| {
            let (mut writer, mut reader) = (ring.writer(), ring.reader());
            assert_eq!((0..11).filter(|value| writer.put([*value; 3])).count(), 8);
            assert_eq!(reader.take(), Some([0; 3]));
            assert!(writer.put([100; 3]), "one slot is free again");
            assert!(!writer.put([101; 3]));
            let rest: Vec<u64> = std::iter::from_fn(|| reader.take()).map(|slot| slot[0]).collect();
            assert_eq!(rest, [1, 2, 3, 4, 5, 6, 7, 100]);
        });
    }

    #[test]
    fn two_threads_neither_lose_nor_duplicate_slots() {
        const COUNT: u64 = if cfg!(miri) { 300 } else { 200_000 };
        with_ring(64, |ring| {
            let (mut writer, mut reader) = (ring.writer(), ring.reader());
            std::thread::scope(|scope| {
                scope.spawn(move || {
                    for value in 0..COUNT {
                        while !writer.put([value, !value, value * 3]) {
                            std::thread::yield_now();
                        }
                    }
                });
                let mut next = 0;
                while next < COUNT {
                    let Some(slot) = reader.take() else {
                        std::thread::yield_now();
                        continue;
                    };
                    assert_eq!(slot, [next, !next, next * 3]);
                    next += 1;
                }
            });
        });
    }
}
