//! The options with which a kernel was built.

use std::fs;
use std::io;

use tardy_record::facts::KernelOptions;

use super::Kernel;

/// Reads a kernel's configuration; `None` if it is not known.
///
/// # Errors
/// If the file cannot be read.
pub fn of(kernel: &Kernel) -> io::Result<Option<KernelOptions>> {
    let Some(path) = &kernel.config else { return Ok(None) };
    let text = fs::read(path)?;
    Ok(Some(KernelOptions::from_config_text(&String::from_utf8_lossy(&text))))
}
