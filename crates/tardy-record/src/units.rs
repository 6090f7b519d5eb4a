//! Durations as people write them: a number and a unit.

use thiserror::Error;

const NS_PER: [(&str, u64); 8] = [
    ("ns", 1),
    ("us", 1_000),
    ("µs", 1_000),
    ("ms", 1_000_000),
    ("s", 1_000_000_000),
    ("m", 60_000_000_000),
    ("min", 60_000_000_000),
    ("h", 3_600_000_000_000),
];
const NS_PER_DAY: u64 = 86_400_000_000_000;

/// Why a text is not a duration.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[error("'{text}' is not a duration: {reason}; write a number with a unit, such as 200us, 1.5s or 5h33m")]
pub struct DurationError {
    /// The text.
    pub text: String,
    /// The problem.
    pub reason: &'static str,
}

/// Parses `200us`, `1.5s`, `5h33m`, `2d` into nanoseconds.
///
/// A number without a unit is refused, even 0, because it could be seconds or microseconds. Fractions finer than a
/// nanosecond are refused rather than rounded.
pub fn parse_duration_ns(text: &str) -> Result<u64, DurationError> {
    let fail = |reason| DurationError { text: text.to_owned(), reason };
    let mut rest = text.trim();
    if rest.is_empty() {
        return Err(fail("it is empty"));
    }
    let mut total: u64 = 0;
    while !rest.is_empty() {
        let number_end = rest.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(rest.len());
        let (number, after) = rest.split_at(number_end);
        if number.is_empty() {
            return Err(fail("a number is missing"));
        }
        let after = after.trim_start();
        let unit_end = after.find(|c: char| c.is_ascii_digit() || c == ' ').unwrap_or(after.len());
        let (unit, after) = after.split_at(unit_end);
        if unit.is_empty() {
            return Err(fail("the unit is missing"));
        }
        let factor =
            unit_factor(unit).ok_or_else(|| fail("the unit is not one of ns, us, ms, s, m, h, d"))?;
        let part = scaled(number, factor).map_err(fail)?;
        total = total.checked_add(part).ok_or_else(|| fail("it is longer than 584 years"))?;
        rest = after.trim_start();
    }
    Ok(total)
}

/// Parses a share from a number or a percentage, such as `1e-6` or `0.1%`; `None` if it is neither, or below 0.
pub fn parse_share(text: &str) -> Option<f64> {
    let text = text.trim();
    let (digits, scale) = text.strip_suffix('%').map_or((text, 1.0), |digits| (digits.trim_end(), 100.0));
    digits.parse::<f64>().ok().filter(|value| value.is_finite() && *value >= 0.0).map(|value| value / scale)
}

fn unit_factor(unit: &str) -> Option<u64> {
    if unit == "d" {
        return Some(NS_PER_DAY);
    }
    NS_PER.iter().find(|(name, _)| *name == unit).map(|(_, factor)| *factor)
}

/// `number` (digits with at most one point) times `factor`, in integer arithmetic.
fn scaled(number: &str, factor: u64) -> Result<u64, &'static str> {
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    if whole.is_empty() && fraction.is_empty() || fraction.contains('.') {
        return Err("the number is malformed");
    }
    let whole: u64 =
        if whole.is_empty() { 0 } else { whole.parse().map_err(|_| "the number is too large")? };
    let mut total = whole.checked_mul(factor).ok_or("it is longer than 584 years")?;
    let mut place = factor;
    for digit in fraction.trim_end_matches('0').bytes() {
        if !place.is_multiple_of(10) {
            return Err("it is finer than a nanosecond");
        }
        place /= 10;
        total += u64::from(digit - b'0') * place;
    }
    Ok(total)
}

/// A count with its noun: `1 gap`, `3 gaps`.
pub fn counted(n: u64, one: &str, several: &str) -> String {
    format!("{n} {}", if n == 1 { one } else { several })
}

/// Formats nanoseconds so that [`parse_duration_ns`] returns the same number: `200us`, `5h33m`, `1.5s`.
pub fn format_duration_ns(ns: u64) -> String {
    if ns == 0 {
        return "0s".to_owned();
    }
    if ns < 60_000_000_000 {
        let (name, factor) = [("s", 1_000_000_000), ("ms", 1_000_000), ("us", 1_000), ("ns", 1)]
            .into_iter()
            .find(|(_, factor)| ns >= *factor)
            .unwrap_or(("ns", 1));
        return format!("{}{name}", decimal(ns, factor));
    }
    let mut text = String::new();
    let mut rest = ns;
    for (name, factor) in [("d", NS_PER_DAY), ("h", 3_600_000_000_000), ("m", 60_000_000_000)] {
        if rest >= factor {
            text.push_str(&format!("{}{name}", rest / factor));
            rest %= factor;
        }
    }
    if rest > 0 {
        text.push_str(&format!("{}s", decimal(rest, 1_000_000_000)));
    }
    text
}

/// An interval that was found, or a time that was measured, with four digits: it has no more that mean something.
pub fn format_found_interval_ns(ns: u64) -> String {
    let place = 10_u64.pow(ns.max(1).ilog10().saturating_sub(3));
    format_duration_ns(ns.saturating_add(place / 2) / place * place)
}

/// The same as [`format_duration_ns`] for a time that may be negative: `-300us`.
pub fn format_signed_duration_ns(ns: i64) -> String {
    let sign = if ns < 0 { "-" } else { "" };
    format!("{sign}{}", format_duration_ns(ns.unsigned_abs()))
}

/// `value / factor` as a decimal without trailing zeros; `factor` is a power of ten.
fn decimal(value: u64, factor: u64) -> String {
    let (whole, rest) = (value / factor, value % factor);
    if rest == 0 {
        return whole.to_string();
    }
    let width = factor.ilog10() as usize;
    let fraction = format!("{rest:0width$}");
    format!("{whole}.{}", fraction.trim_end_matches('0'))
}
