//! Makes one CPU interrupt the others that run the same process, by a change of the page tables or a process-wide
//! memory barrier.

use std::io;
use std::ptr::NonNull;

/// `MEMBARRIER_CMD_PRIVATE_EXPEDITED` and its registration (membarrier(2), Linux 4.14).
const PRIVATE_EXPEDITED: libc::c_int = 1 << 3;
const REGISTER_PRIVATE_EXPEDITED: libc::c_int = 1 << 4;

/// A separate page of memory whose protection can be changed.
#[derive(Debug)]
pub struct Page {
    start: NonNull<u8>,
    bytes: usize,
}

// SAFETY: the mapping belongs to this value alone and moves with it.
unsafe impl Send for Page {}

impl Page {
    /// Maps a readable and writable page.
    ///
    /// # Errors
    /// mmap(2)'s: ENOMEM if there is no memory, or there are too many mappings.
    pub fn map() -> io::Result<Self> {
        // SAFETY: sysconf takes an integer and touches no memory.
        let bytes = usize::try_from(unsafe { libc::sysconf(libc::_SC_PAGESIZE) }).unwrap_or(4096);
        let (protection, flags) =
            (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS);
        // SAFETY: a new mapping at an address of the kernel's choice.
        let start = unsafe { libc::mmap(std::ptr::null_mut(), bytes, protection, flags, -1, 0) };
        match NonNull::new(start.cast::<u8>()) {
            Some(mapped) if start != libc::MAP_FAILED => Ok(Self { start: mapped, bytes }),
            _ => Err(io::Error::last_os_error()),
        }
    }

    /// Writes to the page, forbids writing, and permits it again (mprotect(2)). The first of the two changes removes
    /// the page from every TLB. On processors that cannot do this remotely (x86) it interrupts each other CPU that
    /// runs this process (arch/x86/mm/tlb.c, flush_tlb_mm_range).
    ///
    /// # Errors
    /// mprotect(2)'s: ENOMEM.
    pub fn change_protection(&mut self) -> io::Result<()> {
        // SAFETY: the page is mapped for writing, except between the two calls below.
        unsafe { self.start.as_ptr().write_volatile(1) };
        for protection in [libc::PROT_READ, libc::PROT_READ | libc::PROT_WRITE] {
            // SAFETY: the range is this value's own mapping.
            if unsafe { libc::mprotect(self.start.as_ptr().cast(), self.bytes, protection) } != 0 {
                return Err(io::Error::last_os_error());
            }
        }
        Ok(())
    }
}

impl Drop for Page {
    fn drop(&mut self) {
        // SAFETY: the mapping was made by `map` with this size.
        unsafe { libc::munmap(self.start.as_ptr().cast(), self.bytes) };
    }
}

/// Registers this process for [`barrier`]; returns whether the kernel supports it.
pub fn register_barrier() -> bool {
    membarrier(REGISTER_PRIVATE_EXPEDITED).is_ok()
}

/// A memory barrier on every CPU that runs a thread of this process: an interrupt to each of them, on every
/// architecture (kernel/sched/membarrier.c, membarrier_private_expedited).
///
/// # Errors
/// EPERM before [`register_barrier`]; EINVAL or ENOSYS on kernels before 4.14.
pub fn barrier() -> io::Result<()> {
    membarrier(PRIVATE_EXPEDITED)
}

fn membarrier(command: libc::c_int) -> io::Result<()> {
    // SAFETY: membarrier takes integers only.
    match unsafe { libc::syscall(libc::SYS_membarrier, command, 0) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_can_be_written_after_every_change() {
        let mut page = Page::map().unwrap();
        for _ in 0..100 {
            page.change_protection().unwrap();
        }
        // SAFETY: the page is mapped for reading.
        assert_eq!(unsafe { page.start.as_ptr().read_volatile() }, 1);
    }

    #[test]
    fn a_barrier_works_if_the_kernel_registers_it() {
        assert_eq!(register_barrier(), barrier().is_ok());
    }
}
