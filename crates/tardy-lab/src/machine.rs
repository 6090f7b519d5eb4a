//! Emulated machines: QEMU's arguments as a pure function of a [`Setup`].
//!
//! Most arguments are there for reproducibility: no device whose responses depend on the host's timing, no host time,
//! no host entropy. Files have fixed names in the emulator's working directory, so the arguments do not depend on its
//! path.

mod command_line;
mod emulator_arguments;

use serde::{Deserialize, Serialize};

use crate::arch::Arch;

pub use command_line::{Additions, command_line};
pub use emulator_arguments::emulator_arguments;

/// The name of the kernel's image in the emulator's working directory.
pub const KERNEL: &str = "kernel";
/// The name of the initramfs there.
pub const INITRAMFS: &str = "initramfs";
/// The name of the device tree there.
pub const DEVICE_TREE: &str = "device-tree";
/// The name of the console's log there.
pub const CONSOLE: &str = "console.log";

/// A machine to emulate.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Machine {
    /// A PC: x86-64 with Intel's Q35 chipset.
    #[default]
    Pc,
    /// QEMU's own arm64 board.
    Virt,
    /// A Raspberry Pi 3 Model B, arm64, with Debian's device tree.
    Raspi3b,
}

impl Machine {
    /// All machines, in the order of the documentation.
    pub const ALL: [Self; 3] = [Self::Pc, Self::Virt, Self::Raspi3b];

    /// Its name on the command line and in run files.
    pub fn name(self) -> &'static str {
        match self {
            Self::Pc => "pc",
            Self::Virt => "virt",
            Self::Raspi3b => "raspi3b",
        }
    }

    /// Its processor.
    pub fn arch(self) -> Arch {
        match self {
            Self::Pc => Arch::X86_64,
            Self::Virt | Self::Raspi3b => Arch::Aarch64,
        }
    }

    /// The program that emulates it.
    pub fn emulator(self) -> &'static str {
        match self.arch() {
            Arch::X86_64 => "qemu-system-x86_64",
            Arch::Aarch64 => "qemu-system-aarch64",
        }
    }

    /// Debian's package of the program.
    pub fn emulator_package(self) -> &'static str {
        match self.arch() {
            Arch::X86_64 => "qemu-system-x86",
            Arch::Aarch64 => "qemu-system-arm",
        }
    }

    /// Its file among the kernel's device trees; `None` if the emulator generates the device tree.
    pub fn device_tree(self) -> Option<&'static str> {
        match self {
            Self::Pc | Self::Virt => None,
            Self::Raspi3b => Some("broadcom/bcm2837-rpi-3-b.dtb"),
        }
    }

    /// The number of CPUs of the real board; `None` if the machine has as many as the guest uses.
    fn cpus(self) -> Option<u32> {
        match self {
            Self::Pc | Self::Virt => None,
            Self::Raspi3b => Some(4),
        }
    }
}

/// The guest's clock, and with it the kind of emulation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pace {
    /// The clock counts instructions of 2^shift ns each, on one CPU.
    ///
    /// The emulator would run several CPUs in turn with one counter: while one runs, the others are stopped, and a latency
    /// between CPUs would depend on how the emulator switches between them.
    Instructions {
        /// The binary logarithm of an instruction's length in ns.
        shift: u32,
    },
    /// The host's time with an emulated CPU, for functional runs.
    Realtime {
        /// The number of CPUs.
        cpus: u32,
    },
    /// The host's time and the host's CPU, through /dev/kvm.
    Kvm {
        /// The number of CPUs.
        cpus: u32,
    },
}

impl Default for Pace {
    /// 2 ns per instruction, 500 million per second: as fast as a slow board.
    fn default() -> Self {
        Self::Instructions { shift: 1 }
    }
}

impl Pace {
    /// The number of CPUs that the guest uses.
    pub fn cpus(self) -> u32 {
        match self {
            Self::Instructions { .. } => 1,
            Self::Realtime { cpus } | Self::Kvm { cpus } => cpus,
        }
    }
}

/// A machine's configuration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Setup {
    /// The machine.
    pub machine: Machine,
    /// The guest's clock.
    pub pace: Pace,
    /// Its memory in MiB; `raspi3b` always has 1024.
    pub memory_mib: u32,
    /// The kernel's command line.
    pub command_line: String,
}
