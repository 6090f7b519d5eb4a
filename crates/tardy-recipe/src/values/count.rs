//! Counts that must not be zero.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize};

/// A whole number from 1 on, such as `10`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct PositiveCount(u64);

impl PositiveCount {
    /// The number.
    pub fn get(self) -> u64 {
        self.0
    }
}

impl FromStr for PositiveCount {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let number = text.trim().parse().ok().filter(|number| *number > 0);
        number.map(Self).ok_or_else(|| format!("'{text}' is not a whole number from 1 on, such as 10"))
    }
}

impl fmt::Display for PositiveCount {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl<'de> Deserialize<'de> for PositiveCount {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        i64::deserialize(deserializer)?.to_string().parse().map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn zero_is_not_a_count() {
        assert_eq!("10".parse(), Ok(PositiveCount(10)));
        assert_eq!(serde_json::from_str::<PositiveCount>("3").unwrap().get(), 3);
        for wrong in ["0", "-1", "1.5", "", "many", "99999999999999999999"] {
            let error = wrong.parse::<PositiveCount>().unwrap_err();
            assert_eq!(error, format!("'{wrong}' is not a whole number from 1 on, such as 10"));
        }
        let error = serde_json::from_str::<PositiveCount>("0").unwrap_err().to_string();
        assert!(error.starts_with("'0' is not a whole number"), "{error}");
    }
}
