//! Distances of two distributions that are given as counts in bins. They describe, and have no p-values: samples of one run
//! are not independent of each other.
//!
//! Values are taken as evenly distributed in their bin, so the two sides may have different bins. All numbers are exact for
//! that assumption.

use crate::bins::{Bin, total};
use crate::random::Random;

/// Why two distributions have no distance.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum NoDistance {
    /// A side has no values.
    Empty,
    /// A bin's ends are not in order, or not finite.
    InvalidBin(Bin),
    /// A bin begins before the one below it ends.
    OverlappingBins(Bin),
}

impl std::fmt::Display for NoDistance {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Empty => write!(f, "one side has no values"),
            Self::InvalidBin(bin) => write!(f, "a bin from {} to {} is not valid", bin.low, bin.high),
            Self::OverlappingBins(bin) => {
                write!(f, "the bin from {} to {} begins before the one below it ends", bin.low, bin.high)
            }
        }
    }
}

impl std::error::Error for NoDistance {}

/// Distances of B from A.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Shape {
    /// Kolmogorov and Smirnov's distance: the largest difference of the distribution functions, from 0 to 1.
    pub kolmogorov_smirnov: f64,
    /// Wasserstein's distance ∫|F−G|: how far values are shifted on average, in their unit. `None` if values are in a bin
    /// without an upper end.
    pub wasserstein: Option<f64>,
    /// P(B > A) + ½ P(B = A) (Vargha and Delaney's A₁₂): how often a value of B is the higher one; ½ means no difference.
    pub higher: f64,
}

/// The distances of `b` from `a`. Bins without values may be left out.
///
/// # Errors
///
/// A side is empty, or its bins are not valid.
pub fn between(a: &[Bin], b: &[Bin]) -> Result<Shape, NoDistance> {
    let (a, b) = (Cumulative::of(a)?, Cumulative::of(b)?);
    let mut ends: Vec<f64> = a.ends().chain(b.ends()).collect();
    ends.sort_by(f64::total_cmp);
    ends.dedup();
    let mut shape = Shape { kolmogorov_smirnov: 0.0, wasserstein: None, higher: 0.0 };
    let mut wasserstein = 0.0;
    // The distribution functions after the previous end.
    let (mut previous, mut after) = (f64::NEG_INFINITY, (0.0, 0.0));
    for end in ends {
        let before = (a.below(end), b.below(end));
        shape.higher += (before.1 - after.1) * 0.5 * (after.0 + before.0);
        if end.is_finite() && previous.is_finite() {
            wasserstein += area(after.0 - after.1, before.0 - before.1, end - previous);
        }
        after = (a.up_to(end), b.up_to(end));
        shape.higher += (after.1 - before.1) * 0.5 * (before.0 + after.0);
        for (of_a, of_b) in [before, after] {
            shape.kolmogorov_smirnov = shape.kolmogorov_smirnov.max((of_a - of_b).abs());
        }
        previous = end;
    }
    shape.wasserstein = (previous.is_finite()).then_some(wasserstein);
    Ok(shape)
}

/// The area between 0 and a line from `from` to `to` over `width`.
fn area(from: f64, to: f64, width: f64) -> f64 {
    if from * to >= 0.0 {
        return 0.5 * (from + to).abs() * width;
    }
    // The line crosses 0, and leaves two triangles.
    0.5 * width * (from * from + to * to) / (from.abs() + to.abs())
}

/// One quantile of both sides.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct QuantileShift {
    /// The level, between 0 and 1; 1 is the highest value.
    pub level: f64,
    /// The middle of A's bin with the quantile, in the unit of the values.
    pub a: f64,
    /// The middle of B's bin.
    pub b: f64,
    /// B's quantile minus A's; `None` if one is in a bin without an upper end.
    pub difference: Option<f64>,
    /// The lowest and the highest difference that the two bins allow.
    pub range: (f64, f64),
}

