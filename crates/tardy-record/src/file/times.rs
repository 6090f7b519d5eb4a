//! The invariants of times: what has readings has a length, nothing ends before it starts, and no time is beyond the signed 64-bit
//! range that differences of times need.

use crate::run::Phase;
use crate::series::{Series, SeriesKind};

use super::Flaw;

/// The latest time and the longest duration of a run, in ns: 292 years.
const TIME_MAX_NS: u64 = i64::MAX as u64;

/// Checks the start and the end of a phase.
pub(super) fn check_phase(phase: &Phase) -> Result<(), Flaw> {
    check_length("start_ns", phase.start_ns)?;
    let Some(end_ns) = phase.end_ns else { return Ok(()) };
    check_order("end_ns", phase.start_ns, end_ns)
}

/// Checks the lengths of a series: of its counted time, its blocks and its slices.
pub(super) fn check_series(series: &Series) -> Result<(), Flaw> {
    check_length("counted_ns", series.counted_ns)?;
    // Another tool's file need not state how long it counted.
    let is_stated = !matches!(series.kind, SeriesKind::Foreign(_) | SeriesKind::Capture(_));
    if is_stated && series.counted_ns == 0 && series.tally.recorded > 0 {
        return Err(("counted_ns", format!("0, but {} values were recorded", series.tally.recorded)));
    }
    let blocks = &series.block_maxima;
    let count = blocks.maxima_ns.len() as u64;
    if blocks.block_ns == 0 && count > 0 {
        return Err(("block_maxima.block_ns", format!("0, but there are {count} blocks")));
    }
    let end_ns = blocks.block_ns.checked_mul(count).and_then(|length| length.checked_add(blocks.start_ns));
    if end_ns.is_none_or(|end_ns| end_ns > TIME_MAX_NS) {
        return Err((
            "block_maxima.block_ns",
            format!("{}: the last of {count} blocks ends after more than 292 years", blocks.block_ns),
        ));
    }
    for slice in &series.slices {
        check_order("slices.end_ns", slice.start_ns, slice.end_ns)?;
    }
    for threshold in &series.thresholds {
        if threshold.block_ns == 0 && threshold.blocks > 0 {
            return Err(("thresholds.block_ns", format!("0, but there are {} blocks", threshold.blocks)));
        }
        check_length("thresholds.block_ns", threshold.block_ns)?;
    }
    Ok(())
}

fn check_order(field: &'static str, start_ns: u64, end_ns: u64) -> Result<(), Flaw> {
    if end_ns < start_ns {
        return Err((field, format!("{end_ns} is before the start, {start_ns}")));
    }
    check_length(field, end_ns)
}

fn check_length(field: &'static str, ns: u64) -> Result<(), Flaw> {
    match ns > TIME_MAX_NS {
        true => Err((field, format!("{ns} ns is more than 292 years"))),
        false => Ok(()),
    }
}
