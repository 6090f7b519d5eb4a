//! Types of option values. The command line (clap) and recipes (serde) use the same types, so that a flag and its recipe key
//! accept the same texts.

mod causes;
mod cpus;
mod duration;
mod floor;
mod format;
mod kernel;
mod loads;
mod name;
mod phase;
mod program;
mod scale;
mod stimulus;

pub(crate) use causes::CauseTracing;
pub(crate) use cpus::CpuSelection;
pub(crate) use duration::{Duration, PositiveDuration};
pub(crate) use floor::FloorSpec;
pub(crate) use format::{export_format, import_format};
pub(crate) use kernel::{GuestMemory, KernelChoice};
pub(crate) use loads::deserialize_loads;
pub(crate) use name::{DmaLatency, ProbeKind, by_name};
pub(crate) use phase::PhaseText;
pub(crate) use program::ProgramLine;
pub(crate) use scale::{celsius, scale};
pub(crate) use stimulus::StimulusOutput;

/// Serialises a type as its `Display` text and reads it back with `FromStr`.
macro_rules! serde_as_text {
    ($type:ty) => {
        impl serde::Serialize for $type {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.collect_str(self)
            }
        }

        impl<'de> serde::Deserialize<'de> for $type {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let text = <String as serde::Deserialize>::deserialize(deserializer)?;
                text.parse().map_err(serde::de::Error::custom)
            }
        }
    };
}
use serde_as_text;
