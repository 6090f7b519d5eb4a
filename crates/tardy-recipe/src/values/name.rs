//! Option values that are names from a fixed list. Only their serde form defines the names.

use std::fmt;

use serde::de::value::StrDeserializer;
use serde::de::{DeserializeOwned, IntoDeserializer};
use serde::{Deserialize, Serialize};

/// The probe (`--probe`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ProbeKind {
    /// Threads that wait for timers.
    #[default]
    Timer,
    /// Threads that wait for timers, with the kernel's trace events.
    Kernel,
    /// A loop that records each gap in its own progress.
    Noise,
    /// A thread that answers the edges of one GPIO line on another.
    GpioReaction,
    /// A thread that toggles a GPIO line.
    GpioWiggle,
    /// Requests over a network to a peer that returns them.
    RoundTrip,
    /// A co-kernel's own latency program.
    Xenomai,
    /// The kernel's timerlat tracer.
    Timerlat,
    /// The kernel's osnoise tracer.
    Osnoise,
    /// The kernel's hwlat tracer.
    Hwlat,
}

impl ProbeKind {
    /// Whether the probe has no wake method, so that several wake methods do not multiply its phases.
    pub fn has_no_wake(self) -> bool {
        matches!(self, Self::Noise | Self::Xenomai | Self::GpioReaction | Self::RoundTrip)
    }
}

/// Idle states during a measurement (`--dma-latency`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum DmaLatency {
    /// CPUs are kept out of deep idle states.
    #[default]
    Hold,
    /// Idle states are left as they are.
    Leave,
}

/// The value with the name `text`, by the type's serde form.
///
/// # Errors
/// If no value has that name. The error lists the names.
pub fn by_name<T: DeserializeOwned>(text: &str) -> Result<T, NameError> {
    let deserializer: StrDeserializer<'_, NameError> = text.trim().into_deserializer();
    T::deserialize(deserializer)
}

/// The error for a text that is not one of the names.
#[derive(Debug)]
pub struct NameError(String);

impl fmt::Display for NameError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for NameError {}

impl serde::de::Error for NameError {
    fn custom<M: fmt::Display>(message: M) -> Self {
        Self(message.to_string())
    }

    fn unknown_variant(_: &str, expected: &'static [&'static str]) -> Self {
        Self(format!("expected one of {}", expected.join(", ")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tardy_record::plan::Wake;

    #[test]
    fn an_unknown_name_is_refused_with_the_names() {
        assert_eq!(by_name::<Wake>(" busy").unwrap(), Wake::Busy);
        assert_eq!(by_name::<ProbeKind>("gpio-wiggle").unwrap(), ProbeKind::GpioWiggle);
        let error = by_name::<Wake>("Busy").unwrap_err().to_string();
        assert!(error.starts_with("expected one of clock_nanosleep, nanosleep,"), "{error}");
    }
}
