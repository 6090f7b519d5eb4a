//! cyclictest's histogram, as its parsers expect it: rows, totals, extremes, overflows. For a run without a distribution,
//! the thread lines that cyclictest prints without `-h`.

use tardy_record::Run;

use super::columns::SeriesComment;
use super::{ExportOptions, cyclictest_threads, no_distribution, shown};
use crate::cyclictest;
use crate::error::ExportError;
use crate::imported::Unit;

/// The text of `run`.
pub(super) fn text(run: &Run, options: &ExportOptions) -> Result<String, ExportError> {
    let threads = cyclictest_threads::of(run, options.unit, "cyclictest")?;
    let mut text = String::new();
    for (series, thread) in shown(run).zip(&threads) {
        text.push_str(&SeriesComment::of(run, series, thread.overflows).line());
    }
    if !no_distribution(run) {
        return Ok(text + &cyclictest::histogram(&threads, None, false));
    }
    text.push_str("# tardy: a thread id, P, I or Act of 0 is unknown\n");
    for (number, thread) in threads.iter().enumerate() {
        if thread.max_at_least {
            return Err(ExportError::NoPlace {
                format: "cyclictest",
                what: format!(
                    "a maximum that is a lower bound ({})",
                    thread.label.as_deref().unwrap_or_default()
                ),
                instead: "cyclictest-json leaves it out, and json marks it".to_owned(),
            });
        }
        if thread.mean.is_none() {
            return Err(ExportError::NoPlace {
                format: "cyclictest",
                what: format!("an unknown mean ({})", thread.label.as_deref().unwrap_or_default()),
                instead: "cyclictest-json, csv and json leave it out".to_owned(),
            });
        }
        text.push_str(&cyclictest::summary_line(number, thread, options.unit == Unit::Ns));
    }
    Ok(text)
}
