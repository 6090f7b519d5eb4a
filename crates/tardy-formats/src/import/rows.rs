//! Rows of counts with a column for each thread.

use tardy_record::Bin;

use crate::error::{ImportError, Result};
use crate::imported::Unit;

/// The remark if [`Rows::drop_sums`] dropped a column.
pub(crate) const SUMS_DROPPED: &str = "the last column is left out: in every row it is the sum of the others";

/// Values are below 2^61 ns (73 years) in us, the longer unit.
const VALUE_END: u64 = (1 << 61) / 1000;

/// The rows of a histogram. Each column is kept as the bins of its thread, which become the run's: files can have millions
/// of rows.
#[derive(Debug, Default)]
pub(crate) struct Rows {
    /// The bins with a count of each column, in units of the file.
    columns: Vec<Vec<Bin>>,
    first_line: u64,
    /// The value of the last row.
    last: Option<u64>,
    /// The number of rows with a count.
    occupied: u64,
    /// The first row whose last count is not the sum of the others.
    unequal: Option<Unequal>,
}

/// A row whose last count is not the sum of the others.
#[derive(Clone, Copy, Debug)]
struct Unequal {
    line: u64,
    value: u64,
    last: u64,
}

impl Rows {
    /// Adds a row of `value` with `counts`. Values ascend, and every row has the same number of columns, at most `most`.
    ///
    /// # Errors
    /// If the row may not follow. The error names the line and the reason.
    pub(crate) fn push(&mut self, value: u64, counts: &[u64], line: u64, most: usize) -> Result<()> {
        if counts.is_empty() || counts.len() > most {
            return Err(ImportError::line(line, "whole line", format!("{} columns of counts", counts.len())));
        }
        match self.last.replace(value) {
            None => {
                self.first_line = line;
                self.columns.resize(counts.len(), Vec::new());
            }
            Some(before) if value <= before => {
                let reason = format!("{value} follows {before}; rows must ascend");
                return Err(ImportError::line(line, "latency", reason));
            }
            Some(_) => {}
        }
        if counts.len() != self.width() {
            let reason = format!("{} columns, but {} in the previous row", counts.len(), self.width());
            return Err(ImportError::line(line, "whole line", reason));
        }
        if value >= VALUE_END {
            let reason = format!("{value} is longer than a measurement can be");
            return Err(ImportError::line(line, "latency", reason));
        }
        let lower_ns = value.cast_signed();
        let mut is_occupied = false;
        for (bins, count) in self.columns.iter_mut().zip(counts).filter(|(_, count)| **count > 0) {
            bins.push(Bin { lower_ns, upper_ns: lower_ns + 1, count: *count });
            is_occupied = true;
        }
        self.occupied += u64::from(is_occupied);
        if let Some((last, others)) = counts.split_last()
            && self.unequal.is_none()
            && others.iter().try_fold(0u64, |sum, count| sum.checked_add(*count)) != Some(*last)
        {
            self.unequal = Some(Unequal { line, value, last: *last });
        }
        Ok(())
    }

    /// The number of columns; 0 without rows.
    pub(crate) fn width(&self) -> usize {
        self.columns.len()
    }

    /// The line of the first row.
    pub(crate) fn first_line(&self) -> u64 {
        self.first_line
    }

    /// The end of the last row, in units; 0 without rows.
    pub(crate) fn reach(&self) -> u64 {
        self.last.map_or(0, |value| value + 1)
    }

    /// Drops the last column if it is the sum of the others, as cyclictest's `-H` writes it. Returns whether it did.
    pub(crate) fn drop_sums(&mut self) -> bool {
        // A single row with readings may be a sum by chance.
        let drops = self.width() >= 3 && self.occupied >= 2 && self.unequal.is_none();
        if drops {
            self.columns.pop();
        }
        drops
    }

    /// Checks that the last column is the sum of the others.
    ///
    /// # Errors
    /// If it is not. The error names the first such row.
    pub(crate) fn check_total(&self) -> Result<()> {
        let Some(Unequal { line, value, last }) = self.unequal else { return Ok(()) };
        let reason = format!("the total column is {last}, but the threads' counts do not add up to it");
        Err(ImportError::line(line, &format!("row {value}"), reason))
    }

    /// Moves out the bins of a column, with values in `unit`; none if there is no such column.
    pub(crate) fn take_bins(&mut self, column: usize, unit: Unit) -> Vec<Bin> {
        let mut bins = self.columns.get_mut(column).map(std::mem::take).unwrap_or_default();
        for bin in &mut bins {
            bin.lower_ns *= unit.ns();
            bin.upper_ns = bin.lower_ns + unit.ns();
        }
        bins
    }
}
