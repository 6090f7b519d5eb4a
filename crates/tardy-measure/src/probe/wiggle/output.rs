//! The line that is driven: claimed once, and then written with one call for each edge.

use std::io;
use std::os::fd::AsFd;

use gpiocdev::Request;
use tardy_record::wiggle::Through;
use tardy_sys::gpio::OneLine;

use crate::gpio;
use crate::probe::order::DrivenPin;

/// Where levels are written. One type for each way, so that the measuring loop is compiled for each.
pub(crate) trait Level {
    /// Makes the line high or low.
    fn set(&mut self, high: bool) -> io::Result<()>;
}

impl Level for OneLine<'_> {
    #[inline(always)]
    fn set(&mut self, high: bool) -> io::Result<()> {
        OneLine::set(*self, high)
    }
}

/// A line that was claimed, and is low until something is written. Dropping it lets go of it.
pub(crate) enum Output {
    Chardev(Request),
}

impl Output {
    /// Claims `pin`.
    ///
    /// # Errors
    /// In words.
    pub(crate) fn claim(pin: &DrivenPin) -> Result<Self, String> {
        match pin.through {
            Through::Chardev => gpio::output_low(&pin.line).map(Self::Chardev),
        }
    }

    /// Has `work` done with what the line is written through.
    pub(crate) fn lend<R>(&self, work: impl Work<R>) -> R {
        match self {
            Self::Chardev(request) => work.with(OneLine::of(request.as_fd())),
        }
    }
}

/// Something that is done with a line, compiled for each way to write it.
pub(crate) trait Work<R> {
    /// Does it.
    fn with<L: Level>(self, level: L) -> R;
}
