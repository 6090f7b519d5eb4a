//! The minimum work rate of a part of a load (`--load-floor`).

use std::fmt;
use std::str::FromStr;

/// A part of a load and its minimum rate, such as `scheduler=500k`.
#[derive(Clone, Debug, PartialEq)]
pub struct FloorSpec {
    /// The part's name.
    pub part: String,
    /// Work per second in the part's unit, above 0.
    pub per_second: f64,
}

impl FromStr for FloorSpec {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let Some((part, rate)) = text.split_once('=') else {
            return Err("expected PART=RATE, for example scheduler=500k".to_owned());
        };
        let per_second = per_second(rate.trim()).ok_or_else(|| {
            format!(
                "'{}' is not a rate; expected work per second such as 2500, 500k, 20M or 1.5G",
                rate.trim()
            )
        })?;
        Ok(Self { part: part.trim().to_owned(), per_second })
    }
}

impl fmt::Display for FloorSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}={}", self.part, self.per_second)
    }
}

crate::serde_as_text!(FloorSpec);

/// Parses a rate such as `500k` or `500k/s`, which are 500,000. `None` if it is not a finite number above 0.
fn per_second(text: &str) -> Option<f64> {
    let text = text.strip_suffix("/s").unwrap_or(text).trim_end();
    let factors = [('k', 1e3), ('M', 1e6), ('G', 1e9)];
    let found = factors.iter().find_map(|(letter, factor)| Some((text.strip_suffix(*letter)?, *factor)));
    let (digits, factor) = found.unwrap_or((text, 1.0));
    // `f64` also parses `inf`, `nan` and `1e9`, which are not rates.
    let is_plain = digits.trim_end().chars().all(|letter| letter.is_ascii_digit() || letter == '.');
    let rate = digits.trim_end().parse::<f64>().ok().filter(|_| is_plain)? * factor;
    (rate > 0.0 && rate.is_finite()).then_some(rate)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_have_decimal_prefixes() {
        for (text, rate) in [
            ("2500", Some(2500.0)),
            ("500k", Some(5e5)),
            ("500k/s", Some(5e5)),
            ("1.5 G/s", Some(1.5e9)),
            ("20M", Some(2e7)),
            ("0", None),
            ("-1", None),
            ("inf", None),
            ("nan", None),
            ("1e9", None),
            ("", None),
            ("k", None),
            ("5m", None),
        ] {
            assert_eq!(per_second(text), rate, "{text}");
        }
        assert_eq!(per_second(&"9".repeat(400)), None);
    }

    #[test]
    fn a_floor_survives_a_round_trip() {
        for text in ["scheduler=500k", "copy = 1.5G/s", "io=0.3"] {
            let floor: FloorSpec = text.parse().unwrap();
            assert_eq!(floor.to_string().parse(), Ok(floor), "{text}");
        }
    }
}
