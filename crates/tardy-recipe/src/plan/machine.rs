//! The properties of a machine that planning needs.

use tardy_host::co_kernel::CoKernel;
use tardy_host::gpio::chips::{self, ChipState};
use tardy_host::trace::tracefs::{Offer, Tracefs};
use tardy_sys::kernel_files::KernelFiles;
use tardy_sys::{programs, scheduling};

use crate::recipe::Recipe;

/// The machine that will run the plan.
#[derive(Clone, Debug)]
pub struct Machine {
    /// CPUs that this process may use, in ascending order.
    pub allowed: Vec<u32>,
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
            allowed: scheduling::affinity()
                .map_err(|error| format!("cannot read which CPUs this process may use: {error}"))?,
            trace: Offer::of(files),
            co_kernel: CoKernel::find(files, &programs::directories()),
            pins: Pins::Known(chips),
        })
    }

    /// The error message for a `cpu` that cannot be used.
    pub fn no_such_cpu(&self, cpu: u32) -> String {
        let allowed: Vec<String> = self.allowed.iter().map(u32::to_string).collect();
        format!(
            "CPU {cpu} does not exist, is offline, or is not available to this process; available: {}",
            allowed.join(" ")
        )
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
