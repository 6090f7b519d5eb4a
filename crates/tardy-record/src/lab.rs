//! The emulated machine of a run in the lab: everything that its numbers depend on.
//!
//! Two runs with the same identity have the same bytes, apart from [`crate::run::Origin`].

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The emulated machine of a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Lab {
    /// SHA-256 over all fields below up to the device tree: everything that the numbers depend on.
    pub identity: String,
    /// The kind of its clock.
    pub clock: LabClock,
    /// The machine: `pc`, `virt` or `raspi3b`.
    pub machine: String,
    /// Version of the emulator, as it reports it.
    pub emulator: String,
    /// The emulator's arguments, with files named by their content.
    pub arguments: Vec<String>,
    /// The kernel.
    pub kernel: LabKernel,
    /// The kernel's command line.
    pub command_line: String,
    /// SHA-256 of the initramfs, which contains tardy, its orders, modules and tools.
    pub initramfs_sha256: String,
    /// SHA-256 of the tardy executable in the initramfs.
    pub tardy_sha256: String,
    /// SHA-256 of the device tree, if the machine has one from a file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub device_tree_sha256: Option<String>,
    /// How the guest became idle after its boot, before the measurement.
    pub settled: Settled,
}

/// The kind of a guest's clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum LabClock {
    /// Counts instructions of 2^shift ns each. Latencies count the instructions that the kernel executes, and are the
    /// same in every run.
    Instructions {
        /// The binary logarithm of an instruction's length in ns.
        shift: u32,
    },
    /// The host's time, with an emulated CPU: latencies have no meaning.
    RealtimeEmulated,
    /// The host's time, on the host's CPU: latencies are those of a virtual machine on that host.
    RealtimeKvm,
}

impl LabClock {
    /// Whether a latency by this clock describes the kernel.
    pub fn means_something(self) -> bool {
        matches!(self, Self::Instructions { .. })
    }
}

/// The kernel of a guest.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct LabKernel {
    /// The kernel as requested, such as `debian:6.12-rt`.
    pub spec: String,
    /// `uname -r`.
    pub release: String,
    /// The distribution's package and its exact version; absent for a kernel given by its path.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub package: Option<String>,
    /// SHA-256 of the image.
    pub sha256: String,
}

/// How a guest became idle after its boot.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Settled {
    /// Whether it became idle; otherwise the guest continued after the longest wait.
    pub quiet: bool,
    /// When the first program of the guest started, in ns since the kernel's start.
    pub booted_at_ns: u64,
    /// When it was idle, in ns since the kernel's start.
    pub settled_at_ns: u64,
    /// Length of a window.
    pub window_ns: u64,
    /// The load of each window, in percent of the CPUs' time, from the kernel's accounting.
    pub busy_percent: Vec<u32>,
}
