//! The number of system management interrupts on a CPU, from the model-specific register MSR_SMI_COUNT (0x34) of Intel's
//! processors (Software Developer's Manual, volume 4), through the msr driver (msr(4)).

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

use crate::kernel_files::KernelFiles;

const MSR_SMI_COUNT: u64 = 0x34;

/// The counter of a CPU.
#[derive(Debug)]
pub struct SmiCounter {
    file: File,
}

impl SmiCounter {
    /// Opens the counter of `cpu`.
    ///
    /// # Errors
    /// If the msr driver is not loaded, or this process may not read it.
    pub fn open(files: &KernelFiles, cpu: u32) -> io::Result<Self> {
        let path = files.resolve(&format!("/dev/cpu/{cpu}/msr"));
        Ok(Self { file: File::open(path)? })
    }

    /// The number of SMIs since the reset of the CPU, modulo 2^32.
    ///
    /// # Errors
    /// If the processor does not have the counter.
    pub fn read(&self) -> io::Result<u32> {
        let mut register = [0; 8];
        self.file.read_exact_at(&mut register, MSR_SMI_COUNT)?;
        // The upper half is reserved.
        Ok(u64::from_ne_bytes(register) as u32)
    }
}
