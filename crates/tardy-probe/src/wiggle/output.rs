//! The line that is driven: claimed once, and then written with one call for each edge.

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

/// A line that was claimed, and is low until something is written. Dropping it lets go of it.
pub(crate) enum Output {
    Chardev(Request),
    Sysfs(ValueFile),
    /// Claimed as any other, so that nobody else has it and it is an output.
    Gpiomem {
        _claim: Request,
        line: MappedLine,
    },
}

impl Output {
    /// Claims `pin`.
    ///
    /// # Errors
    /// In words.
    pub(crate) fn claim(pin: &DrivenPin) -> Result<Self, String> {
        match pin.through {
            Through::Chardev => gpio::output_low(&pin.line).map(Self::Chardev),
            Through::Sysfs => gpio::sysfs::output_low(&KernelFiles::real(), &pin.line).map(Self::Sysfs),
            Through::Gpiomem => {
                let registers = registers::registers(&pin.line)?;
                let claim = gpio::output_low(&pin.line)?;
                let line = MappedLine::open(Path::new(GPIOMEM), registers).map_err(|error| {
                    format!(
                        "{GPIOMEM} cannot be mapped: {error}; only Raspberry Pi's own kernels have it, for root and the \
                         group gpio; --through chardev needs none of it"
                    )
                })?;
                Ok(Self::Gpiomem { _claim: claim, line })
            }
        }
    }

    /// Has `work` done with what the line is written through.
    pub(crate) fn lend<R>(&self, work: impl Work<R>) -> R {
        match self {
            Self::Chardev(request) => work.with(OneLine::of(request.as_fd())),
            Self::Sysfs(value) => work.with(value),
            Self::Gpiomem { line, .. } => work.with(line),
        }
    }
}

/// Something that is done with a line, compiled for each way to write it.
pub(crate) trait Work<R> {
    /// Does it.
    fn with<L: Level>(self, level: L) -> R;
}
