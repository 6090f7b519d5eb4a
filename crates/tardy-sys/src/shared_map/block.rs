//! The counters of one thread in a map, with the sequence lock that keeps a reader's copy whole.

use std::sync::atomic::{AtomicU32, Ordering, fence};

use crate::cell64::Cell64;

/// The sequence count and the request.
pub(super) const BLOCK_HEAD_BYTES: usize = 8;
/// The number of times that a reader tries to copy a block between two writes before it gives up.
const READ_ATTEMPTS: usize = 10_000;

/// The layout of a block in the file.
#[repr(C)]
#[derive(Debug)]
pub(super) struct BlockMemory<C: ?Sized> {
    pub(super) sequence: AtomicU32,
    request: AtomicU32,
    cells: C,
}

const _: () = assert!(std::mem::offset_of!(BlockMemory<[Cell64; 1]>, cells) == BLOCK_HEAD_BYTES);

/// The counters of one measuring thread: a slice of cells, or an array of those that it needs, so that no index is
/// checked during the measurement.
#[derive(Debug)]
pub struct Block<'a, C: ?Sized = [Cell64]> {
    pub(super) memory: &'a BlockMemory<C>,
}

impl<C: ?Sized> Clone for Block<'_, C> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<C: ?Sized> Copy for Block<'_, C> {}

impl<'a, C: ?Sized> Block<'a, C> {
    /// The cells, for the block's one writer.
    #[inline(always)]
    pub fn cells(&self) -> &'a C {
        &self.memory.cells
    }

    /// Asks the block's writer to end.
    pub fn ask_to_end(&self) {
        self.memory.request.store(1, Ordering::Relaxed);
    }

    /// Whether the block's writer has been asked to end.
    #[inline(always)]
    pub fn is_asked_to_end(&self) -> bool {
        self.memory.request.load(Ordering::Relaxed) != 0
    }

    /// Begins a write, which lasts until the result is dropped. Readers see all of its changes or none. Only the
    /// block's one writer may call it.
    #[inline(always)]
    pub fn writing(&self) -> Writing<'a> {
        let writing = Writing { sequence: &self.memory.sequence };
        writing.step(Ordering::Relaxed);
        fence(Ordering::Release);
        writing
    }
}

/// A write to a block in progress.
#[derive(Debug)]
#[must_use]
pub struct Writing<'a> {
    sequence: &'a AtomicU32,
}

impl Writing<'_> {
    /// Adds 1 to the sequence count. With one writer it needs no atomic addition, and x86 has a single instruction
    /// for it.
    #[inline(always)]
    fn step(&self, order: Ordering) {
        self.sequence.store(self.sequence.load(Ordering::Relaxed).wrapping_add(1), order);
    }
}

impl Drop for Writing<'_> {
    #[inline(always)]
    fn drop(&mut self) {
        self.step(Ordering::Release);
    }
}

impl<'a> Block<'a> {
    /// The block with its first `N` cells.
    ///
    /// # Panics
    /// If it has fewer.
    pub fn with_cells<const N: usize>(self) -> Block<'a, [Cell64; N]> {
        assert!(self.memory.cells.len() >= N, "{} cells, not {N}", self.memory.cells.len());
        let memory = std::ptr::from_ref(self.memory).cast::<BlockMemory<[Cell64; N]>>();
        // SAFETY: the same memory with the same layout, and it has at least `N` cells.
        Block { memory: unsafe { &*memory } }
    }

    /// Copies all cells to `copy` as of one moment. Returns whether that succeeded: if the writer was changing the
    /// block at every attempt, or died during a write, the copy may contain part of a write.
    pub fn read(&self, copy: &mut Vec<u64>) -> bool {
        for _ in 0..READ_ATTEMPTS {
            let before = self.memory.sequence.load(Ordering::Acquire);
            copy.clear();
            copy.extend(self.memory.cells.iter().map(Cell64::get));
            fence(Ordering::Acquire);
            if before.is_multiple_of(2) && self.memory.sequence.load(Ordering::Relaxed) == before {
                return true;
            }
            std::hint::spin_loop();
        }
        false
    }
}
