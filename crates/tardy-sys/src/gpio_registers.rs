//! A GPIO line through registers that a driver lets programs map: one store sets it high, another sets it low.
//! Writing a 1 to a bit of such a register changes its line and a 0 changes nothing, so nothing has to be read first
//! and other lines are not affected.

use std::fs::OpenOptions;
use std::io;
use std::os::fd::AsRawFd;
use std::path::Path;
use std::ptr::NonNull;

/// The size of the mapping: the first page has all registers that set and clear lines.
const LENGTH: usize = 4096;

/// The registers of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Registers {
    /// The register that sets it high, in bytes from the start of the page.
    pub set: usize,
    /// The register that sets it low, in bytes from the start of the page.
    pub clear: usize,
    /// Its bit in both.
    pub mask: u32,
}

/// A line driven through registers.
#[derive(Debug)]
pub struct MappedLine {
    page: NonNull<u32>,
    registers: Registers,
}

impl MappedLine {
    /// Maps the page of `device`.
    ///
    /// # Errors
    /// The kernel's; `InvalidInput` if a register is not in the page.
    pub fn open(device: &Path, registers: Registers) -> io::Result<Self> {
        let is_in_it = |offset: usize| offset.is_multiple_of(size_of::<u32>()) && offset < LENGTH;
        if !is_in_it(registers.set) || !is_in_it(registers.clear) {
            return Err(io::Error::from(io::ErrorKind::InvalidInput));
        }
        let file = OpenOptions::new().read(true).write(true).open(device)?;
        // SAFETY: a new mapping, at an address of the kernel's choice, of a file that is open.
        let page = unsafe {
            libc::mmap(
                std::ptr::null_mut(),
                LENGTH,
                libc::PROT_READ | libc::PROT_WRITE,
                libc::MAP_SHARED,
                file.as_raw_fd(),
                0,
            )
        };
        if page == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        let page = NonNull::new(page.cast()).ok_or_else(|| io::Error::other("mapped at address 0"))?;
        Ok(Self { page, registers })
    }

    /// Sets the line high or low.
    #[inline(always)]
    pub fn set(&self, high: bool) {
        let register = if high { self.registers.set } else { self.registers.clear };
        // SAFETY: both registers are aligned and within the page (checked in `open`), which is mapped as long as this
        // lives.
        unsafe { self.page.as_ptr().byte_add(register).write_volatile(self.registers.mask) };
    }
}

impl Drop for MappedLine {
    fn drop(&mut self) {
        // SAFETY: the mapping was made in `open`, and no reference to it is left.
        unsafe { libc::munmap(self.page.as_ptr().cast(), LENGTH) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A file in place of the device.
    #[test]
    fn one_store_sets_and_another_clears() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("gpiomem");
        std::fs::write(&path, [0; LENGTH]).unwrap();
        let word = |offset: usize| {
            let bytes = std::fs::read(&path).unwrap();
            u32::from_ne_bytes(bytes[offset..offset + 4].try_into().unwrap())
        };
        let line = MappedLine::open(&path, Registers { set: 0x1c, clear: 0x28, mask: 1 << 17 }).unwrap();
        line.set(true);
        assert_eq!((word(0x1c), word(0x28)), (1 << 17, 0));
        line.set(false);
        assert_eq!(word(0x28), 1 << 17);
        drop(line);
        for set in [LENGTH, 0x1d] {
            let error = MappedLine::open(&path, Registers { set, clear: 0x28, mask: 1 }).unwrap_err();
            assert_eq!(error.kind(), io::ErrorKind::InvalidInput);
        }
    }
}
