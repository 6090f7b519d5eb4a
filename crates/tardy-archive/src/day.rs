//! Days.

use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// A day in the form 2026-11-26.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Day(pub(crate) String);

impl Day {
    /// Characters of a day.
    pub(crate) const LENGTH: usize = 10;

    /// Its ten characters, which order as days do.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for Day {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let parts: Vec<&str> = text.split('-').collect();
        let lengths: Vec<usize> = parts.iter().map(|part| part.len()).collect();
        let number = |at: usize| parts[at].parse::<u8>().unwrap_or(0);
        let is_day = lengths == [4, 2, 2]
            && parts.iter().all(|part| part.bytes().all(|byte| byte.is_ascii_digit()))
            && (1..=12).contains(&number(1))
            && (1..=31).contains(&number(2));
        is_day
            .then(|| Self(text.to_owned()))
            .ok_or_else(|| format!("'{text}' is not a day; expected one as 2026-11-26"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_are_checked() {
        assert!("2026-11-26".parse::<Day>().is_ok());
        for wrong in ["2026-13-01", "26-11-2026", "2026-11-00", "yesterday", "2026-11-26T10"] {
            assert!(wrong.parse::<Day>().unwrap_err().contains("2026-11-26"), "{wrong}");
        }
    }
}
