//! The values of options.

use tardy_record::plan::{ClockId, Policy};

/// `word` as a number.
pub(crate) fn number<T: std::str::FromStr>(word: &str, option: &str) -> Result<T, String> {
    word.trim().parse().map_err(|_| format!("{option} {word}: expected a whole number"))
}

/// A policy and the name that cyclictest shows for it. `batch` and `idle` are measured with SCHED_OTHER, as in cyclictest.
pub(crate) fn policy(name: &str) -> Result<(Policy, &'static str), String> {
    match name.to_ascii_lowercase().as_str() {
        "fifo" => Ok((Policy::Fifo, "fifo")),
        "rr" => Ok((Policy::Rr, "rr")),
        "other" | "normal" => Ok((Policy::Other, "other")),
        "batch" => Ok((Policy::Other, "batch")),
        "idle" => Ok((Policy::Other, "idle")),
        _ => Err(format!("--policy {name}: expected fifo, rr, other, normal, batch or idle")),
    }
}

/// A clock by its number or name.
pub(crate) fn clock(name: &str) -> Result<ClockId, String> {
    match name.to_ascii_lowercase().as_str() {
        "0" | "mono" | "monotonic" => Ok(ClockId::Monotonic),
        "1" | "real" | "realtime" => Ok(ClockId::Realtime),
        _ => Err(format!("-c {name}: expected 0 (CLOCK_MONOTONIC) or 1 (CLOCK_REALTIME)")),
    }
}

/// A duration in s: a number, or a number followed by s, m, h or d.
pub(crate) fn seconds(text: &str) -> Result<u64, String> {
    let wrong = || format!("-D {text}: expected a number of seconds, or a number followed by m, h or d");
    let digits = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let factor = match text[digits.len()..].to_ascii_lowercase().as_str() {
        "" | "s" => 1,
        "m" => 60,
        "h" => 3600,
        "d" => 86_400,
        _ => return Err(wrong()),
    };
    digits.parse::<u64>().ok().and_then(|count| count.checked_mul(factor)).ok_or_else(wrong)
}
