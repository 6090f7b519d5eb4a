//! Shares: numbers between 0 and 1, or percentages.

/// A probability above 0 and below 1.
pub(crate) fn probability(text: &str) -> Result<f64, String> {
    share(text).ok_or_else(|| format!("'{text}' is not a share between 0 and 1, such as 1e-9 or 0.001%"))
}

/// A confidence from 50 % to below 100 %.
pub(crate) fn confidence(text: &str) -> Result<f64, String> {
    share(text)
        .filter(|share| *share >= 0.5)
        .ok_or_else(|| format!("'{text}' is not a confidence from 50% to below 100%, such as 0.99 or 99%"))
}

fn share(text: &str) -> Option<f64> {
    tardy_gate::requirement::share(text).filter(|share| *share > 0.0 && *share < 1.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_are_numbers_or_percentages() {
        assert_eq!(probability("1e-9"), Ok(1e-9));
        assert_eq!(probability("50%"), Ok(0.5));
        assert_eq!(confidence("99 %"), Ok(0.99));
        for wrong in ["", "0", "1", "-1", "nan", "inf", "2%%", "100%"] {
            assert!(probability(wrong).is_err(), "{wrong}");
        }
        assert!(confidence("0.3").is_err());
    }
}
