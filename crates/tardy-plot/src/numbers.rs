//! Formats numbers: latencies in microseconds, with three significant digits.

use tardy_analyse::quantile::Value;
use tardy_record::units::format_duration_ns;

/// Latencies from this value on, in ns, are shown in milliseconds.
const MILLISECONDS_FROM: f64 = 10_000_000.0;
/// Latencies from this value on, in ns, are shown in seconds.
const SECONDS_FROM: f64 = 10_000_000_000.0;

/// A latency with its unit: `0.97 us`, `41 us`, `1,250 us`, `12.1 ms`.
pub fn with_unit(ns: f64) -> String {
    let (factor, unit) = match ns.abs() {
        size if size >= SECONDS_FROM => (1e9, "s"),
        size if size >= MILLISECONDS_FROM => (1e6, "ms"),
        _ => (1e3, "us"),
    };
    format!("{} {unit}", three_digits(ns / factor))
}

/// The same as [`with_unit`] with typographic signs: `41 µs`, `−0.35 µs`.
pub fn typeset(ns: f64) -> String {
    with_unit(ns).replace("us", "µs").replace('-', "−").replace(' ', "\u{a0}")
}

/// A number with three significant digits, without trailing zeros: `0.97`, `41.3`, `1,250`.
pub fn three_digits(value: f64) -> String {
    let text = microseconds(value * 1000.0);
    if !text.contains('.') {
        return text;
    }
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
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
        Some(("-0", "00")) => "0.00".to_owned(),
        Some(_) => text,
        None => grouped(&text),
    }
}

/// A figure in us for a column of a table: `41.3`; `≥400` if it is a lower bound; `n/a` if there is none.
pub fn figure(ns: Option<f64>, is_least: bool) -> String {
    ns.map_or_else(|| "n/a".to_owned(), |ns| at_least(microseconds(ns), is_least))
}

/// A quantile in us for a column of a table: `41.3`; `≥400` if it is beyond the histogram; `n/a` if there are too few values.
pub fn quantile(value: Option<Value>) -> String {
    figure(value.map(|value| value.quoted_ns() as f64), value.is_some_and(|value| value.at_least))
}

/// A figure, marked with `≥` if it is only a lower bound.
pub fn at_least(figure: String, at_least: bool) -> String {
    if at_least { format!("≥{figure}") } else { figure }
}

/// A maximum in us for a column of a table: `1,163`, or `≥84.0` if it is a lower bound; `none` if there is none.
pub fn highest(max_ns: Option<i64>, is_least: bool, none: &str) -> String {
    max_ns.map_or_else(|| none.to_owned(), |ns| figure(Some(ns as f64), is_least))
}

/// A maximum with its unit: `84 us`, or `≥ 84 us` if it is a lower bound.
pub fn highest_with_unit(max_ns: i64, is_least: bool) -> String {
    let figure = with_unit(max_ns as f64);
    if is_least { format!("≥ {figure}") } else { figure }
}

/// A count with thousands separators: `1,234,567`.
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

/// A duration without needless digits: whole milliseconds below 10 s, tenths of a second below a minute, whole seconds
/// above.
pub fn rounded(ns: u64) -> String {
    let unit = match ns {
        0..1_000_000 => 1,
        1_000_000..10_000_000_000 => 1_000_000,
        10_000_000_000..60_000_000_000 => 100_000_000,
        _ => 1_000_000_000,
    };
    format_duration_ns(ns.saturating_add(unit / 2) / unit * unit)
}

/// A period with as many digits as its error allows, at most three decimals: `125.000 us`.
pub fn period_text(period_ns: f64, error_ns: f64) -> String {
    let (unit, name) = match period_ns {
        ns if ns < 1e6 => (1e3, "us"),
        ns if ns < 1e9 => (1e6, "ms"),
        _ => (1e9, "s"),
    };
    let error = (error_ns / unit).max(1e-12);
    let digits = (-libm::log10(error).floor()).clamp(0.0, 3.0) as usize;
    format!("{:.digits$} {name}", period_ns / unit)
}

