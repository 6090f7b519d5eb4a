//! A lab's guest: its kernel and its memory.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use tardy_lab::kernel::{KernelSelection, KernelSpec};

/// Accepted memory sizes of a guest, in MiB.
const MEMORY_MIB: std::ops::RangeInclusive<u32> = 64..=65_536;

/// A kernel to boot, such as `debian:6.12-rt`, or several, with the text that names them.
#[derive(Clone, Debug)]
pub struct KernelChoice {
    text: String,
    selection: KernelSelection,
}

impl KernelChoice {
    /// One kernel.
    pub fn of(spec: KernelSpec) -> Self {
        Self { text: spec.to_string(), selection: KernelSelection::One(spec) }
    }

    /// The kernels.
    pub fn selection(&self) -> &KernelSelection {
        &self.selection
    }
}

impl FromStr for KernelChoice {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let selection = KernelSelection::parse(text).map_err(|error| error.to_string())?;
        Ok(Self { text: text.to_owned(), selection })
    }
}

impl fmt::Display for KernelChoice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

tardy_recipe::serde_as_text!(KernelChoice);

/// A guest's memory in MiB, from 64 to 65536.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "u32", into = "u32")]
pub struct GuestMemory(u32);

impl GuestMemory {
    /// Used if neither a flag nor the recipe sets the memory.
    pub const DEFAULT: Self = Self(512);

    /// In MiB.
    pub fn mib(self) -> u32 {
        self.0
    }
}

impl TryFrom<u32> for GuestMemory {
    type Error = String;

    fn try_from(mib: u32) -> Result<Self, String> {
        if MEMORY_MIB.contains(&mib) {
            return Ok(Self(mib));
        }
        Err(format!("{mib} is out of range; expected {} to {} MiB", MEMORY_MIB.start(), MEMORY_MIB.end()))
    }
}

impl From<GuestMemory> for u32 {
    fn from(memory: GuestMemory) -> Self {
        memory.0
    }
}

impl FromStr for GuestMemory {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        text.parse::<u32>().map_err(|_| format!("'{text}' is not a number of MiB")).and_then(Self::try_from)
    }
}
