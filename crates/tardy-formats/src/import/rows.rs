//! Rows of counts with a column for each thread: checks that all formats share.

use crate::error::{ImportError, Result};

/// A value, its line number and its counts.
pub(crate) type Row = (u64, u64, Vec<u64>);

/// Checks that a row of `value` with `counts` may follow `rows`: values ascend, and every row has the same number of
/// columns, at most `most`.
///
/// # Errors
/// If the row may not follow. The error names the line and the reason.
pub(crate) fn may_follow(rows: &[Row], value: u64, counts: &[u64], line: u64, most: usize) -> Result<()> {
    if counts.is_empty() || counts.len() > most {
        return Err(ImportError::line(line, "whole line", format!("{} columns of counts", counts.len())));
    }
    let Some((before, _, known)) = rows.last() else { return Ok(()) };
    if value <= *before {
        let reason = format!("{value} follows {before}; rows must ascend");
        return Err(ImportError::line(line, "latency", reason));
    }
    if known.len() != counts.len() {
        let reason = format!("{} columns, but {} in the previous row", counts.len(), known.len());
        return Err(ImportError::line(line, "whole line", reason));
    }
    Ok(())
}

/// The remark if [`drop_sums`] dropped a column.
pub(crate) const SUMS_DROPPED: &str = "the last column is left out: in every row it is the sum of the others";

/// Drops the last column if it is the sum of the others, as cyclictest's `-H` writes it. Returns whether it did.
pub(crate) fn drop_sums(rows: &mut [Row]) -> bool {
    let is_sum = |(_, _, counts): &Row| match counts.split_last() {
        Some((last, rest)) if rest.len() >= 2 => {
            rest.iter().try_fold(0u64, |sum, count| sum.checked_add(*count)) == Some(*last)
        }
        _ => false,
    };
    // A single row with readings may be a sum by chance.
    let with_readings = rows.iter().filter(|(_, _, counts)| counts.iter().any(|count| *count > 0)).count();
    let drops = with_readings >= 2 && rows.iter().all(is_sum);
    if drops {
        rows.iter_mut().for_each(|(_, _, counts)| counts.truncate(counts.len() - 1));
    }
    drops
}