/// The shift function: differences of quantiles at these levels (Doksum, Annals of Statistics 2, 1974). The quantile q of n
/// values is the one of rank ⌈qn⌉.
///
/// # Errors
///
/// As [`between`].
pub fn quantile_shifts(a: &[Bin], b: &[Bin], levels: &[f64]) -> Result<Vec<QuantileShift>, NoDistance> {
    let (a, b) = (Cumulative::of(a)?, Cumulative::of(b)?);
    let shift = |level: f64| {
        let (of_a, of_b) = (a.quantile(level), b.quantile(level));
        QuantileShift {
            level,
            a: of_a.middle(),
            b: of_b.middle(),
            difference: (!of_a.is_open() && !of_b.is_open()).then(|| of_b.middle() - of_a.middle()),
            range: (of_b.low - of_a.high, of_b.high - of_a.low),
        }
    };
    Ok(levels.iter().map(|level| shift(*level)).collect())
}

/// Bands of the shift function at these levels: the middle `confidence` of the differences when the slices of each side are
/// drawn again with replacement. A slice is the histogram of a part of the run; with at least 50 slices longer than any
/// dependence the bands hold. They are of these two runs, not of other boots.
///
/// # Errors
///
/// As [`between`]; slices that together are empty are an empty side.
pub fn shift_bands(
    slices_a: &[Vec<Bin>],
    slices_b: &[Vec<Bin>],
    levels: &[f64],
    confidence: f64,
    seed: u64,
) -> Result<Vec<(f64, f64)>, NoDistance> {
    const DRAWN: usize = 500;
    let mut random = Random::new(seed);
    let mut differences: Vec<Vec<f64>> = vec![Vec::with_capacity(DRAWN); levels.len()];
    // Fails early for slices that cannot be compared.
    quantile_shifts(&joined(slices_a.iter()), &joined(slices_b.iter()), levels)?;
    for _ in 0..DRAWN {
        let mut draw = |slices: &[Vec<Bin>]| {
            joined(
                (0..slices.len())
                    .map(|_| &slices[random.below(slices.len())])
                    .collect::<Vec<_>>()
                    .into_iter(),
            )
        };
        let (a, b) = (draw(slices_a), draw(slices_b));
        if let Ok(shifts) = quantile_shifts(&a, &b, levels) {
            for (differences, shift) in differences.iter_mut().zip(shifts) {
                differences.push(shift.b - shift.a);
            }
        }
    }
    let tail = 0.5 * (1.0 - confidence);
    Ok(differences
        .into_iter()
        .map(|mut differences| {
            differences.sort_by(f64::total_cmp);
            let at = |share: f64| differences[((differences.len() - 1) as f64 * share).round() as usize];
            (at(tail), at(1.0 - tail))
        })
        .collect())
}

/// The histogram of several slices with the same bins.
fn joined<'a>(slices: impl Iterator<Item = &'a Vec<Bin>>) -> Vec<Bin> {
    let mut bins: Vec<Bin> = slices.flatten().copied().collect();
    bins.sort_by(|a, b| a.low.total_cmp(&b.low).then(a.high.total_cmp(&b.high)));
    bins.dedup_by(|next, kept| {
        let is_same = next.low == kept.low && next.high == kept.high;
        if is_same {
            kept.count += next.count;
        }
        is_same
    });
    bins
}

/// A distribution function.
struct Cumulative {
    bins: Vec<Bin>,
    /// How many values are below each bin.
    before: Vec<u64>,
    total: u64,
}

