//! Goodness of fit: do the values follow the fitted distribution?
//!
//! The statistics weigh the difference of the two distribution functions; Anderson and Darling's weighs the tails most. Their
//! distribution depends on the shape and on the bins, so the p-value is that of a parametric bootstrap: samples of the
//! fitted distribution, in the same bins, are fitted and measured in the same way.

use super::fit::{Fit, from_start};
use super::likelihood::{Family, inverse, transformed};
use super::sample::{Cell, Sample};
use crate::minimise::Vector;
use crate::random::Random;

/// Distances of a sample from a fitted distribution.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Distances {
    /// A²: Anderson and Darling's statistic; for bins the one of Choulakian, Lockhart and Stephens (Canadian Journal of
    /// Statistics 22, 1994).
    pub anderson_darling: f64,
    /// W²: Cramér and von Mises's statistic.
    pub cramer_von_mises: f64,
    /// The largest difference of the distribution functions: at every value, or at every end of a bin.
    pub kolmogorov_smirnov: f64,
}

/// The distances of the sample from its fitted distribution.
pub fn distances(fit: &Fit) -> Distances {
    of_cells(&fit.sample, fit.model.family(), &fit.at)
}

fn of_cells(sample: &Sample, family: Family, at: &Vector) -> Distances {
    if sample.cells.iter().all(|cell| cell.is_exact) {
        of_exact(sample, family, at)
    } else {
        of_bins(sample, family, at)
    }
}

fn of_exact(sample: &Sample, family: Family, at: &Vector) -> Distances {
    let (location, scale, shape) = family.unpack(at);
    let n = sample.count as f64;
    let (mut anderson_darling, mut cramer_von_mises, mut kolmogorov_smirnov) = (-n, 1.0 / (12.0 * n), 0.0f64);
    let mut before = 0.0;
    for cell in &sample.cells {
        let below = family.below(cell.low, location, scale, shape).max(f64::MIN_POSITIVE);
        let above = family.above(cell.low, location, scale, shape).max(f64::MIN_POSITIVE);
        let after = before + cell.weight;
        // Equal values have ranks from before+1 to after: the sums of 2i−1 and of 2(n−i)+1 over them are differences of
        // squares.
        let (low, high) = (after * after - before * before, (n - before).powi(2) - (n - after).powi(2));
        anderson_darling -= (low * libm::log(below) + high * libm::log(above)) / n;
        let mut rank = before;
        while rank < after {
            cramer_von_mises += (below - (rank + 0.5) / n).powi(2);
            rank += 1.0;
        }
        kolmogorov_smirnov = kolmogorov_smirnov.max(below - before / n).max(after / n - below);
        before = after;
    }
    Distances { anderson_darling, cramer_von_mises, kolmogorov_smirnov }
}

/// The forms for grouped values. A gap between two occupied bins counts as one bin.
fn of_bins(sample: &Sample, family: Family, at: &Vector) -> Distances {
    let (location, scale, shape) = family.unpack(at);
    let n = sample.count as f64;
    let mut distances = Distances { anderson_darling: 0.0, cramer_von_mises: 0.0, kolmogorov_smirnov: 0.0 };
    let mut observed = 0.0;
    let mut below_before = 0.0;
    let mut add = |end: f64, observed: f64| {
        let below = family.below(end, location, scale, shape);
        let above = family.above(end, location, scale, shape);
        let probability = below - below_before;
        let difference = observed - n * below;
        if below > 0.0 && above > 0.0 {
            distances.anderson_darling += difference * difference * probability / (below * above) / n;
        }
        distances.cramer_von_mises += difference * difference * probability / n;
        distances.kolmogorov_smirnov = distances.kolmogorov_smirnov.max(difference.abs() / n);
        below_before = below;
    };
    let mut end = f64::NEG_INFINITY;
    for cell in &sample.cells {
        if cell.low > end {
            add(cell.low, observed);
        }
        observed += cell.weight;
        end = cell.high;
        add(end, observed);
    }
    distances
}

/// The p-value of Anderson and Darling's statistic by a parametric bootstrap.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bootstrap {
    /// The statistic of the sample.
    pub statistic: f64,
    /// The share of simulated samples with at least this statistic.
    pub p: f64,
    /// How many samples were simulated.
    pub simulated: usize,
}

/// Simulates at most `most` samples of the fitted distribution. It stops as soon as 10 have a larger statistic (Besag and
/// Clifford, Biometrika 78, 1991), which keeps the p-value valid and ends early for a good fit. The same `seed` gives the
/// same p-value.
pub fn bootstrap(fit: &Fit, most: usize, seed: u64) -> Bootstrap {
    const ENOUGH: usize = 10;
    let statistic = distances(fit).anderson_darling;
    let family = fit.model.family();
    let grid = Grid::of(&fit.sample);
    let mut random = Random::new(seed);
    let (mut larger, mut simulated) = (0, 0);
    while simulated < most && larger < ENOUGH {
        simulated += 1;
        let sample = grid.simulate(fit, &mut random);
        let is_larger = from_start(sample, fit.model, fit.at)
            .is_none_or(|again| of_cells(&again.sample, family, &again.at).anderson_darling >= statistic);
        larger += usize::from(is_larger);
    }
    let p = if larger >= ENOUGH {
        larger as f64 / simulated as f64
    } else {
        (larger + 1) as f64 / (simulated + 1) as f64
    };
    Bootstrap { statistic, p, simulated }
}

