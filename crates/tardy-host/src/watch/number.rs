//! Parses numbers and words in kernel text without allocating.

/// The words of a line.
pub(crate) fn words(line: &[u8]) -> impl Iterator<Item = &[u8]> {
    line.split(|byte| byte.is_ascii_whitespace()).filter(|word| !word.is_empty())
}

/// The lines of a file.
pub(crate) fn lines(content: &[u8]) -> impl Iterator<Item = &[u8]> {
    content.split(|byte| *byte == b'\n')
}

/// The whole word as an unsigned integer.
pub(crate) fn whole(word: &[u8]) -> Option<u64> {
    if word.is_empty() {
        return None;
    }
    word.iter().try_fold(0u64, |number, byte| {
        let digit = byte.is_ascii_digit().then(|| u64::from(byte - b'0'))?;
        number.checked_mul(10)?.checked_add(digit)
    })
}

/// The whole text as an integer with optional sign, ignoring white space around it.
pub(super) fn signed(content: &[u8]) -> Option<i64> {
    let text = content.trim_ascii();
    match text.strip_prefix(b"-") {
        Some(digits) => Some(-i64::try_from(whole(digits)?).ok()?),
        None => i64::try_from(whole(text)?).ok(),
    }
}

/// Stores the value of a counter, and returns its increase; `None` at the first value.
pub(super) fn increase(last: &mut Option<u64>, now: u64) -> Option<u64> {
    last.replace(now).map(|before| advance(before, now))
}

/// The increase of a counter. Interrupt counters have 32 bits and wrap. If a counter decreases for another reason, for
/// example because its CPU went offline, the result is 0.
pub(super) fn advance(before: u64, now: u64) -> u64 {
    if now >= before {
        return now - before;
    }
    let around = (1u64 << 32).saturating_sub(before).saturating_add(now);
    if before < 1 << 32 && around < 1 << 31 { around } else { 0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_spans_its_whole_word() {
        assert_eq!(whole(b"18446744073709551615"), Some(u64::MAX));
        assert_eq!(whole(b"18446744073709551616"), None);
        assert_eq!(whole(b""), None);
        assert_eq!(whole(b"12a"), None);
        assert_eq!(signed(b" -5000\n"), Some(-5000));
        assert_eq!(signed(b"48312\n"), Some(48_312));
    }

    #[test]
    fn counters_of_32_bits_wrap() {
        assert_eq!(advance(5, 9), 4);
        assert_eq!(advance((1 << 32) - 2, 3), 5);
        assert_eq!(advance(1000, 3), 0);
        assert_eq!(advance(u64::MAX, 0), 0);
    }
}
