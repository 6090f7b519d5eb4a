//! Shares: numbers between 0 and 1, or percentages.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize};
use tardy_record::units::parse_share;

/// The least probability that may be claimed: no measurement has as many readings as its inverse.
const LEAST_SHARE: f64 = 1e-15;

/// A probability from 1e-15 to below 1, such as `1e-9` or `0.001%`.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Probability(f64);

/// A confidence from 50 % to below 100 %, such as `0.99` or `99%`.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Confidence(f64);

impl Probability {
    /// 1e-6, the probability of `tardy duration` and `--until` if none is given.
    pub const DEFAULT: Self = Self(1e-6);

    /// The number.
    pub fn get(self) -> f64 {
        self.0
    }
}

impl Confidence {
    /// 95 %, the confidence of every statement if none is given.
    pub const DEFAULT: Self = Self(0.95);

    /// The number.
    pub fn get(self) -> f64 {
        self.0
    }
}

impl FromStr for Probability {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let share = parse_share(text).filter(|share| (LEAST_SHARE..1.0).contains(share));
        share
            .map(Self)
            .ok_or_else(|| format!("'{text}' is not a share from 1e-15 to below 1, such as 1e-9 or 0.001%"))
    }
}

impl FromStr for Confidence {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let share = parse_share(text).filter(|share| (0.5..1.0).contains(share));
        share.map(Self).ok_or_else(|| {
            format!("'{text}' is not a confidence from 50% to below 100%, such as 0.99 or 99%")
        })
    }
}

impl fmt::Display for Probability {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:e}", self.0)
    }
}

impl fmt::Display for Confidence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)
    }
}

impl<'de> Deserialize<'de> for Probability {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        from_number_or_text(deserializer)
    }
}

impl<'de> Deserialize<'de> for Confidence {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        from_number_or_text(deserializer)
    }
}

/// A recipe may have a number, or the text of the flag.
fn from_number_or_text<'de, D: Deserializer<'de>, T: FromStr<Err = String>>(
    deserializer: D,
) -> Result<T, D::Error> {
    #[derive(Deserialize)]
    #[serde(untagged)]
    enum Given {
        Number(f64),
        Text(String),
    }
    let text = match Given::deserialize(deserializer)? {
        Given::Number(number) => number.to_string(),
        Given::Text(text) => text,
    };
    text.parse().map_err(serde::de::Error::custom)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_are_numbers_or_percentages() {
        assert_eq!("1e-9".parse(), Ok(Probability(1e-9)));
        assert_eq!("50%".parse(), Ok(Probability(0.5)));
        assert_eq!("99 %".parse(), Ok(Confidence(0.99)));
        for wrong in ["", "0", "1", "-1", "nan", "inf", "2%%", "100%"] {
            assert!(wrong.parse::<Probability>().is_err(), "{wrong}");
            assert!(wrong.parse::<Confidence>().is_err(), "{wrong}");
        }
        assert!("0.3".parse::<Confidence>().is_err());
    }

    #[test]
    fn a_recipe_has_a_number_or_a_text() {
        for text in ["1e-7", "0.0000001", "\"1e-7\"", "\"0.00001%\""] {
            let found: Probability = serde_json::from_str(text).unwrap();
            assert!((found.get() / 1e-7 - 1.0).abs() < 1e-12, "{text}");
            let again: Probability = serde_json::from_str(&serde_json::to_string(&found).unwrap()).unwrap();
            assert_eq!(again, found);
        }
        assert!(serde_json::from_str::<Probability>("2").is_err());
        assert!(serde_json::from_str::<Confidence>("\"sure\"").is_err());
    }
}