/// The bins that a simulated value may be in. Bins without values are not in a sample, so they are filled in: gaps with bins
/// as wide as the one below, the range above the highest with bins that grow as the sample's do.
struct Grid {
    /// `None` for exact values.
    bins: Option<Bins>,
}

struct Bins {
    cells: Vec<(f64, f64)>,
    /// The width of a bin relative to its distance from the zero of the unit; 0 if all bins have the same width.
    growth: f64,
    /// The zero of the unit in the sample's scale.
    zero: f64,
}

impl Grid {
    fn of(sample: &Sample) -> Self {
        if sample.cells.iter().all(|cell| cell.is_exact) {
            return Self { bins: None };
        }
        let zero = -sample.shift / sample.scale;
        let widths: Vec<f64> =
            sample.cells.iter().map(|cell| cell.high - cell.low).filter(|width| width.is_finite()).collect();
        let (first, last) = (widths.first().copied().unwrap_or(1.0), widths.last().copied().unwrap_or(1.0));
        let highest =
            sample.cells.iter().rev().find(|cell| cell.high.is_finite()).map_or(0.0, |cell| cell.low);
        let growth = if last > 1.5 * first { last / (highest - zero).max(last) } else { 0.0 };
        let mut cells: Vec<(f64, f64)> = Vec::new();
        for cell in &sample.cells {
            if let Some(&(low, high)) = cells.last() {
                fill(&mut cells, high, cell.low, high - low);
            }
            cells.push((cell.low, cell.high));
        }
        Self { bins: Some(Bins { cells, growth, zero }) }
    }

    fn simulate(&self, fit: &Fit, random: &mut Random) -> Sample {
        let family = fit.model.family();
        let (location, scale, shape) = family.unpack(&fit.at);
        let count = fit.count.min(MOST_SIMULATED) as usize;
        let mut values: Vec<f64> = (0..count)
            .map(|_| {
                let exponential = random.exponential();
                let y = if family == Family::Gev { -libm::log(exponential) } else { exponential };
                location + scale * inverse(y, shape)
            })
            .collect();
        values.sort_by(f64::total_cmp);
        let weight = fit.count as f64 / count as f64;
        let mut cells: Vec<Cell> = Vec::new();
        for value in values {
            let (low, high) = self.bins.as_ref().map_or((value, value), |bins| bins.around(value));
            match cells.last_mut() {
                Some(last) if last.low == low && last.high == high => last.weight += weight,
                _ => cells.push(Cell { low, high, weight, is_exact: low == high }),
            }
        }
        Sample { cells, ..fit.sample.clone() }
    }
}

/// More values than these are not simulated.
const MOST_SIMULATED: u64 = 1_000_000;
/// More bins than these are not filled in.
const MOST_FILLED: f64 = 10_000.0;

fn fill(cells: &mut Vec<(f64, f64)>, from: f64, to: f64, width: f64) {
    if to <= from {
        return;
    }
    let count = ((to - from) / width).round().clamp(1.0, MOST_FILLED) as usize;
    let step = (to - from) / count as f64;
    for i in 0..count {
        let end = if i + 1 == count { to } else { from + (i + 1) as f64 * step };
        cells.push((from + i as f64 * step, end));
    }
}

impl Bins {
    /// The bin that contains the value.
    fn around(&self, value: f64) -> (f64, f64) {
        let (first, last) = (self.cells[0], self.cells[self.cells.len() - 1]);
        if value < first.0 {
            let width = first.1 - first.0;
            let low = first.0 - ((first.0 - value) / width).ceil() * width;
            return (low, low + width);
        }
        if value >= last.1 {
            return self.beyond(last, value);
        }
        let i = self.cells.partition_point(|cell| cell.1 <= value).min(self.cells.len() - 1);
        self.cells[i]
    }

    fn beyond(&self, last: (f64, f64), value: f64) -> (f64, f64) {
        let width = last.1 - last.0;
        if self.growth == 0.0 || last.1 <= self.zero {
            let low = last.1 + ((value - last.1) / width).floor() * width;
            return (low, low + width);
        }
        // Each bin ends at (1 + growth) times its beginning.
        let ratio = 1.0 + self.growth;
        let steps = (libm::log((value - self.zero) / (last.1 - self.zero)) / libm::log(ratio)).floor();
        let low = self.zero + (last.1 - self.zero) * libm::pow(ratio, steps);
        (low, (low - self.zero) * ratio + self.zero)
    }
}

