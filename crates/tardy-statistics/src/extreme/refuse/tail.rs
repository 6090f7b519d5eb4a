//! Checks of the tail: is it one tail, and does one value decide it?

use super::sequence::doubled;
use super::{Check, Kind, MEASURE_EACH, probability, refit};
use crate::bins::Bin;
use crate::extreme::fit::{self, Fit};
use crate::extreme::sample::{Cell, Sample};
use crate::interval::Ends;

const CONFIDENCE: f64 = 0.95;
/// With a shape above ½ the variance is infinite, and a level depends on the highest value alone.
const MOST_SHAPE: f64 = 0.5;
const LEAST_FAR_P: f64 = 0.003;
/// The confidence of the band that the shape of the highest values must stay in. A test with three bands of correlated
/// estimates: 99.5 % each.
const BAND: f64 = 0.995;
/// The shares of the highest values that are left out in turn.
const TOP_SHARES: [f64; 3] = [0.05, 0.1, 0.25];
/// Fewer values than these are not fitted on their own.
const LEAST_REFITTED: u64 = 40;

pub(super) fn shape(fit: &Fit) -> Check {
    // The upper end of a two-sided 90 % interval is a one-sided bound at 95 %.
    let ends = fit.shape_interval(0.9);
    let found = ends.high.unwrap_or(f64::INFINITY);
    Check::computed(
        Kind::Shape,
        found > MOST_SHAPE,
        found,
        MOST_SHAPE,
        format!("the shape is {:.3} and, with 95 % confidence, below {found:.3}", fit.shape),
        "measure for longer; if the shape stays above 0.5, the values have no useful upper level",
    )
}

/// Compares the shape with that in blocks twice and four times as long.
pub(super) fn stability_of_blocks(maxima: &[Bin], fit: &Fit) -> Check {
    let mut ends = vec![fit.shape_interval(CONFIDENCE)];
    let mut longer = doubled(maxima);
    while longer.len() as u64 >= LEAST_REFITTED && ends.len() < 3 {
        ends.extend(fit::gev(&longer).ok().map(|fit| super::coarse(&fit).shape_interval(CONFIDENCE)));
        longer = doubled(&longer);
    }
    stability(&ends, "in longer blocks")
}

/// Compares the shape with that over the thresholds that half and a quarter of the values exceed.
pub(super) fn stability_of_thresholds(fit: &Fit) -> Check {
    let mut ends = vec![fit.shape_interval(CONFIDENCE)];
    for share in [0.5, 0.25] {
        let above = highest(&fit.sample, share);
        let count: f64 = above.iter().map(|cell| cell.weight).sum();
        if count < LEAST_REFITTED as f64 {
            break;
        }
        let Some(threshold) = above.first().map(|cell| cell.low) else { break };
        let bins: Vec<Bin> = above
            .iter()
            .map(|cell| Bin { low: cell.low, high: cell.high, count: cell.weight as u64 })
            .collect();
        ends.extend(fit::gpd(&bins, threshold).ok().map(|fit| fit.shape_interval(CONFIDENCE)));
    }
    stability(&ends, "over higher thresholds")
}

/// Found is how many pairs of intervals have no value in common.
fn stability(ends: &[Ends], place: &str) -> Check {
    const HELP: &str = "measure for longer: blocks can then be longer, and the threshold higher";
    if ends.len() < 2 {
        return Check::not_computed(Kind::Stability, 0.0, "there are too few values for a second fit", HELP);
    }
    let disjoint = ends
        .iter()
        .enumerate()
        .flat_map(|(i, a)| ends[i + 1..].iter().map(move |b| (a, b)))
        .filter(|(a, b)| !a.overlap(b))
        .count();
    let statement = if disjoint == 0 {
        format!("the shape's intervals {place} overlap")
    } else {
        let pairs = ends.len() * (ends.len() - 1) / 2;
        format!(
            "the shape is different {place}: {disjoint} of {pairs} pairs of 95 % intervals have no value in common"
        )
    };
    Check::computed(Kind::Stability, disjoint > 0, disjoint as f64, 0.0, statement, HELP)
}

