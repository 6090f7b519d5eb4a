//! When to trace the causes of late wake-ups (`--causes`).

use std::fmt;
use std::str::FromStr;

use super::PositiveDuration;

/// Which late wake-ups are traced.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CauseTracing {
    /// None.
    Off,
    /// Each new maximum of a thread.
    Worst,
    /// All that are later than this.
    Over(PositiveDuration),
}

impl FromStr for CauseTracing {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "off" => Ok(Self::Off),
            "worst" => Ok(Self::Worst),
            duration => duration.parse().map(Self::Over),
        }
    }
}

impl fmt::Display for CauseTracing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Off => f.write_str("off"),
            Self::Worst => f.write_str("worst"),
            Self::Over(duration) => duration.fmt(f),
        }
    }
}

crate::serde_as_text!(CauseTracing);
