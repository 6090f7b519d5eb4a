//! Durations with a unit.

use std::fmt;
use std::str::FromStr;

use tardy_record::units::{DurationError, format_duration_ns, parse_duration_ns};

/// A duration such as `200us` or `5h33m`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Duration(u64);

impl Duration {
    /// `ns` nanoseconds.
    pub const fn from_ns(ns: u64) -> Self {
        Self(ns)
    }

    /// In nanoseconds.
    pub fn ns(self) -> u64 {
        self.0
    }
}

impl FromStr for Duration {
    type Err = DurationError;

    fn from_str(text: &str) -> Result<Self, DurationError> {
        parse_duration_ns(text).map(Self)
    }
}

impl fmt::Display for Duration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&format_duration_ns(self.0))
    }
}

/// A duration above 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PositiveDuration(u64);

impl PositiveDuration {
    /// `ns` nanoseconds.
    ///
    /// # Panics
    /// If `ns` is 0.
    pub const fn from_ns(ns: u64) -> Self {
        assert!(ns > 0, "a positive duration is above 0");
        Self(ns)
    }

    /// In nanoseconds, above 0.
    pub fn ns(self) -> u64 {
        self.0
    }
}

impl FromStr for PositiveDuration {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match parse_duration_ns(text) {
            Ok(0) => Err("must be above 0, for example 200us".to_owned()),
            Ok(ns) => Ok(Self(ns)),
            Err(error) => Err(error.to_string()),
        }
    }
}

impl fmt::Display for PositiveDuration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&format_duration_ns(self.0))
    }
}

crate::serde_as_text!(Duration);
crate::serde_as_text!(PositiveDuration);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_limit_of_zero_is_refused_and_a_distance_of_zero_is_not() {
        assert!("0us".parse::<PositiveDuration>().is_err());
        assert_eq!("0us".parse::<Duration>().map(Duration::ns), Ok(0));
        assert_eq!("1.5ms".parse::<PositiveDuration>().map(PositiveDuration::ns), Ok(1_500_000));
        assert_eq!(PositiveDuration::from_ns(60_000_000_000).to_string(), "1m");
    }
}
