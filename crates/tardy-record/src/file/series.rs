//! The invariants of one series.

use crate::block_maxima::BLOCK_COUNT;
use crate::histogram::{Bin, Histogram, HistogramError};
use crate::moment::{MOMENT_EVENTS_MAX, Moment};
use crate::run::Run;
use crate::series::{Series, WORST_COUNT};
use crate::slice::SLICE_COUNT;
use crate::threshold::ThresholdCount;

use super::{Flaw, times};

/// Checks that the fields of `series` agree with each other and with `run`.
pub(super) fn check(run: &Run, series: &Series) -> Result<(), Flaw> {
    if series.phase >= run.phases.len() {
        return Err(("phase", format!("there is no phase {}", series.phase)));
    }
    check_histograms(series)?;
    check_tally(series)?;
    check_extremes(series)?;
    check_mean(series)?;
    times::check_series(series)?;
    if series.slices.len() > SLICE_COUNT {
        return Err(("slices", format!("{} slices; the maximum is {SLICE_COUNT}", series.slices.len())));
    }
    let flaw = |error: HistogramError| ("slices", error.to_string());
    series.slices.iter().try_for_each(|slice| slice.histogram.check().map_err(flaw))?;
    check_block_maxima(series)?;
    series.thresholds.iter().try_for_each(|threshold| check_threshold(series, threshold))?;
    if series.worst.len() > WORST_COUNT {
        return Err(("worst", format!("more than {WORST_COUNT} samples")));
    }
    series.worst.iter().filter_map(|outlier| outlier.moment.as_ref()).try_for_each(check_moment)?;
    series.kind.contradiction(series.tally.recorded).map_or(Ok(()), Err)
}

fn check_moment(moment: &Moment) -> Result<(), Flaw> {
    if moment.events.len() > MOMENT_EVENTS_MAX {
        return Err(("worst.moment", format!("more than {MOMENT_EVENTS_MAX} events")));
    }
    match moment.events.windows(2).find(|pair| pair[1].at_ns < pair[0].at_ns) {
        Some(pair) => {
            Err(("worst.moment", format!("time goes back from {} to {}", pair[0].at_ns, pair[1].at_ns)))
        }
        None => Ok(()),
    }
}

fn check_histograms(series: &Series) -> Result<(), Flaw> {
    series.measured.check().map_err(|error| ("measured", error.to_string()))?;
    let Some(corrected) = &series.corrected else { return Ok(()) };
    corrected.check().map_err(|error| ("corrected", error.to_string()))?;
    let missed =
        series.tally.missed.get().ok_or(("corrected", "present, but missed is unknown".to_owned()))?;
    let expected = series.tally.recorded.checked_add(missed);
    if expected != Some(corrected.total()) {
        let sum = expected.map_or_else(|| "more than 2^64".to_owned(), |sum| sum.to_string());
        let reason = format!("{} values, but recorded + missed is {sum}", corrected.total());
        return Err(("corrected", reason));
    }
    Ok(())
}

fn check_tally(series: &Series) -> Result<(), Flaw> {
    let tally = &series.tally;
    if series.measured.total() != tally.recorded {
        let reason =
            format!("recorded is {}, but the histogram holds {}", tally.recorded, series.measured.total());
        return Err(("tally", reason));
    }
    if let (Some(attempted), Some(missed), Some(dropped)) =
        (tally.attempted.get(), tally.missed.get(), tally.dropped.get())
    {
        let sum = tally.recorded.checked_add(missed).and_then(|sum| sum.checked_add(dropped));
        if sum != Some(attempted) {
            let reason = format!(
                "recorded {} + missed {missed} + dropped {dropped} is not attempted {attempted}",
                tally.recorded
            );
            return Err(("tally", reason));
        }
    }
    Ok(())
}

