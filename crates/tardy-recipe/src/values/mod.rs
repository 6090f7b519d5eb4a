//! Types of option values. The command line (clap) and recipes (serde) use the same types, so that a flag and its recipe key
//! accept the same texts.

mod causes;
mod count;
mod cpus;
mod duration;
mod floor;
mod loads;
mod name;
mod phase;
mod program;
mod scale;
mod share;
mod stimulus;

pub use causes::CauseTracing;
pub use count::PositiveCount;
pub use cpus::CpuSelection;
pub use duration::{Duration, PositiveDuration};
pub use floor::FloorSpec;
pub use loads::deserialize_loads;
pub use name::{DmaLatency, ProbeKind, by_name};
pub use phase::PhaseText;
pub use program::ProgramLine;
pub use scale::{celsius, scale};
pub use share::{Confidence, Probability};
pub use stimulus::StimulusOutput;

/// Serialises a type as its `Display` text and reads it back with `FromStr`.
#[macro_export]
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