/// A count with thousands separators and its noun: `1 gap`, `3,000 gaps`.
pub fn counted(n: u64, one: &str, several: &str) -> String {
    format!("{} {}", count(n), if n == 1 { one } else { several })
}

/// How many of several things a sentence names.
const NAMED_MAX: usize = 5;

/// The first of `all`, and how many more there are: `a, b, c, d, e, and 3 more`.
pub fn first_few(all: &[String], separator: &str) -> String {
    let named = all[..all.len().min(NAMED_MAX)].join(separator);
    match all.len().saturating_sub(NAMED_MAX) {
        0 => named,
        rest => format!("{named}{separator}and {rest} more"),
    }
}

/// The text, shortened to `most` characters with an ellipsis in the middle if it is longer: a name and its phase both stay visible.
pub fn short_inside(text: &str, most: usize) -> String {
    let (length, head) = (text.chars().count(), most / 2);
    if length <= most {
        return text.to_owned();
    }
    let tail = text.chars().skip(length + head + 1 - most);
    text.chars().take(head).chain(['…']).chain(tail).collect()
}

/// The text, shortened to `most` characters with an ellipsis at the end if it is longer.
pub fn short(text: &str, most: usize) -> String {
    if text.chars().count() <= most {
        return text.to_owned();
    }
    text.chars().take(most.saturating_sub(1)).chain(['…']).collect()
}

/// A number with three digits, from 10,000 on with a prefix: `812`, `45.3k`, `1.2G`.
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

/// A ratio with three significant digits: `1.84`, `0.0125`.
pub fn ratio(value: f64) -> String {
    if value >= 1.0 || value <= 0.0 {
        return three_digits(value);
    }
    let decimals = (2.0 - libm::log10(value).floor()).min(12.0) as usize;
    format!("{value:.decimals$}")
}

/// A share as per cent: `31 %`, `0.4 %`, `250 %`.
pub fn per_cent(share: f64) -> String {
    format!("{} %", three_digits(share * 100.0))
}

/// A confidence below 1 as per cent, with as many digits as it takes not to be 100 %: `95 %`, `99.9999 %`.
pub fn confidence(share: f64) -> String {
    let lacking = (1.0 - share) * 100.0;
    if share >= 1.0 || lacking >= 0.1 {
        return per_cent(share);
    }
    let decimals = (-libm::log10(lacking)).ceil().clamp(1.0, 14.0) as usize;
    let text = format!("{:.decimals$}", share * 100.0);
    format!("{} %", text.trim_end_matches('0'))
}

/// A small share as `1 in 20,000` or `1 in 33 million`, rounded up.
pub fn one_in(share: f64) -> String {
    if share >= 0.1 {
        return per_cent((share * 1000.0).ceil() / 1000.0);
    }
    let every = 1.0 / share;
    let unit = libm::pow(10.0, libm::log10(every).floor() - 1.0).max(1.0);
    let rounded = (every / unit + 1e-9).floor() * unit;
    match rounded {
        million if million >= 1e9 => format!("1 in {} billion", three_digits(million / 1e9)),
        million if million >= 1e6 => format!("1 in {} million", three_digits(million / 1e6)),
        rounded => format!("1 in {}", count(rounded as u64)),
    }
}

/// Untrusted text for a terminal or a page. Control characters, which could move the cursor or change the title, are
/// replaced.
pub fn harmless(text: &str) -> String {
    // Every name that a page shows passes here.
    tardy_analyse::stop::check();
    text.chars().map(|c| if c.is_control() || is_bidi_control(c) { '\u{fffd}' } else { c }).collect()
}

/// Untrusted text in lines, such as CSV: control characters other than the end of a line and the tab are replaced.
pub fn harmless_lines(text: &str) -> String {
    let shown =
        |c: char| if matches!(c, '\n' | '\t') { c.into() } else { harmless(c.encode_utf8(&mut [0; 4])) };
    text.chars().map(shown).collect()
}

/// Whether a character changes the direction of text: a name with one could hide the text next to it.
fn is_bidi_control(c: char) -> bool {
    matches!(c, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}