impl Cumulative {
    fn of(bins: &[Bin]) -> Result<Self, NoDistance> {
        if let Some(bin) = bins.iter().find(|bin| !bin.is_valid()) {
            return Err(NoDistance::InvalidBin(*bin));
        }
        let mut sorted: Vec<Bin> = bins.iter().filter(|bin| bin.count > 0).copied().collect();
        sorted.sort_by(|a, b| a.low.total_cmp(&b.low).then(a.high.total_cmp(&b.high)));
        let sorted = joined(std::iter::once(&sorted));
        if let Some(pair) = sorted.windows(2).find(|pair| pair[1].low < pair[0].high) {
            return Err(NoDistance::OverlappingBins(pair[1]));
        }
        let total = total(&sorted);
        if total == 0 {
            return Err(NoDistance::Empty);
        }
        let mut sum = 0;
        let before = sorted
            .iter()
            .map(|bin| {
                let before = sum;
                sum += bin.count;
                before
            })
            .collect();
        Ok(Self { bins: sorted, before, total })
    }

    fn ends(&self) -> impl Iterator<Item = f64> {
        self.bins.iter().flat_map(|bin| [bin.low, bin.high])
    }

    /// P(X < x).
    fn below(&self, x: f64) -> f64 {
        self.share(x, self.bins.partition_point(|bin| bin.high < x || (bin.low < bin.high && bin.high <= x)))
    }

    /// P(X ≤ x).
    fn up_to(&self, x: f64) -> f64 {
        self.share(x, self.bins.partition_point(|bin| bin.high <= x))
    }

    /// The share of the first `complete` bins and of the part of the next below `x`.
    fn share(&self, x: f64, complete: usize) -> f64 {
        let Some(bin) = self.bins.get(complete) else { return 1.0 };
        let part = if bin.low < x && !bin.is_open() {
            bin.count as f64 * (x - bin.low) / (bin.high - bin.low)
        } else {
            0.0
        };
        (self.before[complete] as f64 + part) / self.total as f64
    }

