//! `[lab]`: the emulated machine.

use clap::Args;
use serde::{Deserialize, Serialize};
use tardy_lab::machine::Machine;
use tardy_recipe::values::by_name;

use super::values::{GuestMemory, KernelChoice};

/// The `[lab]` table of a recipe, and its flags.
#[derive(Clone, Debug, Default, Args, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[command(next_help_heading = "Guest")]
pub struct LabOptions {
    /// The chapter's title in the report of all articles; `None` if the recipe does not repeat an article.
    #[arg(skip)]
    pub chapter: Option<String>,
    /// Kernel to boot: debian:6.12, debian:6.12-rt, or the path of an image; or several: debian:6.12..7.3-rt, debian:6.12.*-rt
    /// (docs/kernels.md). ,append='WORDS' adds to its command line; ,modules=DIR gives the modules of an image. May be repeated to
    /// compare kernels [default: debian:6.12 and debian:6.12-rt]
    #[arg(id = "kernel", short = 'k', long = "kernel", alias = "kernels", value_name = "KERNEL")]
    pub kernels: Option<Vec<KernelChoice>>,
    /// Machine to emulate: pc, virt or raspi3b [default: pc]
    #[arg(long, value_parser = by_name::<Machine>)]
    pub machine: Option<Machine>,
    /// Memory in MiB [default: 512]
    #[arg(long = "memory", value_name = "MIB")]
    pub memory_mib: Option<GuestMemory>,
    /// Kernel modules to load at boot, with their dependencies.
    #[arg(skip)]
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub modules: Vec<String>,
    /// Kernel modules to load when the guest is idle after boot.
    #[arg(skip)]
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub modules_at_rest: Vec<String>,
    /// Programs to add to the guest from Debian's packages, as `PACKAGE:PATH`.
    #[arg(skip)]
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tools: Vec<String>,
    /// Commands to run on the other host, which is a network namespace of the guest.
    #[arg(skip)]
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub outside: Vec<String>,
}

impl LabOptions {
    /// The machine to emulate.
    pub fn machine(&self) -> Machine {
        self.machine.unwrap_or_default()
    }

    /// The guest's memory.
    pub fn memory(&self) -> GuestMemory {
        self.memory_mib.unwrap_or(GuestMemory::DEFAULT)
    }
}
