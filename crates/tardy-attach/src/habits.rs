//! What a thread does, by its system calls: how it sleeps, and how it waits for mutexes.

use tardy_sys::system_calls::{self, Futex};

/// Counts of what a thread did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Habits {
    /// Sleeps until an absolute time of CLOCK_MONOTONIC, CLOCK_BOOTTIME or CLOCK_TAI.
    pub absolute_sleeps: u64,
    /// Sleeps for a time.
    pub relative_sleeps: u64,
    /// Sleeps until a time of CLOCK_REALTIME, which can be set.
    pub realtime_sleeps: u64,
    /// Waits for mutexes without priority inheritance.
    pub plain_mutexes: u64,
    /// Waits for mutexes with it.
    pub inherited_mutexes: u64,
    /// Calls that give memory back or take it.
    pub allocations: u64,
    /// Page faults.
    pub faults: u64,
}

/// CLOCK_REALTIME and TIMER_ABSTIME.
const REALTIME: u64 = 0;
const ABSOLUTE: u64 = 1;

impl Habits {
    /// Counts a system call.
    pub fn note_call(&mut self, number: i64, args: &[u64; 4]) {
        match system_calls::name(number) {
            Some("nanosleep") => self.relative_sleeps += 1,
            Some("clock_nanosleep") if args[1] & ABSOLUTE == 0 => self.relative_sleeps += 1,
            Some("clock_nanosleep") if args[0] == REALTIME => self.realtime_sleeps += 1,
            Some("clock_nanosleep") => self.absolute_sleeps += 1,
            Some("brk" | "mmap" | "munmap" | "mremap") => self.allocations += 1,
            Some("futex") => match system_calls::futex_operation(number, args[1]) {
                Some(Futex::Wait) => self.plain_mutexes += 1,
                Some(Futex::LockWithInheritance) => self.inherited_mutexes += 1,
                _ => {}
            },
            _ => {}
        }
    }
}
