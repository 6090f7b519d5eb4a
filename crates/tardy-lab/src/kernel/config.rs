//! The options that a kernel was built with.

use std::fs;
use std::io;

use tardy_record::facts::KernelOptions;

use super::Kernel;

/// Reads a kernel's configuration; absent where it is not known.
///
/// # Errors
/// When the file is known and cannot be read.
pub fn of(kernel: &Kernel) -> io::Result<Option<KernelOptions>> {
    let Some(path) = &kernel.config else { return Ok(None) };
    let text = fs::read(path)?;
    Ok(Some(KernelOptions::from_config_text(&String::from_utf8_lossy(&text))))
}
