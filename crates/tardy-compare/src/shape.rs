//! Distances between two distributions of runs. They are descriptive: there are no p-values, since readings of one boot are
//! not independent of each other (docs/statistics.md).

use std::collections::BTreeMap;

use serde::Serialize;
use tardy_record::Histogram;
use tardy_statistics::bins::Bin;
use tardy_statistics::shape;

/// Distances between two histograms.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Shape {
    /// Kolmogorov–Smirnov distance: the largest difference of the two distribution functions, from 0 to 1.
    pub kolmogorov_smirnov: f64,
    /// Wasserstein distance ∫|F−G|, in ns: the average shift of values; `None` if some values are in a bin without an upper
    /// end.
    pub wasserstein_ns: Option<f64>,
    /// P(B > A) + ½ P(B = A) (Vargha–Delaney): the probability that a random wake-up of the second is later than one of
    /// the first; ½ means no difference.
    pub later: f64,
}

/// Distances from `a` to `b`; `None` if one is empty or has no distribution, or if their layouts differ: the distance would be that of
/// the bins.
pub fn between(a: &Histogram, b: &Histogram) -> Option<Shape> {
    let (a, b) = comparable(a, b)?;
    let shape = shape::between(&a, &b).ok()?;
    Some(Shape {
        kolmogorov_smirnov: shape.kolmogorov_smirnov,
        wasserstein_ns: shape.wasserstein,
        later: shape.higher,
    })
}

/// The bins of both, in ns; `None` if one is empty or has no distribution, or if their layouts differ. If a histogram has an end, values beyond the
/// lower end of the two are one bin.
fn comparable(a: &Histogram, b: &Histogram) -> Option<(Vec<Bin>, Vec<Bin>)> {
    if [a, b].iter().any(|one| one.is_empty() || one.has_no_distribution()) {
        return None;
    }
    let fits = |a: &Histogram, b: &Histogram| a.clone().merge(b).is_ok();
    let ends = [a, b].map(|one| one.bins().last().filter(|bin| bin.is_open()).map(|bin| bin.lower_ns));
    match ends.into_iter().flatten().min() {
        Some(end_ns) => {
            let (a, b) = (a.open_from(end_ns), b.open_from(end_ns));
            fits(&a, &b).then(|| (bins(&a), bins(&b)))
        }
        None => fits(a, b).then(|| (bins(a), bins(b))),
    }
}

/// A bin of two histograms in one layout. Its edges are in ns; the upper one is beyond it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BinOfBoth {
    /// The lowest value that the bin holds.
    pub lower_ns: i64,
    /// The first value beyond the bin.
    pub upper_ns: i64,
    /// Its count in each histogram.
    pub counts: [u64; 2],
}

/// The bins that either histogram has, in ascending order. Of different layouts each bin is in one only.
pub fn bins_of_both(a: &Histogram, b: &Histogram) -> Vec<BinOfBoth> {
    let mut counts: BTreeMap<(i64, i64), [u64; 2]> = BTreeMap::new();
    for (which, histogram) in [a, b].into_iter().enumerate() {
        for bin in histogram.bins() {
            counts.entry((bin.lower_ns, bin.upper_ns)).or_default()[which] = bin.count;
        }
    }
    counts
        .into_iter()
        .map(|((lower_ns, upper_ns), counts)| BinOfBoth { lower_ns, upper_ns, counts })
        .collect()
}

/// The bins of a histogram in the form of tardy-statistics, in ns.
pub(crate) fn bins(histogram: &Histogram) -> Vec<Bin> {
    let bin = |bin: &tardy_record::Bin| Bin {
        low: bin.lower_ns as f64,
        high: if bin.is_open() { f64::INFINITY } else { bin.upper_ns as f64 },
        count: bin.count,
    };
    histogram.bins().iter().map(bin).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn unit_bins(counts: &[u64]) -> Histogram {
        let bins = counts.iter().enumerate().filter(|(_, count)| **count > 0);
        Histogram::from_bins(bins.map(|(i, count)| (i as i64, i as i64 + 1, *count).into()).collect())
            .unwrap()
    }

    #[test]
    fn an_empty_histogram_has_no_distance() {
        assert_eq!(between(&unit_bins(&[]), &unit_bins(&[1, 1])), None);
        let only_a_count = Histogram::from_bins(vec![(0, i64::MAX, 3).into()]).unwrap();
        assert_eq!(between(&only_a_count, &only_a_count), None);
    }

    #[test]
    fn the_distance_is_that_of_the_values() {
        let moved = between(&unit_bins(&[2, 2]), &unit_bins(&[0, 0, 2, 2])).unwrap();
        assert!((moved.wasserstein_ns.unwrap() - 2.0).abs() < 1e-12, "{moved:?}");
        assert_eq!((moved.later, moved.kolmogorov_smirnov), (1.0, 1.0));
    }

    #[test]
    fn different_layouts_have_no_distance() {
        let wide = Histogram::from_bins(vec![(0, 1000, 3).into()]).unwrap();
        assert_eq!(between(&wide, &unit_bins(&[1, 1])), None);
    }

    #[test]
    fn values_beyond_a_histogram_have_no_distance() {
        let open = |counts: [u64; 2]| {
            let [below, beyond] = counts;
            Histogram::from_bins(vec![(0, 1, below).into(), (1, i64::MAX, beyond).into()]).unwrap()
        };
        let shape = between(&open([9, 1]), &open([5, 5])).unwrap();
        assert_eq!(shape.wasserstein_ns, None);
        assert!((shape.kolmogorov_smirnov - 0.4).abs() < 1e-12);
        // The lower end applies to both.
        let longer = Histogram::from_bins(vec![(0, 1, 5).into(), (7, 8, 4).into(), (9, i64::MAX, 1).into()]);
        assert_eq!(between(&open([9, 1]), &longer.unwrap()), Some(shape));
    }
}
