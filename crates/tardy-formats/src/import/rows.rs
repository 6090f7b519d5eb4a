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

/// What is said where [`drop_sums`] left one out.
pub(crate) const SUMS_DROPPED: &str = "the last column is the sum of the others in every row, and left out";

/// Leaves the last column out where it is the sum of the others, as cyclictest's `-H` writes it.
pub(crate) fn drop_sums(rows: &mut [Row]) -> bool {
    let is_sum = |(_, _, counts): &Row| match counts.split_last() {
        Some((last, rest)) if rest.len() >= 2 => {
            rest.iter().try_fold(0u64, |sum, count| sum.checked_add(*count)) == Some(*last)
        }
        _ => false,
    };
    // One row with readings may be like that by chance.
    let with_readings = rows.iter().filter(|(_, _, counts)| counts.iter().any(|count| *count > 0)).count();
    let drops = with_readings >= 2 && rows.iter().all(is_sum);
    if drops {
        rows.iter_mut().for_each(|(_, _, counts)| counts.truncate(counts.len() - 1));
    }
    drops
}
