//! Importers, one module for each foreign format. They convert the bytes of a file to its content.

pub(crate) mod columns;
mod cyclictest_line;
pub(crate) mod cyclictest_samples;
pub(crate) mod cyclictest_text;
pub(crate) mod hdr_log;
pub(crate) mod hwlatdetect;
pub(crate) mod isochron;
pub(crate) mod jitterdebugger;
pub(crate) mod jitterdebugger_samples;
mod json_threads;
pub(crate) mod latmus_plot;
pub(crate) mod level_csv;
pub(crate) mod oslat_text;
mod rows;
mod rt_tests;
pub(crate) mod rt_tests_json;
pub(crate) mod rteval;
pub(crate) mod rtla;
mod rtla_analysis;
pub(crate) mod rtla_top;
pub(crate) mod saleae_binary;
mod samples;
pub(crate) mod sigrok;
pub(crate) mod stress_ng;
pub(crate) mod vcd;
mod vcd_header;
pub(crate) mod xenomai;
pub(crate) mod xenomai_plot;

use std::path::PathBuf;

use tardy_record::capture::Edge;

use crate::error::{ImportError, Result};
use crate::imported::{TimeUnit, Unit};

/// The user's options for an import: values that files do not state.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ImportOptions {
    /// The unit of a file that does not state one.
    pub unit: Option<Unit>,
    /// The command line of the measurement.
    pub command: Option<String>,
    /// A capture's channel with the stimulus, by name or number.
    pub input: Option<String>,
    /// A capture's channel with the answer, or the single channel to measure.
    pub output: Option<String>,
    /// Which edges of a capture's channels count; rising by default.
    pub edge: Option<Edge>,
    /// The unit of the times of a capture that does not state one.
    pub time_unit: Option<TimeUnit>,
    /// The file's path, for formats that spread a capture over several files.
    pub path: Option<PathBuf>,
}

/// Parses a count. `line` and `field` are the place for an error.
pub(crate) fn number(word: &str, line: u64, field: impl std::fmt::Display) -> Result<u64> {
    let digits = !word.is_empty() && word.bytes().all(|byte| byte.is_ascii_digit());
    word.parse().ok().filter(|_| digits).ok_or_else(|| {
        let shown: String = word.chars().take(40).collect();
        ImportError::line(line, &field.to_string(), format!("'{shown}' is not a count below 2^64"))
    })
}

/// Parses a decimal such as `12.345` and multiplies it by `factor`, a power of ten. Truncates to a whole number.
pub(crate) fn decimal_ns(word: &str, factor: i64, line: u64, field: &str) -> Result<i64> {
    let wrong = || {
        let shown: String = word.chars().take(40).collect();
        ImportError::line(line, field, format!("'{shown}' is not a valid time"))
    };
    let (negative, digits) = match word.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, word),
    };
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
    let all_digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    if whole.is_empty() || !all_digits(whole) || !all_digits(fraction) {
        return Err(wrong());
    }
    let mut value =
        whole.parse::<i64>().ok().and_then(|whole| whole.checked_mul(factor)).ok_or_else(wrong)?;
    let mut place = factor;
    for digit in fraction.bytes() {
        place /= 10;
        value = value.checked_add(i64::from(digit - b'0') * place).ok_or_else(wrong)?;
    }
    Ok(if negative { -value } else { value })
}