/// The highest cells with at least this share of the values.
fn highest(sample: &Sample, share: f64) -> &[Cell] {
    let total: f64 = sample.cells.iter().map(|cell| cell.weight).sum();
    let mut sum = 0.0;
    let from = sample
        .cells
        .iter()
        .rposition(|cell| {
            sum += cell.weight;
            sum >= share * total
        })
        .unwrap_or(0);
    &sample.cells[from..]
}

/// The sample with the highest cells known only to be above the others.
fn censored(sample: &Sample, highest: usize) -> Option<(Sample, f64)> {
    let kept = sample.cells.len().checked_sub(highest)?;
    let (rest, top) = sample.cells.split_at(kept);
    let end = rest.last()?.high.min(top.first()?.low);
    let weight = top.iter().map(|cell| cell.weight).sum();
    let mut cells = rest.to_vec();
    cells.push(Cell { low: end, high: f64::INFINITY, weight, is_exact: false });
    Some((Sample { cells, ..sample.clone() }, end))
}

/// Fits with the highest value known only to be above the second, and computes how probable its distance from it is. This
/// probability is uniform if all values have one distribution.
pub(super) fn far_value(fit: &Fit) -> Check {
    let top = fit.sample.cells.last().filter(|cell| cell.weight == 1.0);
    let p = top.and_then(|top| {
        let (sample, end) = censored(&fit.sample, 1)?;
        let rest = refit(sample, fit)?;
        let in_unit = |value| rest.sample.in_unit(value);
        let beyond = rest.above(in_unit(end));
        (beyond > 0.0).then(|| rest.above(in_unit(top.low)) / beyond)
    });
    // Several values in the highest bin: none of them is alone.
    let p = p.unwrap_or(1.0);
    Check::computed(
        Kind::FarValue,
        p < LEAST_FAR_P,
        p,
        LEAST_FAR_P,
        format!(
            "the highest value is as far above the second as the others predict, or farther, with {}",
            probability(p)
        ),
        MEASURE_EACH,
    )
}

/// Compares the shape with the interval that is estimated without the highest values: these are known only to be above the
/// others. If there is one tail, the estimate stays in this band as values are added from the top (the idea of TailID,
/// ECRTS 2025). Found is how many of the bands it leaves. Not used: Hausman's test of the difference of the two estimates,
/// which refused 20 % of clean samples of 120 values.
pub(super) fn mixture(fit: &Fit) -> Check {
    let bands: Vec<(f64, Ends)> =
        TOP_SHARES.iter().filter_map(|share| Some((*share, band_without(fit, *share)?))).collect();
    if bands.is_empty() {
        return Check::not_computed(
            Kind::TailMixture,
            0.0,
            "the highest values are in too few bins",
            "record with a finer resolution",
        );
    }
    let left: Vec<String> = bands
        .iter()
        .filter(|(_, band)| !band.contain(fit.shape))
        .map(|(share, _)| format!("{:.0} %", share * 100.0))
        .collect();
    let statement = if left.is_empty() {
        "the highest values have the shape of the others".to_owned()
    } else {
        format!(
            "the shape is outside the {:.1} % interval of the values without the highest {}",
            BAND * 100.0,
            left.join(", ")
        )
    };
    Check::computed(Kind::TailMixture, !left.is_empty(), left.len() as f64, 0.0, statement, MEASURE_EACH)
}

fn band_without(fit: &Fit, share: f64) -> Option<Ends> {
    let top = highest(&fit.sample, share).len();
    if top < 2 {
        return None;
    }
    let (sample, _) = censored(&fit.sample, top)?;
    Some(refit(sample, fit)?.shape_interval(BAND))
}
