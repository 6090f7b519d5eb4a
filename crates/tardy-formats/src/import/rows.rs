//! Rows of counts, a column for each thread: what holds for them in every file that has them.

use crate::error::{ImportError, Result};

/// A value, the line that it stands in, and its counts.
pub(crate) type Row = (u64, u64, Vec<u64>);

/// Whether a row of `value` with `counts` may stand behind `rows`: values ascend, and every row has as many columns, of
/// which there are at most `most`.
///
/// # Errors
/// Where it may not, with the line and what is wrong.
pub(crate) fn may_follow(rows: &[Row], value: u64, counts: &[u64], line: u64, most: usize) -> Result<()> {
    if counts.is_empty() || counts.len() > most {
        return Err(ImportError::line(line, "whole line", format!("{} columns of counts", counts.len())));
    }
    let Some((before, _, known)) = rows.last() else { return Ok(()) };
    if value <= *before {
        let reason = format!("{value} stands behind {before}: rows ascend");
        return Err(ImportError::line(line, "latency", reason));
    }
    if known.len() != counts.len() {
        let reason = format!("{} columns, and {} in the row before", counts.len(), known.len());
        return Err(ImportError::line(line, "whole line", reason));
    }
    Ok(())
}
