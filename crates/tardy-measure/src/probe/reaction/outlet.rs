//! How an answer is written, one type for each interface, so that the measuring loop is compiled for each.

use std::io;

use tardy_sys::gpio::OneLine;
use tardy_sys::gpio_sysfs::ValueFile;

/// A line that is driven.
pub(super) trait Outlet {
    /// Makes it high or low, with one system call.
    fn set(&self, high: bool) -> io::Result<()>;
}

impl Outlet for OneLine<'_> {
    #[inline(always)]
    fn set(&self, high: bool) -> io::Result<()> {
        OneLine::set(*self, high)
    }
}

impl Outlet for &ValueFile {
    #[inline(always)]
    fn set(&self, high: bool) -> io::Result<()> {
        ValueFile::set(self, high)
    }
}
