//! Where a run of the lab took place: all that its numbers depend on, and nothing else.
//!
//! Two runs of one identity are the same to the byte, but for [`crate::run::Origin`].

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The emulated machine of a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Lab {
    /// SHA-256 over everything below down to the device tree: what the numbers depend on.
    pub identity: String,
    /// What its clock counts.
    pub clock: LabClock,
    /// The machine: `pc`, `virt` or `raspi3b`.
    pub machine: String,
    /// Version of the emulator, as it says itself.
    pub emulator: String,
    /// What the emulator was told, with files named by what they are.
    pub arguments: Vec<String>,
    /// The kernel.
    pub kernel: LabKernel,
    /// The kernel's command line.
    pub command_line: String,
    /// SHA-256 of the initramfs, in which tardy, its orders, modules and tools are.
    pub initramfs_sha256: String,
    /// SHA-256 of the tardy in it.
    pub tardy_sha256: String,
    /// SHA-256 of the device tree, where the machine has one from a file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub device_tree_sha256: Option<String>,
    /// How the boot's own work died down before anything was measured.
    pub settled: Settled,
}

/// What the clock of a guest counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum LabClock {
    /// Instructions: 2^shift ns each. Latencies count what the kernel executes, and are the same every time.
    Instructions {
        /// The power of two.
        shift: u32,
    },
    /// The host's time, while software plays the CPU: latencies mean nothing.
    RealtimeEmulated,
    /// The host's time, on the host's CPU: latencies are those of a virtual machine of that host.
    RealtimeKvm,
}

impl LabClock {
    /// Whether a latency by this clock says something about the kernel.
    pub fn means_something(self) -> bool {
        matches!(self, Self::Instructions { .. })
    }
}

/// The kernel of a guest.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct LabKernel {
    /// As a person asked for it, such as `debian:6.12-rt`.
    pub spec: String,
    /// As `uname -r` says.
    pub release: String,
    /// The distribution's package and its exact version; absent for a kernel given by path.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub package: Option<String>,
    /// SHA-256 of the image.
    pub sha256: String,
}

/// How a guest came to rest after its boot.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Settled {
    /// Whether it did; else the guest went on after its longest wait.
    pub quiet: bool,
    /// When the first program of the guest started, in ns since the kernel's start.
    pub booted_at_ns: u64,
    /// When it was quiet, in ns since the kernel's start.
    pub settled_at_ns: u64,
    /// Length of a window.
    pub window_ns: u64,
    /// Work done in each window, in percent of the CPUs' time, by the kernel's own accounts.
    pub busy_percent: Vec<u32>,
}
