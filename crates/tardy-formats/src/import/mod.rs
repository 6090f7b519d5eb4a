//! Importers: one file for each foreign format, from the bytes of a file to what it holds.

pub(crate) mod cyclictest_samples;
pub(crate) mod cyclictest_text;
pub(crate) mod rt_tests_json;

use crate::error::{ImportError, Result};
use crate::imported::Unit;

/// What a person tells about files, since they do not.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ImportOptions {
    /// The unit of numbers that have none.
    pub unit: Option<Unit>,
    /// The command line that the measurement was made with.
    pub command: Option<String>,
}

/// A count in a line.
pub(crate) fn number(word: &str, line: u64, field: &str) -> Result<u64> {
    let digits = !word.is_empty() && word.bytes().all(|byte| byte.is_ascii_digit());
    word.parse().ok().filter(|_| digits).ok_or_else(|| {
        let shown: String = word.chars().take(40).collect();
        ImportError::line(line, field, format!("'{shown}' is no count below 2^64"))
    })
}
