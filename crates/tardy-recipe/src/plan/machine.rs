//! The properties of a machine that planning needs.

use tardy_host::co_kernel::CoKernel;
use tardy_host::cpus::Cpus;
use tardy_host::gpio::chips::{self, ChipState};
use tardy_host::trace::tracefs::{Offer, Tracefs};
use tardy_sys::kernel_files::KernelFiles;
use tardy_sys::programs;

use crate::recipe::Recipe;
use crate::usage_error::{UsageError, wrong};

/// The machine that will run the plan.
#[derive(Clone, Debug)]
pub struct Machine {
    /// Its CPUs.
    pub cpus: Cpus,
    /// The trace events and tracers of its kernel.
    pub trace: Offer,
    /// Its co-kernel with the latency program, or a message about what is missing.
    pub co_kernel: Result<CoKernel, String>,
    /// Its GPIO chips.
    pub pins: Pins,
}

impl Machine {
    /// This machine. Mounts tracefs for this process if `recipe` reads the trace, and reads the GPIO chips only if it names
    /// a line.
    ///
    /// # Errors
    /// If the CPUs that this process may use, or the chips, cannot be read: a message for the user.
    pub fn this(files: &KernelFiles, recipe: &Recipe) -> Result<Self, String> {
        if recipe.uses_trace() {
            Tracefs::mount_if_missing(files);
        }
        let chips = if recipe.gpio.names_a_line() { chips::all()? } else { Vec::new() };
        Ok(Self {
            cpus: Cpus::of_this_process(files)?,
            trace: Offer::of(files),
            co_kernel: CoKernel::find(files, &programs::directories()),
            pins: Pins::Known(chips),
        })
    }

    /// The same machine, on which `recipe` measures from within the cgroup that it names, if it names one.
    ///
    /// # Errors
    /// If that is not a cgroup with a cpuset.
    pub fn in_cgroup(self, files: &KernelFiles, recipe: &Recipe) -> Result<Self, UsageError> {
        let Some(directory) = &recipe.timer.cgroup else { return Ok(self) };
        let cpus = self.cpus.within(files, directory).map_err(|reason| wrong("cgroup", reason))?;
        Ok(Self { cpus, ..self })
    }
}

/// The known GPIO chips of a machine.
#[derive(Clone, Debug)]
pub enum Pins {
    /// All chips of the machine.
    Known(Vec<ChipState>),
    /// Unknown, because the machine has not booted yet (a lab's guest).
    Elsewhere,
}
