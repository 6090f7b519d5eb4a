//! Distances between two distributions. They are descriptive: there are no p-values (docs/statistics.md, section 3.3).

use serde::Serialize;
use tardy_record::Histogram;

/// Distances between two histograms of the same layout.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Shape {
    /// Kolmogorov–Smirnov distance: the largest difference of the two distribution functions at a bin's edge.
    pub kolmogorov_smirnov: f64,
    /// Wasserstein distance ∫|F−G|, in ns: the average shift of values, from bin middle to bin middle; `None` if some
    /// values are in a bin without an upper end.
    pub wasserstein_ns: Option<f64>,
    /// P(B > A) + ½ P(B = A) (Vargha–Delaney): the probability that a random wake-up of the second is later than one of
    /// the first; ½ means no difference.
    pub later: f64,
}

/// Distances from `a` to `b`; `None` if one is empty or has no distribution, or if their layouts differ.
pub fn between(a: &Histogram, b: &Histogram) -> Option<Shape> {
    if a.has_no_distribution() || b.has_no_distribution() {
        return None;
    }
    // If histograms have an end, values beyond the lower end are compared as one bin.
    let ends = [a, b].map(|one| one.bins().last().filter(|bin| bin.is_open()).map(|bin| bin.lower_ns));
    match ends.into_iter().flatten().min() {
        Some(end_ns) => between_bins(&a.open_from(end_ns), &b.open_from(end_ns)),
        None => between_bins(a, b),
    }
}

fn between_bins(a: &Histogram, b: &Histogram) -> Option<Shape> {
    let mut both = a.clone();
    both.merge(b).ok()?;
    let (n_a, n_b) = (a.total() as f64, b.total() as f64);
    if n_a == 0.0 || n_b == 0.0 {
        return None;
    }
    let share = |histogram: &Histogram, lower: i64, total: f64| {
        let bins = histogram.bins();
        bins.binary_search_by_key(&lower, |bin| bin.lower_ns).map_or(0.0, |i| bins[i].count as f64 / total)
    };
    let (mut below_a, mut below_b) = (0.0f64, 0.0f64);
    let mut shape = Shape { kolmogorov_smirnov: 0.0, wasserstein_ns: None, later: 0.0 };
    let mut wasserstein_ns = 0.0;
    let mut previous: Option<f64> = None;
    for bin in both.bins() {
        let middle = (bin.lower_ns as f64 + bin.upper_ns as f64) / 2.0;
        if let Some(previous) = previous {
            wasserstein_ns += (below_a - below_b).abs() * (middle - previous);
        }
        let (in_a, in_b) = (share(a, bin.lower_ns, n_a), share(b, bin.lower_ns, n_b));
        shape.later += in_b * (below_a + in_a / 2.0);
        below_a += in_a;
        below_b += in_b;
        shape.kolmogorov_smirnov = shape.kolmogorov_smirnov.max((below_a - below_b).abs());
        previous = Some(middle);
    }
    let ends = !both.bins().iter().any(tardy_record::histogram::Bin::is_open);
    shape.wasserstein_ns = ends.then_some(wasserstein_ns);
    Some(shape)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn unit_bins(counts: &[u64]) -> Histogram {
        let bins = counts.iter().enumerate().filter(|(_, count)| **count > 0);
        Histogram::from_bins(bins.map(|(i, count)| (i as i64, i as i64 + 1, *count).into()).collect())
            .unwrap()
    }

    /// Reference values of research/statistics.md section 4.
    #[test]
    fn distances_agree_with_the_reference_values() {
        let shape =
            between(&unit_bins(&[0, 5, 20, 40, 25, 8, 2]), &unit_bins(&[0, 2, 12, 35, 30, 15, 6])).unwrap();
        assert!((shape.kolmogorov_smirnov - 0.16).abs() < 1e-12);
        assert!((shape.wasserstein_ns.unwrap() - 0.45).abs() < 1e-12);
        assert!((shape.later - 0.6089).abs() < 1e-12);
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
        let only_a_count = Histogram::from_bins(vec![(0, i64::MAX, 3).into()]).unwrap();
        assert_eq!(between(&only_a_count, &only_a_count), None);
    }
}
