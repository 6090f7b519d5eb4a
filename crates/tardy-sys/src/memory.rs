//! Prevents page faults during a measurement, and releases memory that is not needed.

use std::io;

/// Locks all current and future memory of this process into RAM (mlockall(2)), which also faults it in.
///
/// # Errors
/// If the limit (RLIMIT_MEMLOCK) is too low and the process lacks CAP_IPC_LOCK.
pub fn lock_all() -> io::Result<()> {
    use_small_heap();
    // SAFETY: mlockall takes flags only.
    match unsafe { libc::mlockall(libc::MCL_CURRENT | libc::MCL_FUTURE) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

/// Prevents glibc from reserving 64 MiB of address space for each thread that allocates, which counts towards the limit, and
/// returns the 128 KiB that it keeps at the end of its heap. Other C libraries do neither.
fn use_small_heap() {
    #[cfg(target_env = "gnu")]
    // SAFETY: these functions take integers only. They fail only for unknown parameters.
    unsafe {
        libc::mallopt(libc::M_ARENA_MAX, 1);
        libc::mallopt(libc::M_TOP_PAD, 0);
        libc::malloc_trim(0);
    }
}

/// Unmaps the pages of this program's code and constants, and returns free memory of the heap to the kernel. Pages that are
/// used again come from the page cache, by a fault each. A program that only waits from now on keeps a fraction of them.
pub fn release_unused() {
    // SAFETY: the function is called before dl_iterate_phdr returns, and gets no data.
    unsafe { libc::dl_iterate_phdr(Some(release_segments), std::ptr::null_mut()) };
    #[cfg(target_env = "gnu")]
    // SAFETY: malloc_trim takes an integer; 0 keeps no free memory.
    unsafe {
        libc::malloc_trim(0);
    }
}

/// Unmaps the pages of the first object, which is the program; the C library's are shared with other programs anyway. Segments
/// that are not writable have the same content as the file. Relocations are in writable ones.
extern "C" fn release_segments(
    object: *mut libc::dl_phdr_info,
    _size: libc::size_t,
    _data: *mut libc::c_void,
) -> libc::c_int {
    // SAFETY: sysconf takes an integer.
    let page = usize::try_from(unsafe { libc::sysconf(libc::_SC_PAGESIZE) }).unwrap_or(4096);
    // SAFETY: the C library passes a valid object, whose headers are `dlpi_phnum` long.
    let (base, headers) = unsafe {
        let object = &*object;
        (object.dlpi_addr as usize, std::slice::from_raw_parts(object.dlpi_phdr, object.dlpi_phnum.into()))
    };
    for header in headers {
        if header.p_type != libc::PT_LOAD || header.p_flags & libc::PF_W != 0 {
            continue;
        }
        let start = base + header.p_vaddr as usize;
        let first_page = start - start % page;
        let bytes = start + header.p_memsz as usize - first_page;
        // SAFETY: these pages are a private mapping of a file that nothing has written to, so the kernel maps the same
        // contents when they are used again.
        unsafe { libc::madvise(first_page as *mut libc::c_void, bytes, libc::MADV_DONTNEED) };
    }
    1
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
