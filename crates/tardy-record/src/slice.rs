//! Time slices: how the distribution changed during a run, in constant memory.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::histogram::{Histogram, HistogramError};

/// The most slices of a series.
pub const SLICE_COUNT: usize = 64;

/// A stretch of time of a series, with 16 bins per octave.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Slice {
    /// When it starts, in ns from the start of the run.
    pub start_ns: u64,
    /// When it ends.
    pub end_ns: u64,
    /// The values in it, with missed periods if the series has a corrected histogram.
    pub histogram: Histogram,
}

/// Adds a slice. If there are [`SLICE_COUNT`] already, they are merged in pairs first.
pub fn push(slices: &mut Vec<Slice>, slice: Slice) -> Result<(), HistogramError> {
    if slices.len() >= SLICE_COUNT {
        let mut merged: Vec<Slice> = Vec::with_capacity(SLICE_COUNT);
        for pair in slices.chunks(2) {
            let mut slice = pair[0].clone();
            for later in &pair[1..] {
                slice.end_ns = later.end_ns;
                slice.histogram.merge(&later.histogram)?;
            }
            merged.push(slice);
        }
        *slices = merged;
    }
    slices.push(slice);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn doubling_loses_nothing() {
        let mut slices = Vec::new();
        for i in 0..1000u64 {
            let histogram =
                Histogram::from_bins(vec![(i as i64 % 7, i as i64 % 7 + 1, i + 1).into()]).unwrap();
            push(&mut slices, Slice { start_ns: i, end_ns: i + 1, histogram }).unwrap();
        }
        assert!(slices.len() <= SLICE_COUNT);
        assert_eq!(slices.iter().map(|slice| slice.histogram.total()).sum::<u64>(), 1000 * 1001 / 2);
        assert_eq!((slices[0].start_ns, slices.last().unwrap().end_ns), (0, 1000));
        assert!(slices.windows(2).all(|pair| pair[0].end_ns == pair[1].start_ns));
    }
}