/// The points of a quantile plot: each value with the one that the fitted distribution has at its rank, (i − ½)/n. At most
/// one for each bin.
pub fn quantile_points(fit: &Fit) -> Vec<(f64, f64)> {
    let n = fit.count as f64;
    let mut before = 0.0;
    fit.sample
        .cells
        .iter()
        .map(|cell| {
            let rank = before + 0.5 * cell.weight;
            before += cell.weight;
            let middle = if cell.high.is_finite() { 0.5 * (cell.low + cell.high) } else { cell.low };
            (fit.quantile(rank / n), fit.sample.in_unit(middle))
        })
        .collect()
}

/// The transformed values y, which have the standard Gumbel (GEV) or exponential (GPD) distribution if the fit is right.
pub fn residuals(fit: &Fit, values: &[f64]) -> Vec<f64> {
    values.iter().map(|value| transformed((value - fit.location) / fit.scale, fit.shape)).collect()
}

#[cfg(test)]
mod tests {
    use super::super::fit::{gev, gpd};
    use super::super::test_data::{binned, close, portpirie, rain_bins, simulate};
    use super::*;
    use crate::bins::Bin;

    /// The reference table of research/statistics.md section 4.
    #[test]
    fn distances_agree_with_the_reference_values() {
        let port_pirie = distances(&gev(&portpirie()).unwrap());
        close(port_pirie.anderson_darling, 0.154_34, 1e-4);
        close(port_pirie.cramer_von_mises, 0.021_15, 3e-4);
        close(port_pirie.kolmogorov_smirnov, 0.060_63, 1e-4);
        let rain = distances(&gpd(&rain_bins(), 30.0).unwrap());
        close(rain.anderson_darling, 0.391_37, 1e-4);
        close(rain.cramer_von_mises, 0.038_09, 2e-4);
    }

    /// p ≈ 0.94 in research/statistics.md section 4.
    #[test]
    fn port_piries_fit_is_accepted() {
        let found = bootstrap(&gev(&portpirie()).unwrap(), 999, 1);
        assert!((0.8..=1.0).contains(&found.p), "{found:?}");
    }

    /// The two refusals of research/statistics.md section 3.2 (there p = 0.005 and 0.015).
    #[test]
    fn a_mixture_and_a_far_value_are_rejected() {
        let mut random = Random::new(3);
        let mut far = simulate(Family::Gev, (30.0, 2.0, 0.0), 119, &mut random);
        far.push(150.0);
        let mut mixed = simulate(Family::Gev, (30.0, 2.0, 0.0), 450, &mut random);
        mixed.extend(simulate(Family::Gev, (50.0, 2.0, 0.0), 50, &mut random));
        for (values, width) in [(&far, 0.0), (&mixed, 0.0), (&mixed, 1.0)] {
            let found = bootstrap(&gev(&binned(values, width)).unwrap(), 199, 1);
            assert!(found.p < 0.05, "{found:?}");
        }
    }

    /// Under the model the p-value is uniform, for exact values and for bins of half the scale.
    #[test]
    fn p_values_are_uniform_if_the_model_is_right() {
        let mut random = Random::new(4);
        for width in [0.0, 0.5] {
            let mut below = [0, 0];
            for seed in 0..150 {
                let values = simulate(Family::Gev, (20.0, 1.0, 0.1), 100, &mut random);
                let p = bootstrap(&gev(&binned(&values, width)).unwrap(), 99, seed).p;
                below[0] += i32::from(p < 0.2);
                below[1] += i32::from(p < 0.5);
            }
            assert!((12..=48).contains(&below[0]) && (50..=100).contains(&below[1]), "{width} {below:?}");
        }
    }

    #[test]
    fn simulated_values_are_in_bins_like_the_samples() {
        // Log-linear bins, eight an octave, with gaps.
        let value = |i: i32| 16.0 * libm::pow(2.0, f64::from(i) / 8.0);
        let bins: Vec<Bin> = [0, 1, 2, 3, 4, 6, 7, 12]
            .iter()
            .map(|&i| Bin { low: value(i), high: value(i + 1), count: 10 })
            .collect();
        let fit = gpd(&bins, 16.0).unwrap();
        let grid = Grid::of(&fit.sample);
        let cells = grid.bins.as_ref().unwrap();
        let in_unit = |(low, high): (f64, f64)| (fit.sample.in_unit(low), fit.sample.in_unit(high));
        for x in [17.0, value(5) + 0.1, value(10) + 0.1, value(20) + 0.5] {
            let (low, high) = in_unit(cells.around((x - fit.sample.shift) / fit.sample.scale));
            assert!(low <= x && x < high, "{low} {x} {high}");
            assert!(libm::log2(high / low) < 0.25, "{low} {high}");
        }
    }

    #[test]
    fn the_points_of_a_good_fit_are_near_the_diagonal() {
        let fit = gev(&portpirie()).unwrap();
        let points = quantile_points(&fit);
        assert!(points.iter().all(|(model, value)| (model - value).abs() < 0.15), "{points:?}");
        let residuals = residuals(&fit, &[fit.location]);
        assert_eq!(residuals, [0.0]);
    }
}
