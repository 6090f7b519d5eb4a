//! Processors that a guest can have.

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
    /// Both.
    pub const ALL: [Self; 2] = [Self::X86_64, Self::Aarch64];

    /// As uname(2) and Rust's targets have it.
    pub fn name(self) -> &'static str {
        match self {
            Self::X86_64 => "x86_64",
            Self::Aarch64 => "aarch64",
        }
    }

    /// As Debian has it.
    pub fn debian_name(self) -> &'static str {
        match self {
            Self::X86_64 => "amd64",
            Self::Aarch64 => "arm64",
        }
    }

    /// The one that this tardy was built for, if a guest can have it.
    pub fn of_this_program() -> Option<Self> {
        Self::ALL.into_iter().find(|arch| arch.name() == std::env::consts::ARCH)
    }
}
