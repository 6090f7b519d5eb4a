//! Keeps the CPUs out of deep idle states, through /dev/cpu_dma_latency (Documentation/power/pm_qos_interface.rst).

use std::fs::{File, OpenOptions};
use std::io::{self, Write};

/// A request that lasts as long as this value: closing the file withdraws it.
#[derive(Debug)]
pub struct DmaLatency {
    _file: File,
}

const PATH: &str = "/dev/cpu_dma_latency";

/// Whether this process may hold a request. Opening the file alone changes nothing.
pub fn is_available() -> bool {
    OpenOptions::new().write(true).open(PATH).is_ok()
}

impl DmaLatency {
    /// Requests that no CPU enters an idle state with an exit latency above `latency_us`. It applies to all CPUs.
    ///
    /// # Errors
    /// If /dev/cpu_dma_latency is not writable (by default only for root) or does not exist.
    pub fn hold(latency_us: u32) -> io::Result<Self> {
        let mut file = OpenOptions::new().write(true).open(PATH)?;
        file.write_all(&latency_us.cast_signed().to_ne_bytes())?;
        Ok(Self { _file: file })
    }
}
