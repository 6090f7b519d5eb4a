//! Is a split more than chance? By Student's test, or by permutation.

use super::divergence::{Distances, best_of_parts};
use crate::distributions::student_both_tails;
use crate::random::Random;

/// How many random orders [`probability_of_orders`] tries: its smallest p-value is 1e-4.
const ORDERS: usize = 9_999;
/// The values that [`probability_of_orders`] takes from each side of a change: the time for each order grows with the square of their number.
const SIDE_MAX: usize = 30;
/// The random orders are the same each time.
const SEED: u64 = 1;

/// The share of random orders of `part` that have a split as good as the best one of its own order, around index `at`.
pub(super) fn probability_of_orders(part: &[f64], at: usize) -> f64 {
    let mut values = part[at.saturating_sub(SIDE_MAX)..part.len().min(at + SIDE_MAX)].to_vec();
    let divergence = |values: &[f64]| {
        Distances::of(values).best_split_of_all(0, values.len()).map_or(0.0, |split| split.divergence)
    };
    let own = divergence(&values);
    let mut random = Random::new(SEED);
    let mut as_good = 0usize;
    for _ in 0..ORDERS {
        random.shuffle(&mut values);
        // Sums of the same values in another order may differ in their last digits.
        as_good += usize::from(divergence(&values) >= own * (1.0 - 1e-9));
    }
    (as_good + 1) as f64 / (ORDERS + 1) as f64
}

/// The means of two parts, and the p-value of equal ones.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Compared {
    pub(super) left: f64,
    pub(super) right: f64,
    pub(super) p: f64,
}

/// Student's two-sided test of equal means. As in Otava, variances are divided by n, not by n − 1: for parts of 10 values the
/// p-values are those of a t that is 5 % higher.
pub(super) fn compare(left: &[f64], right: &[f64]) -> Compared {
    let mean = |part: &[f64]| part.iter().sum::<f64>() / part.len() as f64;
    let (of_left, of_right) = (mean(left), mean(right));
    let variance = |part: &[f64], mean: f64| {
        part.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / part.len() as f64
    };
    let (n, m) = (left.len() as f64, right.len() as f64);
    let freedom = n + m - 2.0;
    let difference = of_left - of_right;
    if freedom <= 0.0 || difference == 0.0 {
        return Compared { left: of_left, right: of_right, p: 1.0 };
    }
    let pooled = ((n - 1.0) * variance(left, of_left) + (m - 1.0) * variance(right, of_right)) / freedom;
    let t = difference / (pooled * (1.0 / n + 1.0 / m)).sqrt();
    Compared { left: of_left, right: of_right, p: student_both_tails(t, freedom) }
}

/// Whether any split of the series may be significant: the most significant one is found in linear time, and that of the
/// highest divergence cannot be more significant.
fn has_significant_split(series: &[f64], most_p: f64) -> bool {
    let n = series.len() as f64;
    let mean = series.iter().sum::<f64>() / n;
    let all_squares: f64 = series.iter().map(|value| (value - mean).powi(2)).sum();
    let (mut sum, mut squares, mut most_t) = (0.0, 0.0, 0.0f64);
    for (index, value) in series.iter().enumerate().take(series.len().saturating_sub(1)) {
        (sum, squares) = (sum + value - mean, squares + (value - mean).powi(2));
        let left = (index + 1) as f64;
        let right = n - left;
        // The sums of squares around each side's own mean; the centred sides add up to 0.
        let (of_left, of_right) = (squares - sum * sum / left, all_squares - squares - sum * sum / right);
        let pooled = ((left - 1.0) * of_left / left + (right - 1.0) * of_right / right) / (n - 2.0);
        let difference = sum / left + sum / right;
        // Rounding may make a constant side's variance negative.
        let t = difference.abs() / (pooled.max(1e-12 * all_squares / n) * (1.0 / left + 1.0 / right)).sqrt();
        most_t = most_t.max(if t.is_nan() { 0.0 } else { t });
    }
    n > 2.0 && student_both_tails(most_t, n - 2.0) <= most_p * (1.0 + 1e-6)
}

/// The change points of a whole series whose sides differ by Student's test with at most `most_p`, in order.
pub fn by_t_test(series: &[f64], most_p: f64) -> Vec<usize> {
    if !has_significant_split(series, most_p) {
        return Vec::new();
    }
    let distances = Distances::of(series);
    let mut points: Vec<usize> = Vec::new();
    while let Some(split) = best_of_parts(&distances, &points, series.len()) {
        let next = points.partition_point(|point| *point < split.at);
        let start = if next == 0 { 0 } else { points[next - 1] };
        let end = points.get(next).copied().unwrap_or(series.len());
        let compared = compare(&series[start..split.at], &series[split.at..end]);
        if compared.p > most_p {
            break;
        }
        points.insert(next, split.at);
    }
    points
}

/// The change points of a whole series, each significant at `most_p` among `permutations` random orders of the values within
/// the parts that were found before. This is the original method; it assumes no distribution, but its time grows with
/// `permutations` × n², and the smallest p-value is 1/(`permutations` + 1). The same `seed` gives the same points.
pub fn by_permutation(series: &[f64], most_p: f64, permutations: usize, seed: u64) -> Vec<(usize, f64)> {
    let mut random = Random::new(seed);
    let distances = Distances::of(series);
    let mut found: Vec<(usize, f64)> = Vec::new();
    loop {
        let points: Vec<usize> = found.iter().map(|(index, _)| *index).collect();
        let Some(split) = best_of_parts(&distances, &points, series.len()) else { return found };
        let mut shuffled = series.to_vec();
        let mut as_large = 0;
        for _ in 0..permutations {
            let mut rest = shuffled.as_mut_slice();
            let mut start = 0;
            for end in points.iter().copied().chain([series.len()]) {
                let (part, after) = rest.split_at_mut(end - start);
                random.shuffle(part);
                (rest, start) = (after, end);
            }
            let of_shuffled = best_of_parts(&Distances::of(&shuffled), &points, series.len());
            as_large +=
                usize::from(of_shuffled.is_some_and(|shuffled| shuffled.divergence >= split.divergence));
        }
        let p = (as_large + 1) as f64 / (permutations + 1) as f64;
        if p > most_p {
            return found;
        }
        found.push((split.at, p));
        found.sort_by_key(|(index, _)| *index);
    }
}
