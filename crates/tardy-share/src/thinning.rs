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
        let exact = exact_cells(&of_phase, bits);
        let edges = edges(&of_phase, bits);
        for series in thin.series.iter_mut().filter(|series| series.phase == phase) {
            series.measured = wider(&series.measured, &edges, &exact, bits);
            series.corrected = series.corrected.as_ref().map(|one| wider(one, &edges, &exact, bits));
        }
    }
    thin
}

/// The binary logarithm of the bins per octave of slices.
const SLICE_BITS: u32 = 4;
/// The times of slices are rounded to this, in ns.
const SLICE_TIME_NS: u64 = 1_000_000;

/// Makes the bins of slices as wide as possible, except where the quantiles of the phase and of its worst CPU are, and where the
/// limits are: how many readings of a slice were above these is what intervals and bounds need.
///
/// Other bins are at most a `2^bits`th of an octave wide, since a slice's own quantile must not move far.
pub(crate) fn thin_slices(run: &mut Run, bits: u32) {
    for phase in 0..run.phases.len() {
        let of_phase: Vec<&Series> = run.series.iter().filter(|series| series.phase == phase).collect();
        let mut exact = exact_cells(&of_phase, SLICE_BITS);
        let limits =
            of_phase.iter().flat_map(|series| series.thresholds.iter().map(|threshold| threshold.limit_ns));
        let limits = limits.chain(run.plan.limit_ns).filter_map(|limit| i64::try_from(limit).ok());
        exact.extend(limits.map(|limit| cell(limit, SLICE_BITS)).collect::<Vec<_>>());
        for series in run.series.iter_mut().filter(|series| series.phase == phase) {
            for slice in &mut series.slices {
                slice.histogram = between(&slice.histogram, &exact, bits);
                slice.start_ns -= slice.start_ns % SLICE_TIME_NS;
                slice.end_ns -= slice.end_ns % SLICE_TIME_NS;
            }
        }
    }
}

/// `histogram` with one bin for each `2^bits`th of an octave, except for the cells `exact`.
fn between(histogram: &Histogram, exact: &BTreeSet<i64>, bits: u32) -> Histogram {
    let mut bins: Vec<Bin> = Vec::new();
    let mut merges = false;
    for bin in histogram.bins() {
        let is_exact = bin.is_open() || exact.contains(&cell(bin.lower_ns, SLICE_BITS));
        match bins.last_mut() {
            Some(last) if merges && !is_exact && cell(last.lower_ns, bits) == cell(bin.lower_ns, bits) => {
                (last.upper_ns, last.count) = (bin.upper_ns, last.count + bin.count);
            }
            _ => bins.push(*bin),
        }
        merges = !is_exact;
    }
    Histogram::from_bins(bins).unwrap_or_else(|_| histogram.clone())
}

/// The cell of a value: its lower end, if an octave has `2^bits` cells.
fn cell(ns: i64, bits: u32) -> i64 {
    let magnitude = ns.unsigned_abs().max(1);
    let shift = magnitude.ilog2().saturating_sub(bits);
    let lower = i64::try_from(ns.unsigned_abs() >> shift << shift).unwrap_or(i64::MAX);
    if ns < 0 { -lower } else { lower }
}

/// The cells with a quantile of the whole phase, or of the series with the highest maximum.
fn exact_cells(of_phase: &[&Series], bits: u32) -> BTreeSet<i64> {
    let mut exact = BTreeSet::new();
    let mut all: BTreeMap<i64, u64> = BTreeMap::new();
    for bin in of_phase.iter().flat_map(|series| series.quoted().bins()) {
        *all.entry(bin.lower_ns).or_default() += bin.count;
    }
    add_quantiles(&all, bits, &mut exact);
    if let Some(worst) = of_phase.iter().max_by_key(|series| series.max_ns) {
        let bins = worst.quoted().bins().iter().map(|bin| (bin.lower_ns, bin.count)).collect();
        add_quantiles(&bins, bits, &mut exact);
    }
    exact
}

fn add_quantiles(bins: &BTreeMap<i64, u64>, bits: u32, exact: &mut BTreeSet<i64>) {
    let total: u64 = bins.values().fold(0, |sum, count| sum.saturating_add(*count));
    for one_in in ONE_ABOVE_IN {
        let (mut above, most) = (0u64, total / one_in);
        let bin = bins.iter().rev().find(|(_, count)| {
            above = above.saturating_add(**count);
            above > most
        });
        exact.extend(bin.map(|(lower, _)| cell(*lower, bits)));
    }
}

/// The ends of the bins of each cell, over all series.
fn edges(of_phase: &[&Series], bits: u32) -> BTreeMap<i64, (i64, i64)> {
    let mut edges: BTreeMap<i64, (i64, i64)> = BTreeMap::new();
    let of_series = |series: &&Series| {
        let corrected = series.corrected.iter().flat_map(|one| one.bins().to_vec());
        series.measured.bins().iter().copied().chain(corrected).collect::<Vec<Bin>>()
    };
    for bin in of_phase.iter().flat_map(of_series).filter(|bin| !bin.is_open()) {
        let (lower, upper) = edges.entry(cell(bin.lower_ns, bits)).or_insert((bin.lower_ns, bin.upper_ns));
        (*lower, *upper) = ((*lower).min(bin.lower_ns), (*upper).max(bin.upper_ns));
    }
    edges
}

fn wider(
    histogram: &Histogram,
    edges: &BTreeMap<i64, (i64, i64)>,
    exact: &BTreeSet<i64>,
    bits: u32,
) -> Histogram {
    let mut bins: Vec<Bin> = Vec::new();
    for bin in histogram.bins() {
        let cell = cell(bin.lower_ns, bits);
        let whole = edges.get(&cell).filter(|_| !bin.is_open() && !exact.contains(&cell));
        let Some((lower_ns, upper_ns)) = whole.copied() else {
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