    /// The bin with the value of rank ⌈qn⌉.
    fn quantile(&self, level: f64) -> Bin {
        let rank = ((level * self.total as f64).ceil() as u64).clamp(1, self.total);
        let at = self.before.partition_point(|before| *before < rank);
        self.bins[at.max(1) - 1]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn unit_bins(counts: &[u64]) -> Vec<Bin> {
        counts
            .iter()
            .enumerate()
            .map(|(i, &count)| Bin { low: i as f64, high: i as f64 + 1.0, count })
            .collect()
    }

    fn reference() -> (Vec<Bin>, Vec<Bin>) {
        (unit_bins(&[0, 5, 20, 40, 25, 8, 2]), unit_bins(&[0, 2, 12, 35, 30, 15, 6]))
    }

    /// The reference table of research/statistics.md section 4.
    #[test]
    fn distances_agree_with_the_reference_values() {
        let (a, b) = reference();
        let shape = between(&a, &b).unwrap();
        assert!((shape.kolmogorov_smirnov - 0.16).abs() < 1e-12);
        assert!((shape.wasserstein.unwrap() - 0.45).abs() < 1e-12);
        assert!((shape.higher - 0.6089).abs() < 1e-12);
    }

    #[test]
    fn sides_may_have_different_bins() {
        let (a, b) = reference();
        // Every bin of B split evenly into two.
        let split: Vec<Bin> = b
            .iter()
            .flat_map(|bin| {
                let middle = bin.middle();
                [
                    Bin { high: middle, count: bin.count, ..*bin },
                    Bin { low: middle, count: bin.count, ..*bin },
                ]
            })
            .collect();
        let (whole, halves) = (between(&a, &b).unwrap(), between(&a, &split).unwrap());
        assert!((whole.higher - halves.higher).abs() < 1e-12);
        assert!((whole.wasserstein.unwrap() - halves.wasserstein.unwrap()).abs() < 1e-12);
    }

    /// scipy 1.16: `stats.wasserstein_distance([1, 2, 4], [2, 2, 7])` is 4/3, `stats.ks_2samp` 1/3; of the nine pairs B is higher
    /// in 5 and equal in 2.
    #[test]
    fn exact_values_have_ties() {
        let exact = |values: &[f64]| values.iter().map(|value| Bin::exact(*value)).collect::<Vec<_>>();
        let shape = between(&exact(&[1.0, 2.0, 4.0]), &exact(&[2.0, 2.0, 7.0])).unwrap();
        assert!((shape.wasserstein.unwrap() - 4.0 / 3.0).abs() < 1e-12, "{shape:?}");
        assert!((shape.kolmogorov_smirnov - 1.0 / 3.0).abs() < 1e-12, "{shape:?}");
        assert!((shape.higher - 6.0 / 9.0).abs() < 1e-12, "{shape:?}");
    }

    #[test]
    fn crossing_lines_have_the_area_of_two_triangles() {
        // Uniform on 0..2 against uniform on 0.5..1.5: |F−G| has two triangles of height 1/4 and width 1.
        let shape = between(&[Bin::one(0.0, 2.0)], &[Bin::one(0.5, 1.5)]).unwrap();
        assert!((shape.wasserstein.unwrap() - 0.25).abs() < 1e-12, "{shape:?}");
        assert!((shape.higher - 0.5).abs() < 1e-12);
    }

    #[test]
    fn an_open_bin_has_no_mean_shift() {
        let open =
            |low| vec![Bin { low: 0.0, high: 1.0, count: 9 }, Bin { low, high: f64::INFINITY, count: 1 }];
        let shape = between(&open(5.0), &open(5.0)).unwrap();
        assert_eq!((shape.wasserstein, shape.kolmogorov_smirnov), (None, 0.0));
        assert!((shape.higher - 0.5).abs() < 1e-12);
        let shifts = quantile_shifts(&open(5.0), &open(5.0), &[0.5, 1.0]).unwrap();
        assert_eq!((shifts[0].difference, shifts[1].difference), (Some(0.0), None));
    }

    #[test]
    fn quantiles_are_those_of_ranks() {
        let (a, b) = reference();
        let shifts = quantile_shifts(&a, &b, &[0.25, 0.5, 0.9, 1.0]).unwrap();
        // Cumulated counts: 5, 25, 65, 90, 98, 100 and 2, 14, 49, 79, 94, 100 from the second bin on.
        let quantiles: Vec<(f64, f64)> = shifts.iter().map(|shift| (shift.a, shift.b)).collect();
        assert_eq!(quantiles, [(2.5, 3.5), (3.5, 4.5), (4.5, 5.5), (6.5, 6.5)]);
        assert_eq!(shifts[0].range, (0.0, 2.0));
        assert_eq!(shifts[3].difference, Some(0.0));
    }

    #[test]
    fn bands_contain_the_shift_and_become_narrower() {
        let mut random = Random::new(3);
        let mut slices = |count: usize, shift: f64| {
            (0..count)
                .map(|_| {
                    (0..50)
                        .map(|_| {
                            let low = (random.exponential() * 10.0 + shift).floor();
                            Bin::one(low, low + 1.0)
                        })
                        .collect()
                })
                .collect::<Vec<Vec<Bin>>>()
        };
        let band = |a: &[Vec<Bin>], b: &[Vec<Bin>]| shift_bands(a, b, &[0.5], 0.95, 1).unwrap()[0];
        let few = band(&slices(50, 0.0), &slices(50, 5.0));
        let many = band(&slices(200, 0.0), &slices(200, 5.0));
        assert!(few.0 <= 5.0 && few.1 >= 5.0 && few.0 > 2.0, "{few:?}");
        assert!(many.1 - many.0 <= few.1 - few.0, "{many:?} {few:?}");
    }

    #[test]
    fn invalid_sides_are_reported() {
        let wide = Bin { low: 0.0, high: 5.0, count: 1 };
        assert_eq!(between(&[], &[wide]), Err(NoDistance::Empty));
        assert_eq!(
            between(&[wide, Bin::one(4.0, 6.0)], &[wide]),
            Err(NoDistance::OverlappingBins(Bin::one(4.0, 6.0)))
        );
        assert!(matches!(between(&[Bin::exact(f64::NAN)], &[wide]), Err(NoDistance::InvalidBin(_))));
    }
}
