//! Whether the distribution was the same throughout a phase.
//!
//! The run keeps at most 64 slices of time. For each series, the median of each slice and a high quantile are searched for
//! change points ([`change_points`], after Otava), by their normal scores, so that a single slice with a stall is not a
//! change. A change is reported if it is significant and larger than a bin of the slices.

use std::ops::Range;

use serde::Serialize;
use tardy_record::slice::Slice;
use tardy_record::{Run, Series};
use tardy_statistics::change_points::{self, Options};
use tardy_statistics::extreme::order;
use tardy_statistics::median;

use crate::name;

/// Fewer slices have no change that is significant.
const LEAST_SLICES: usize = 12;
/// The p-value of a change in one series and quantile; it is divided by the number of tests.
const MOST_P: f64 = 0.002;
/// Smaller changes are not reported: a bin of a slice is 4.4 % wide.
const LEAST_RATIO: f64 = 1.1;
/// The least number of values above a quantile in a slice.
const LEAST_ABOVE: u64 = 10;
/// So many changes are listed.
const MOST_CHANGES: usize = 8;

/// Whether a phase was stationary.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Stationarity {
    /// Index of the phase.
    pub phase: usize,
    /// Whether no change was found; `None` if there are too few slices to find one.
    pub stationary: Option<bool>,
    /// How many slices the series have, at least.
    pub slices: usize,
    /// The length of a slice, in ns.
    pub slice_ns: u64,
    /// How many quantiles of series were searched.
    pub searched: usize,
    /// The changes, the largest first.
    pub changes: Vec<Change>,
}

/// A change of a quantile.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Change {
    /// Index of the series.
    pub series: usize,
    /// Its name.
    pub label: String,
    /// The quantile: `p50`, `p90` or `p99`.
    pub level: &'static str,
    /// When it changed, in ns from the start of the run: the start of the first slice after the change.
    pub at_ns: u64,
    /// The median of the slices' quantiles before, in ns, since the change before.
    pub before_ns: f64,
    /// The same after, until the next change.
    pub after_ns: f64,
    /// How probable such a change is by chance.
    pub p: f64,
}

impl Change {
    /// How many times higher the higher side is.
    pub fn ratio(&self) -> f64 {
        (self.after_ns / self.before_ns).max(self.before_ns / self.after_ns)
    }
}

/// The stationarity of every phase of `run` that measured latencies.
pub fn of(run: &Run) -> Vec<Stationarity> {
    (0..run.phases.len()).filter_map(|phase| of_phase(run, phase)).collect()
}

fn of_phase(run: &Run, phase: usize) -> Option<Stationarity> {
    let is_own =
        |(_, one): &(usize, &Series)| one.phase == phase && one.is_of_wakeups() && one.max_ns.is_some();
    let series: Vec<(usize, &Series)> = run.series.iter().enumerate().filter(is_own).collect();
    let slices: Vec<&[Slice]> = series.iter().map(|(_, one)| whole(&one.slices)).collect();
    let fewest = slices.iter().map(|slices| slices.len()).min()?;
    let slice_ns = slices
        .iter()
        .filter_map(|slices| slices.first())
        .map(|one| one.end_ns.saturating_sub(one.start_ns))
        .max();
    let searched: Vec<(usize, Level)> = slices
        .iter()
        .enumerate()
        .flat_map(|(i, slices)| levels(slices).map(move |level| (i, level)))
        .collect();
    let most_p = MOST_P / searched.len().max(1) as f64;
    let mut changes: Vec<Change> = Vec::new();
    for (i, level) in &searched {
        let (index, one) = series[*i];
        let found = changes_of(slices[*i], *level, most_p);
        changes.extend(found.into_iter().map(|change| Change {
            series: index,
            label: name::of(one),
            ..change
        }));
    }
    changes.sort_by(|a, b| b.ratio().total_cmp(&a.ratio()));
    changes.truncate(MOST_CHANGES);
    Some(Stationarity {
        phase,
        stationary: (!searched.is_empty()).then_some(changes.is_empty()),
        slices: fewest,
        slice_ns: slice_ns.unwrap_or(0),
        searched: searched.len(),
        changes,
    })
}

/// The slices without a last one that has only begun.
fn whole(slices: &[Slice]) -> &[Slice] {
    let length = |slice: &Slice| slice.end_ns.saturating_sub(slice.start_ns);
    let longest = slices.iter().map(length).max().unwrap_or(0);
    match slices.split_last() {
        Some((last, others)) if length(last) < longest / 2 => others,
        _ => slices,
    }
}