fn check_extremes(series: &Series) -> Result<(), Flaw> {
    let bins = series.measured.bins();
    match (series.min_ns, series.max_ns, bins.first(), bins.last()) {
        (None, None, None, None) => Ok(()),
        // Another tool may print its maximum and not its minimum.
        (None, Some(max), Some(first), Some(last)) if series.foreign().is_some() => {
            check_extremes_in(first.lower_ns, max, *first, *last)
        }
        (Some(min), Some(max), Some(first), Some(last)) => check_extremes_in(min, max, *first, *last),
        _ => Err((
            "min_ns",
            "minimum, maximum and histogram do not agree on whether anything was recorded".to_owned(),
        )),
    }
}

fn check_extremes_in(min: i64, max: i64, first: Bin, last: Bin) -> Result<(), Flaw> {
    if min > max {
        return Err(("min_ns", format!("{min} is above the maximum, {max}")));
    }
    if min < first.lower_ns || min >= first.upper_ns {
        return Err((
            "min_ns",
            format!("{min} is not in the lowest bin, [{}, {})", first.lower_ns, first.upper_ns),
        ));
    }
    if max < last.lower_ns || (max >= last.upper_ns && last.upper_ns != i64::MAX) {
        return Err((
            "max_ns",
            format!("{max} is not in the highest bin, [{}, {})", last.lower_ns, last.upper_ns),
        ));
    }
    Ok(())
}

/// Checks that the mean is between the extremes. A mean that another tool's file states may be rounded.
fn check_mean(series: &Series) -> Result<(), Flaw> {
    let (Some(min), Some(max)) = (series.min_ns, series.max_ns) else { return Ok(()) };
    let between = |sum: i64, count: u64| {
        let (sum, count) = (i128::from(sum), i128::from(count));
        (i128::from(min) * count..=i128::from(max) * count).contains(&sum)
    };
    if let Some(sum) = series.sum_ns.get()
        && !between(sum, series.tally.recorded)
    {
        let reason = format!(
            "the mean of {} values with the sum {sum} is not between the minimum, {min}, and the maximum, {max}",
            series.tally.recorded
        );
        return Err(("sum_ns", reason));
    }
    let Some(foreign) = series.foreign() else { return Ok(()) };
    let rounding = foreign.resolution_ns.max(1) as f64;
    match foreign.stated_mean_ns {
        Some(mean) if !(min as f64 - rounding..=max as f64 + rounding).contains(&mean) => {
            let reason = format!("{mean} is not between the minimum, {min}, and the maximum, {max}");
            Err(("kind.stated_mean_ns", reason))
        }
        _ => Ok(()),
    }
}

/// Checks that no block is above the series' maximum. A recovered series may lack the block that holds it.
fn check_block_maxima(series: &Series) -> Result<(), Flaw> {
    let maxima = &series.block_maxima.maxima_ns;
    if maxima.len() > BLOCK_COUNT {
        return Err(("block_maxima", format!("more than {BLOCK_COUNT} blocks")));
    }
    match (maxima.iter().flatten().max(), series.max_ns) {
        (Some(highest), Some(max)) if *highest > max => {
            Err(("block_maxima", format!("the highest is {highest}, above the maximum, {max}")))
        }
        _ => Ok(()),
    }
}

/// Checks that the exceedances are as many as the histograms can hold above the threshold.
fn check_threshold(series: &Series, threshold: &ThresholdCount) -> Result<(), Flaw> {
    let limit_ns = i64::try_from(threshold.limit_ns).unwrap_or(i64::MAX);
    let agrees = |histogram: &Histogram, count: u64| {
        let (at_least, at_most) = histogram.counts_above(limit_ns);
        if (at_least..=at_most).contains(&count) {
            return Ok(());
        }
        let reason = format!(
            "{count} values above {limit_ns} ns, but the histogram holds {at_least} to {at_most} of them"
        );
        Err(("thresholds", reason))
    };
    agrees(&series.measured, threshold.measured)?;
    match (threshold.corrected, &series.corrected) {
        (Some(count), Some(corrected)) => agrees(corrected, count),
        _ => Ok(()),
    }
}
