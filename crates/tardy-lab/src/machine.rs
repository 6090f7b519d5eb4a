//! Emulated machines: what QEMU is told, word for word.
//!
//! A pure function of a [`Setup`]. Every word is there for a reason, and most of the reasons are about the same bytes
//! every time: no device that answers when the host gets round to it, no host time, no host entropy. Files are named
//! by what they are and lie in the emulator's working directory, so the words do not depend on where that is.

mod command_line;
mod words;

use serde::{Deserialize, Serialize};

use crate::arch::Arch;

pub use command_line::command_line;
pub use words::words;

/// Name of the kernel's image in the emulator's working directory.
pub const KERNEL: &str = "kernel";
/// Name of the initramfs there.
pub const INITRAMFS: &str = "initramfs";
/// Name of the device tree there.
pub const DEVICE_TREE: &str = "device-tree";
/// Name of the console's log there.
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
    /// Raspberry Pi 3 Model B, arm64, with Debian's device tree.
    Raspi3b,
}

impl Machine {
    /// All of them, in the order of the documentation.
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

    /// The file of its device tree below the kernel's device trees, if the emulator does not make one.
    pub fn device_tree(self) -> Option<&'static str> {
        match self {
            Self::Pc | Self::Virt => None,
            Self::Raspi3b => Some("broadcom/bcm2837-rpi-3-b.dtb"),
        }
    }

    /// CPUs of the real board, whatever the guest uses.
    fn cpus(self) -> Option<u32> {
        match self {
            Self::Pc | Self::Virt => None,
            Self::Raspi3b => Some(4),
        }
    }
}

/// What the guest's time is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pace {
    /// Its clock counts instructions, each 2^shift ns; one CPU.
    ///
    /// One, because the emulator runs the CPUs of a counted guest in turn on one counter: while one of them runs, the
    /// others stand still, and a latency across CPUs would be that of the emulator's turns.
    Instructions {
        /// The power of two.
        shift: u32,
    },
    /// The host's time, for functional runs.
    Realtime {
        /// How many CPUs.
        cpus: u32,
    },
    /// The host's time and the host's CPU, by /dev/kvm.
    Kvm {
        /// How many CPUs.
        cpus: u32,
    },
}

impl Default for Pace {
    /// 2 ns an instruction: half a billion a second, a slow board's pace.
    fn default() -> Self {
        Self::Instructions { shift: 1 }
    }
}

impl Pace {
    /// How many CPUs the guest uses.
    pub fn cpus(self) -> u32 {
        match self {
            Self::Instructions { .. } => 1,
            Self::Realtime { cpus } | Self::Kvm { cpus } => cpus,
        }
    }
}

/// A machine as it shall be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Setup {
    /// Which.
    pub machine: Machine,
    /// What its time is.
    pub pace: Pace,
    /// Its memory; `raspi3b` always has 1024.
    pub memory_mib: u32,
    /// The kernel's command line.
    pub command_line: String,
}
