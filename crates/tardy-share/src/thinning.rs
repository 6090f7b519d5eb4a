//! Wider bins for histograms, except where quantiles are.
//!
//! All series get the same bins, since only equal bins can be added up. A quantile is the upper end of its bin, so the bins around
//! those of each phase as a whole and of its worst CPU keep their width.

use std::collections::{BTreeMap, BTreeSet};

use tardy_record::{Bin, Histogram, Run, Series};

/// The binary logarithm of the bins per octave, one step after the other.
pub(crate) const BITS: [u32; 6] = [6, 5, 4, 3, 2, 1];
/// The quantiles of a report, as the number of readings of which one is above; and the median.
const ONE_ABOVE_IN: [u64; 6] = [2, 10, 100, 1_000, 10_000, 100_000];

/// `run` with bins of at least an octave's `1 / 2^bits`.
pub(crate) fn thinned(run: &Run, bits: u32) -> Run {
    let mut thin = run.clone();
    for phase in 0..run.phases.len() {
        let of_phase: Vec<&Series> = run.series.iter().filter(|series| series.phase == phase).collect();
        let exact: BTreeSet<i64> =
            bins_of_quantiles(&of_phase).into_iter().map(|(lower_ns, _)| cell(lower_ns, bits)).collect();
        let histograms =
            of_phase.iter().flat_map(|series| [Some(&series.measured), series.corrected.as_ref()]);
        let cells = ends(histograms.flatten().flat_map(Histogram::bins), |bin| cell(bin.lower_ns, bits));
        let ends = |bin: &Bin| {
            let cell = cell(bin.lower_ns, bits);
            cells.get(&cell).copied().filter(|_| !exact.contains(&cell))
        };
        for series in thin.series.iter_mut().filter(|series| series.phase == phase) {
            series.measured = wider(&series.measured, ends);
            series.corrected = series.corrected.as_ref().map(|one| wider(one, ends));
        }
    }
    thin
}

/// The times of slices are rounded to this, in ns.
const SLICE_TIME_NS: u64 = 1_000_000;

/// Makes the bins of slices wide, except that no bin reaches across an end of a bin that holds a quantile of the phase or of its worst CPU,
/// nor across a limit: how many readings of a slice were above these is what intervals and bounds need.
///
/// A bin is at most a `2^bits`th of an octave wide, since a slice's own quantile must not move far. All slices get the same bins.
pub(crate) fn thin_slices(run: &mut Run, bits: u32) {
    for phase in 0..run.phases.len() {
        let of_phase: Vec<&Series> = run.series.iter().filter(|series| series.phase == phase).collect();
        let cuts = cuts(&of_phase, run.plan.limit_ns);
        // A bin across a cut counts as above it.
        let group = |bin: &Bin| (cuts.range(..bin.upper_ns).count(), cell(bin.lower_ns, bits));
        let bins = of_phase.iter().flat_map(|series| &series.slices).flat_map(|slice| slice.histogram.bins());
        let groups = ends(bins, group);
        for series in run.series.iter_mut().filter(|series| series.phase == phase) {
            for slice in &mut series.slices {
                slice.histogram = wider(&slice.histogram, |bin| groups.get(&group(bin)).copied());
                slice.start_ns -= slice.start_ns % SLICE_TIME_NS;
                slice.end_ns -= slice.end_ns % SLICE_TIME_NS;
            }
        }
    }
}

/// The ends of the bins with quantiles, and the limits, of the series of a phase.
fn cuts(of_phase: &[&Series], limit_ns: Option<u64>) -> BTreeSet<i64> {
    let limits =
        of_phase.iter().flat_map(|series| series.thresholds.iter().map(|threshold| threshold.limit_ns));
    let limits = limits.chain(limit_ns).filter_map(|limit| i64::try_from(limit).ok());
    let of_quantiles =
        bins_of_quantiles(of_phase).into_iter().flat_map(|(lower_ns, upper_ns)| [lower_ns, upper_ns]);
    // A reading of exactly the limit is not above it.
    limits.map(|limit| limit.saturating_add(1)).chain(of_quantiles).collect()
}

/// The cell of a value: its lower end, if an octave has `2^bits` cells.
fn cell(ns: i64, bits: u32) -> i64 {
    let magnitude = ns.unsigned_abs().max(1);
    let shift = magnitude.ilog2().saturating_sub(bits);
    let lower = i64::try_from(ns.unsigned_abs() >> shift << shift).unwrap_or(i64::MAX);
    if ns < 0 { -lower } else { lower }
}

/// The bins with a quantile of the whole phase, or of the series with the highest maximum.
fn bins_of_quantiles(of_phase: &[&Series]) -> BTreeSet<(i64, i64)> {
    let mut all: BTreeMap<(i64, i64), u64> = BTreeMap::new();
    for bin in of_phase.iter().flat_map(|series| series.quoted().bins()) {
        *all.entry((bin.lower_ns, bin.upper_ns)).or_default() += bin.count;
    }
    let mut found = BTreeSet::new();
    add_quantiles(&all, &mut found);
    if let Some(worst) = of_phase.iter().max_by_key(|series| series.max_ns) {
        let bins =
            worst.quoted().bins().iter().map(|bin| ((bin.lower_ns, bin.upper_ns), bin.count)).collect();
        add_quantiles(&bins, &mut found);
    }
    found
}

fn add_quantiles(bins: &BTreeMap<(i64, i64), u64>, found: &mut BTreeSet<(i64, i64)>) {
    let total: u64 = bins.values().fold(0, |sum, count| sum.saturating_add(*count));
    for one_in in ONE_ABOVE_IN {
        let (mut above, most) = (0u64, total / one_in);
        let bin = bins.iter().rev().find(|(_, count)| {
            above = above.saturating_add(**count);
            above > most
        });
        found.extend(bin.map(|(bin, _)| *bin));
    }
}

/// The lowest and the highest end of the bins of each group. A bin without an end belongs to none.
fn ends<'a, Group: Ord>(
    bins: impl Iterator<Item = &'a Bin>,
    group: impl Fn(&Bin) -> Group,
) -> BTreeMap<Group, (i64, i64)> {
    let mut ends: BTreeMap<Group, (i64, i64)> = BTreeMap::new();
    for bin in bins.filter(|bin| !bin.is_open()) {
        let (lower, upper) = ends.entry(group(bin)).or_insert((bin.lower_ns, bin.upper_ns));
        (*lower, *upper) = ((*lower).min(bin.lower_ns), (*upper).max(bin.upper_ns));
    }
    ends
}

/// `histogram` with its bins joined to those that `ends` has for them. Where it has none, bins stay.
fn wider(histogram: &Histogram, ends: impl Fn(&Bin) -> Option<(i64, i64)>) -> Histogram {
    let mut bins: Vec<Bin> = Vec::new();
    for bin in histogram.bins() {
        let Some((lower_ns, upper_ns)) = ends(bin).filter(|_| !bin.is_open()) else {
            bins.push(*bin);
            continue;
        };
        match bins.last_mut() {
            Some(last) if last.lower_ns == lower_ns && last.upper_ns == upper_ns => last.count += bin.count,
            _ => bins.push(Bin { lower_ns, upper_ns, count: bin.count }),
        }
    }
    // Bins that a tool's file has and no layout would: as they were.
    Histogram::from_bins(bins).unwrap_or_else(|_| histogram.clone())
}
