//! Processor architectures of guests.

use serde::{Deserialize, Serialize};

/// The processor architecture of a guest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Arch {
    /// x86-64; `amd64` to Debian.
    X86_64,
    /// 64-bit Arm; `arm64` to Debian.
    Aarch64,
}

impl Arch {
    /// All architectures.
    pub const ALL: [Self; 2] = [Self::X86_64, Self::Aarch64];

    /// Its name in uname(2) and in Rust's targets.
    pub fn name(self) -> &'static str {
        match self {
            Self::X86_64 => "x86_64",
            Self::Aarch64 => "aarch64",
        }
    }

    /// Debian's name for it.
    pub fn debian_name(self) -> &'static str {
        match self {
            Self::X86_64 => "amd64",
            Self::Aarch64 => "arm64",
        }
    }

    /// Its number in ELF headers (`EM_X86_64`, `EM_AARCH64` of elf(5)).
    pub(crate) fn elf_machine(self) -> u16 {
        match self {
            Self::X86_64 => 62,
            Self::Aarch64 => 183,
        }
    }

    /// The architecture that this program was built for; `None` if the lab has no machine of that architecture.
    pub fn of_this_program() -> Option<Self> {
        Self::ALL.into_iter().find(|arch| arch.name() == std::env::consts::ARCH)
    }
}
