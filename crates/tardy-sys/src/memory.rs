//! Prevents page faults during a measurement.

use std::io;

/// Locks all current and future memory of this process into RAM (mlockall(2)), which also faults it in.
///
/// # Errors
/// If the limit (RLIMIT_MEMLOCK) is too low and the process lacks CAP_IPC_LOCK.
pub fn lock_all() -> io::Result<()> {
    // SAFETY: mlockall takes flags only.
    match unsafe { libc::mlockall(libc::MCL_CURRENT | libc::MCL_FUTURE) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

/// Touches this thread's stack down to `STACK_BYTES` below, so that later use causes no faults.
#[inline(never)]
pub fn prefault_stack() {
    const STACK_BYTES: usize = 24 * 1024;
    let mut pages = [0u8; STACK_BYTES];
    for byte in pages.iter_mut().step_by(1024) {
        // SAFETY: the reference is valid; volatile, so that the compiler cannot leave the write out.
        unsafe { std::ptr::write_volatile(byte, 1) };
    }
    std::hint::black_box(&pages);
}