type Level = (&'static str, f64);

/// The quantiles of slices that are searched: the median, and the highest one with enough values above it.
fn levels(slices: &[Slice]) -> impl Iterator<Item = Level> + use<> {
    let fewest = slices.iter().map(|slice| slice.histogram.total()).min().unwrap_or(0);
    let is_determined = |level: &Level| (fewest as f64 * (1.0 - level.1)).round() as u64 >= LEAST_ABOVE;
    let high = [("p99", 0.99), ("p90", 0.9)].into_iter().find(is_determined);
    let both = [Some(("p50", 0.5)).filter(is_determined), high];
    let enough = slices.len() >= LEAST_SLICES;
    both.into_iter().flatten().filter(move |_| enough)
}

fn changes_of(slices: &[Slice], level: Level, most_p: f64) -> Vec<Change> {
    let quantiles: Vec<f64> = slices.iter().map(|slice| quantile(slice, level.1)).collect();
    let options = Options { window: slices.len(), most_p, ..Options::default() };
    // Scores are finite, so the search has no error.
    let points = change_points::find(&order::normal_scores(&quantiles), &options).unwrap_or_default();
    let edges: Vec<usize> =
        std::iter::once(0).chain(points.iter().map(|point| point.index)).chain([slices.len()]).collect();
    let median_of =
        |part: Range<usize>| median::of(&quantiles[part]).expect("a change is between two slices");
    let change = |(part, point): (&[usize], &change_points::ChangePoint)| Change {
        series: 0,
        label: String::new(),
        level: level.0,
        at_ns: slices[point.index].start_ns,
        before_ns: median_of(part[0]..part[1]),
        after_ns: median_of(part[1]..part[2]),
        p: point.p,
    };
    let is_large = |change: &Change| change.before_ns > 0.0 && change.ratio() >= LEAST_RATIO;
    edges.windows(3).zip(&points).map(change).filter(is_large).collect()
}

/// The quantile of a slice, between the edges of its bin in proportion to its rank.
fn quantile(slice: &Slice, share: f64) -> f64 {
    let wanted = share * slice.histogram.total() as f64;
    let mut below = 0.0;
    for bin in slice.histogram.bins() {
        let count = bin.count as f64;
        if below + count >= wanted {
            // The lowest bin may have no lower end.
            let width = if bin.is_open() { 0.0 } else { bin.upper_ns as f64 - bin.lower_ns as f64 };
            return bin.lower_ns as f64 + (wanted - below) / count * width;
        }
        below += count;
    }
    slice.histogram.bins().last().map_or(0.0, |bin| bin.lower_ns as f64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_runs::{SECOND, run};

    #[test]
    fn a_step_is_found_with_its_time_and_its_size() {
        let step = |passed: f64| if passed < 0.6 { 1.0 } else { 1.5 };
        let found = of(&run(100, 3, |random, passed| random.latency_us() * step(passed))).remove(0);
        assert_eq!((found.stationary, found.searched, found.changes.len()), (Some(false), 4, 4));
        for change in &found.changes {
            assert!(change.at_ns.abs_diff(60 * SECOND) <= 2 * found.slice_ns, "{change:?}");
            assert!(change.after_ns > change.before_ns && (change.ratio() - 1.5).abs() < 0.15, "{change:?}");
        }
    }

    #[test]
    fn one_slice_with_a_stall_is_not_a_change() {
        let late = |passed: f64| if (0.5..0.515).contains(&passed) { 200.0 } else { 0.0 };
        let found = of(&run(100, 5, |random, passed| random.latency_us() + late(passed))).remove(0);
        assert_eq!(found.stationary, Some(true), "{:?}", found.changes);
    }

    #[test]
    fn a_short_run_is_not_judged() {
        let found = of(&run(8, 5, |random, _| random.latency_us())).remove(0);
        assert_eq!((found.stationary, found.searched), (None, 0));
    }

    /// At most one run in 100 without a change is said to have one.
    #[test]

    fn false_changes_are_rare() {
        let is_changed = |seed: &u64| {
            let found = of(&run(40, *seed * 977, |random, _| random.latency_us())).remove(0);
            found.stationary == Some(false)
        };
        let changed = (0..200).filter(is_changed).count();
        println!("runs without a change that are said to have one: {changed} of 200");
        assert!(changed <= 5, "{changed}");
    }
}
