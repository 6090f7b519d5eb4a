//! The line that is driven. It is claimed once, then written with one call per edge.

use std::os::fd::AsFd;
use std::path::Path;

use gpiocdev::Request;
use tardy_record::wiggle::Through;
use tardy_sys::gpio::OneLine;
use tardy_sys::gpio_registers::MappedLine;
use tardy_sys::gpio_sysfs::ValueFile;
use tardy_sys::kernel_files::KernelFiles;

use crate::gpio::{self, registers, registers::GPIOMEM};
use crate::level::Level;
use crate::order::DrivenPin;

/// A claimed line, low until it is written. Dropping it releases it.
pub(crate) enum Output {
    Chardev(Request),
    Sysfs(ValueFile),
    /// Claimed like any other line, so that it is an output and no other process can take it.
    Gpiomem {
        _claim: Request,
        line: MappedLine,
    },
}

impl Output {
    /// Claims `pin`.
    ///
    /// # Errors
    /// A message for the user, if the line cannot be claimed or its registers cannot be mapped.
    pub(crate) fn claim(pin: &DrivenPin) -> Result<Self, String> {
        match pin.through {
            Through::Chardev => gpio::output_low(&pin.line).map(Self::Chardev),
            Through::Sysfs => gpio::sysfs::output_low(&KernelFiles::real(), &pin.line).map(Self::Sysfs),
            Through::Gpiomem => {
                let registers = registers::registers(&pin.line)?;
                let claim = gpio::output_low(&pin.line)?;
                let line = MappedLine::open(Path::new(GPIOMEM), registers).map_err(|error| {
                    format!(
                        "{GPIOMEM} cannot be mapped: {error}; only Raspberry Pi kernels have it, for root and the group \
                         gpio; --through chardev does not need it"
                    )
                })?;
                Ok(Self::Gpiomem { _claim: claim, line })
            }
        }
    }

    /// Runs `work` with the interface through which the line is written.
    pub(crate) fn lend<R>(&self, work: impl Work<R>) -> R {
        match self {
            Self::Chardev(request) => work.with(OneLine::of(request.as_fd())),
            Self::Sysfs(value) => work.with(value),
            Self::Gpiomem { line, .. } => work.with(line),
        }
    }
}

/// Work with a line, compiled for each way to write it.
pub(crate) trait Work<R> {
    /// Runs it.
    fn with<L: Level>(self, level: L) -> R;
}
