//! The cycles that a user names: one, or a range of them.

use std::ops::RangeInclusive;

/// The cycles that `text` names: `458`, or `100-199` with both ends.
///
/// # Errors
/// If it is neither, or the range is empty.
pub fn cycles(text: &str) -> Result<RangeInclusive<u64>, String> {
    let number = |part: &str| {
        part.parse().map_err(|_| {
            format!("expected a cycle or FIRST-LAST, for example 458 or 100-199; found '{text}'")
        })
    };
    let (first, last) = match text.split_once('-') {
        Some((first, last)) => (number(first)?, number(last)?),
        None => (number(text)?, number(text)?),
    };
    if first > last {
        return Err(format!("the first cycle of {text} is after the last; write {last}-{first}"));
    }
    Ok(first..=last)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_cycle_and_ranges_are_read() {
        assert_eq!(cycles("458"), Ok(458..=458));
        assert_eq!(cycles("0-199"), Ok(0..=199));
    }

    #[test]
    fn what_is_no_range_is_refused_with_an_example() {
        for text in ["", "-", "5-", "-5", "1-2-3", "all", "99999999999999999999"] {
            assert!(cycles(text).unwrap_err().contains("for example 458"), "{text}");
        }
        assert_eq!(cycles("9-3"), Err("the first cycle of 9-3 is after the last; write 3-9".to_owned()));
    }
}
