//! The interfaces through which a line is written. Each is a type, so that measuring loops are compiled for each.

use std::io;

use tardy_sys::gpio::OneLine;
use tardy_sys::gpio_registers::MappedLine;
use tardy_sys::gpio_sysfs::ValueFile;

/// A line that is driven.
pub(crate) trait Level {
    /// Sets the line high or low, with one system call or one store.
    fn set(&self, high: bool) -> io::Result<()>;
}

impl Level for OneLine<'_> {
    #[inline(always)]
    fn set(&self, high: bool) -> io::Result<()> {
        OneLine::set(*self, high)
    }
}

impl Level for &ValueFile {
    #[inline(always)]
    fn set(&self, high: bool) -> io::Result<()> {
        ValueFile::set(self, high)
    }
}

impl Level for &MappedLine {
    #[inline(always)]
    fn set(&self, high: bool) -> io::Result<()> {
        MappedLine::set(self, high);
        Ok(())
    }
}
