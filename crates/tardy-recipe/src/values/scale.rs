//! Numbers without a unit, with a range.

/// Parses a factor for durations and loop counts: above 0, at most 1000.
///
/// # Errors
/// If `text` is not a number in this range.
pub fn scale(text: &str) -> Result<f64, String> {
    let factor = text.parse::<f64>().ok().filter(|factor| *factor > 0.0 && *factor <= 1000.0);
    factor.ok_or_else(|| "expected a factor above 0 and at most 1000".to_owned())
}

/// Parses a room temperature in °C: -100 to 150.
///
/// # Errors
/// If `text` is not a number in this range.
pub fn celsius(text: &str) -> Result<f64, String> {
    let celsius = text.parse::<f64>().ok().filter(|celsius| (-100.0..=150.0).contains(celsius));
    celsius.ok_or_else(|| "expected a temperature from -100 to 150 degrees Celsius".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_out_of_range_are_refused() {
        assert_eq!(scale("0.01"), Ok(0.01));
        assert_eq!(celsius("-40"), Ok(-40.0));
        for text in ["0", "-1", "nan", "inf", "1001", "x"] {
            assert!(scale(text).is_err(), "{text}");
        }
        for text in ["nan", "-101", "151", "warm"] {
            assert!(celsius(text).is_err(), "{text}");
        }
    }
}
