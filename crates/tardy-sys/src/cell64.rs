//! A 64-bit number that one thread writes and others read, across processes.
//!
//! On targets with 64-bit atomics a cell is such an atomic with relaxed access: a plain load or store. ARMv5 has none:
//! there a cell is two 32-bit halves, and readers detect torn numbers by the sequence count of the cell's block
//! (`shared_map.rs`; ADR 0001).

#[cfg(not(target_has_atomic = "64"))]
use std::sync::atomic::AtomicU32;
#[cfg(target_has_atomic = "64")]
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;

/// A shared 64-bit number with one writer. The all-zero bit pattern is a valid cell that holds 0.
#[repr(C, align(8))]
#[derive(Debug, Default)]
pub struct Cell64 {
    #[cfg(target_has_atomic = "64")]
    whole: AtomicU64,
    #[cfg(not(target_has_atomic = "64"))]
    halves: [AtomicU32; 2],
}

#[cfg(target_has_atomic = "64")]
impl Cell64 {
    /// The number.
    #[inline(always)]
    pub fn get(&self) -> u64 {
        self.whole.load(Relaxed)
    }

    /// Sets the number. Only the cell's one writer may call it.
    #[inline(always)]
    pub fn set(&self, value: u64) {
        self.whole.store(value, Relaxed);
    }
}

#[cfg(not(target_has_atomic = "64"))]
impl Cell64 {
    /// The number. While it is being written, its halves can belong to different values; the block's sequence count
    /// shows this.
    #[inline(always)]
    pub fn get(&self) -> u64 {
        u64::from(self.halves[1].load(Relaxed)) << 32 | u64::from(self.halves[0].load(Relaxed))
    }

    /// Sets the number. Only the cell's one writer may call it.
    #[inline(always)]
    pub fn set(&self, value: u64) {
        self.halves[1].store((value >> 32) as u32, Relaxed);
        self.halves[0].store(value as u32, Relaxed);
    }
}

impl Cell64 {
    /// Adds to the number. Only the cell's one writer may call it: it is a load and a store, not one operation.
    #[inline(always)]
    pub fn add(&self, amount: u64) {
        self.set(self.get().wrapping_add(amount));
    }
}
