//! Numbers as the field writes them: latencies in microseconds, with three digits that mean something.

use tardy_analyse::quantile::Value;

/// From here on a latency is written in milliseconds (ns).
const MILLISECONDS_FROM: f64 = 10_000_000.0;
/// From here on it is written in seconds (ns).
const SECONDS_FROM: f64 = 10_000_000_000.0;

/// A latency with its unit: `0.97 us`, `41 us`, `1,250 us`, `12.1 ms`. The sign is never lost.
pub fn with_unit(ns: f64) -> String {
    let (factor, unit) = match ns.abs() {
        size if size >= SECONDS_FROM => (1e9, "s"),
        size if size >= MILLISECONDS_FROM => (1e6, "ms"),
        _ => (1e3, "us"),
    };
    format!("{} {unit}", three_digits(ns / factor))
}

/// The same with the signs that print has: `41 µs`, `−0.35 µs`.
pub fn typeset(ns: f64) -> String {
    with_unit(ns).replace("us", "µs").replace('-', "−").replace(' ', "\u{a0}")
}

/// A number with three significant digits, without trailing zeros behind the point: `0.97`, `41.3`, `1,250`.
pub fn three_digits(value: f64) -> String {
    let text = microseconds(value * 1000.0);
    if !text.contains('.') {
        return text;
    }
    let text = text.trim_end_matches('0').trim_end_matches('.');
    if text == "-0" { "0".to_owned() } else { text.to_owned() }
}

/// A latency in us for a column of a table, without the unit: `0.97`, `41.3`, `1,250`.
pub fn microseconds(ns: f64) -> String {
    let us = ns / 1000.0;
    let decimals = match us.abs() {
        size if size < 9.995 => 2,
        size if size < 99.95 => 1,
        _ => 0,
    };
    let text = format!("{us:.decimals$}");
    match text.split_once('.') {
        Some(_) => text,
        None => grouped(&text),
    }
}

/// A quantile in us for a column of a table: `41.3`; where it lies beyond the histogram, the least that it can be: `≥400`;
/// where there are too few values, `n/a`.
pub fn quantile(value: Option<Value>) -> String {
    value.map_or_else(
        || "n/a".to_owned(),
        |value| at_least(microseconds(value.quoted_ns() as f64), value.at_least),
    )
}

/// A figure, marked where it is only the least that there can be.
pub fn at_least(figure: String, at_least: bool) -> String {
    if at_least { format!("≥{figure}") } else { figure }
}

/// A count with thousands set apart: `1,234,567`.
pub fn count(value: u64) -> String {
    grouped(&value.to_string())
}

fn grouped(digits: &str) -> String {
    let (sign, digits) = digits.strip_prefix('-').map_or(("", digits), |rest| ("-", rest));
    let mut text = String::with_capacity(digits.len() + digits.len() / 3 + 1);
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    format!("{sign}{text}")
}

/// A rate of work: `80.1k messages/s`, `3.36 MB/s`.
pub fn per_second(rate: f64, unit: &str) -> String {
    match unit {
        "bytes" => {
            let text =
                prefixed(rate).replace('k', "kB").replace('M', "MB").replace('G', "GB").replace('T', "TB");
            let text = if text.ends_with('B') { text } else { format!("{text}B") };
            let digits = text.trim_end_matches(|c: char| c.is_alphabetic());
            format!("{digits} {}/s", &text[digits.len()..])
        }
        unit => format!("{} {unit}/s", prefixed(rate)),
    }
}

/// At most so many characters of a text.
pub fn short(text: &str, most: usize) -> String {
    if text.chars().count() <= most {
        return text.to_owned();
    }
    text.chars().take(most.saturating_sub(1)).chain(['…']).collect()
}

/// A large number with three digits and a prefix: `45.3k`, `1.2G`; small ones as they are.
pub fn prefixed(value: f64) -> String {
    let (factor, prefix) = match value.abs() {
        size if size >= 1e12 => (1e12, "T"),
        size if size >= 1e9 => (1e9, "G"),
        size if size >= 1e6 => (1e6, "M"),
        size if size >= 1e4 => (1e3, "k"),
        _ => (1.0, ""),
    };
    format!("{}{prefix}", three_digits(value / factor))
}

/// A ratio with three significant digits however small it is: `1.84`, `0.0125`.
pub fn ratio(value: f64) -> String {
    if value >= 1.0 || value <= 0.0 {
        return three_digits(value);
    }
    let decimals = (2.0 - value.log10().floor()).min(12.0) as usize;
    format!("{value:.decimals$}")
}

/// A share as per cent: `31 %`, `0.4 %`, `250 %`.
pub fn per_cent(share: f64) -> String {
    format!("{} %", three_digits(share * 100.0))
}

/// A small share as one in so many, rounded so that it never looks smaller than it is: `1 in 20,000`.
pub fn one_in(share: f64) -> String {
    if share >= 0.1 {
        return per_cent((share * 1000.0).ceil() / 1000.0);
    }
    let every = 1.0 / share;
    let unit = 10f64.powf(every.log10().floor() - 1.0).max(1.0);
    let rounded = (every / unit + 1e-9).floor() * unit;
    format!("1 in {}", count(rounded as u64))
}

/// Text from outside as it may go to a terminal: control characters, which could move the cursor or change the
/// title, are replaced.
pub fn harmless(text: &str) -> String {
    text.chars().map(|c| if c.is_control() || is_bidi_control(c) { '\u{fffd}' } else { c }).collect()
}

/// Characters that turn the direction of text around, so that a name could hide what stands beside it.
fn is_bidi_control(c: char) -> bool {
    matches!(c, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn latencies_read_like_this() {
        for (ns, text) in [
            (970.0, "0.97 us"),
            (41_000.0, "41 us"),
            (41_312.0, "41.3 us"),
            (1_250_400.0, "1,250 us"),
            (12_100_000.0, "12.1 ms"),
            (-350.0, "-0.35 us"),
            (0.0, "0 us"),
            (-1.0, "0 us"),
            (9_999.0, "10 us"),
            (25e9, "25 s"),
        ] {
            assert_eq!(with_unit(ns), text);
        }
    }

    #[test]
    fn shares_are_never_flattered() {
        assert_eq!(one_in(4.993e-5), "1 in 20,000");
        assert_eq!(one_in(2.9957e-6), "1 in 330,000");
        assert_eq!(one_in(0.123), "12.3 %");
        assert_eq!(one_in(0.05), "1 in 20");
        assert_eq!(one_in(1.0), "100 %");
    }

    #[test]
    fn counts_are_grouped() {
        assert_eq!(count(1_234_567), "1,234,567");
        assert_eq!(count(999), "999");
        assert_eq!(microseconds(-1_234_567.0), "-1,235");
        assert_eq!(ratio(0.012_514), "0.0125");
        assert_eq!(ratio(1.8412), "1.84");
        assert_eq!(prefixed(45_312.0), "45.3k");
        assert_eq!(prefixed(812.0), "812");
        assert_eq!(per_second(3.36e6, "bytes"), "3.36 MB/s");
        assert_eq!(per_second(120.0, "bytes"), "120 B/s");
    }

    #[test]
    fn names_cannot_drive_the_terminal() {
        assert_eq!(harmless("a\u{1b}[31mb\n"), "a\u{fffd}[31mb\u{fffd}");
    }

    proptest! {
        #[test]
        fn a_sign_is_never_lost(ns in -1_000_000_000_000i64..-5) {
            prop_assert!(with_unit(ns as f64).starts_with('-'));
        }
    }
}
