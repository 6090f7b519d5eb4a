//! Holding the CPUs out of deep idle states, through /dev/cpu_dma_latency (Documentation/power/pm_qos_interface.rst).

use std::fs::{File, OpenOptions};
use std::io::{self, Write};

/// A request to the kernel that lasts as long as this value lives: closing the file withdraws it.
#[derive(Debug)]
pub struct DmaLatency {
    _file: File,
}

impl DmaLatency {
    /// Asks that no CPU enter an idle state that takes longer than `latency_us` to leave. It holds for all CPUs.
    ///
    /// # Errors
    /// Without write permission to /dev/cpu_dma_latency (root, by default), or where the kernel has no such file.
    pub fn hold(latency_us: u32) -> io::Result<Self> {
        let mut file = OpenOptions::new().write(true).open("/dev/cpu_dma_latency")?;
        file.write_all(&latency_us.cast_signed().to_ne_bytes())?;
        Ok(Self { _file: file })
    }
}
