//! Where a series of runs changed.
//!
//! E-divisive (Matteson and James, Journal of the American Statistical Association 109, 2014) splits a series where the two
//! sides differ most in the mean distance of their values, as long as the difference is significant. For long histories it
//! is applied to overlapping windows with a weak significance, and points that are not significant between their final
//! neighbours are removed again (Fleming et al., "Hunter", ICPE 2023). Apache Otava 0.8 is the reference of the tests;
//! [`find`] differs from it in one place: when a point is removed, both neighbours are judged again, not only the right one.

mod divergence;
mod significance;

use std::collections::BTreeMap;

pub use significance::{by_permutation, by_t_test};

use significance::{compare, probability_of_orders};

/// A place where a series changed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ChangePoint {
    /// The index of the first value after the change.
    pub index: usize,
    /// The p-value of equal sides, between the neighbouring change points.
    pub p: f64,
    /// The mean of the values since the change before.
    pub before: f64,
    /// The mean of the values until the next change.
    pub after: f64,
    /// The size of the change, on the scale of [`Options`]: the larger one of |after/before − 1| and |before/after − 1|.
    pub magnitude: f64,
}

/// What the values of a series are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scale {
    /// Plain numbers: the size of a change is the relative change of the mean.
    Linear,
    /// Natural logarithms, as suits quantiles of latencies: the size of a change is the relative change of what they are the
    /// logarithms of.
    Logarithmic,
}

/// How to search. The defaults are Otava's.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Options {
    /// How many values are searched at once; at least 2. Windows overlap by half.
    pub window: usize,
    /// The highest p-value of a change point, for example 0.001.
    pub most_p: f64,
    /// Smaller changes are left out: 0.05 is 5 %.
    pub least_magnitude: f64,
    /// What the values are.
    pub scale: Scale,
}

impl Default for Options {
    fn default() -> Self {
        Self { window: 50, most_p: 0.001, least_magnitude: 0.0, scale: Scale::Linear }
    }
}

/// The change points of a series, in order. Values that are not finite are not allowed.
///
/// # Errors
///
/// The index of the first value that is not finite.
pub fn find(series: &[f64], options: &Options) -> Result<Vec<ChangePoint>, usize> {
    if let Some(index) = series.iter().position(|value| !value.is_finite()) {
        return Err(index);
    }
    let candidates = weak_points(series, options);
    Ok(merge(series, candidates, options))
}

/// The change points of a series that also hold without any assumption about how its values are distributed.
///
/// Student's test, which [`find`] uses, takes values as normally distributed and the place of the change as given. In a series without
/// a change, whose values have outliers, it finds one far more often than `most_p` says. So each point is tested again: between its
/// neighbours, how often has a random order of the values a split that is as good? That is the p-value of the points that remain, at
/// most `most_p_of_orders`.
///
/// # Errors
///
/// The index of the first value that is not finite.
pub fn confirmed(
    series: &[f64],
    options: &Options,
    most_p_of_orders: f64,
) -> Result<Vec<ChangePoint>, usize> {
    let mut points = find(series, options)?;
    // Of a removed point, only the neighbours have other values on a side than before.
    let mut known: BTreeMap<Around, f64> = BTreeMap::new();
    loop {
        let indices: Vec<usize> = points.iter().map(|point| point.index).collect();
        points = judged(series, &indices, options.scale);
        for (point, around) in points.iter_mut().zip(around(&indices, series.len())) {
            let Around { start, at, end } = around;
            let p = || probability_of_orders(&series[start..end], at - start);
            point.p = *known.entry(around).or_insert_with(p);
        }
        let weakest = points.iter().enumerate().max_by(|a, b| a.1.p.total_cmp(&b.1.p));
        match weakest {
            Some((weakest, point)) if point.p > most_p_of_orders => points.remove(weakest),
            _ => return Ok(points),
        };
    }
}

/// The p-value of the first pass: it finds more than remain.
fn weak_p(most_p: f64) -> f64 {
    match most_p {
        p if p < 0.05 => 10.0 * p,
        p if p < 0.5 => 2.0 * p,
        p => p,
    }
}

/// The indices that any window finds with the weak significance.
fn weak_points(series: &[f64], options: &Options) -> Vec<usize> {
    let window = options.window.max(2);
    let mut points = Vec::new();
    let mut start = 0;
    while start < series.len() {
        let end = (start + window).min(series.len());
        let found = by_t_test(&series[start..end], weak_p(options.most_p));
        let last = found.last().map_or(0, |last| start + last);
        points.extend(found.iter().map(|index| start + index));
        start = last.max(start + window / 2);
    }
    points.sort_unstable();
    points.dedup();
    points
}

/// Removes the weakest point until all are significant and large enough.
fn merge(series: &[f64], indices: Vec<usize>, options: &Options) -> Vec<ChangePoint> {
    let mut indices = indices;
    loop {
        let points = judged(series, &indices, options.scale);
        let weakest = points.iter().enumerate().max_by(|a, b| a.1.p.total_cmp(&b.1.p).then(b.0.cmp(&a.0)));
        let Some((weakest, point)) = weakest else { return points };
        let removed = if point.p < options.most_p {
            let smallest = points.iter().enumerate().min_by(|a, b| a.1.magnitude.total_cmp(&b.1.magnitude));
            match smallest {
                Some((smallest, point)) if point.magnitude <= options.least_magnitude => smallest,
                _ => return points,
            }
        } else {
            weakest
        };
        indices.remove(removed);
    }
}

/// The values from the point before another, or the beginning, to the point after it, or the end.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Around {
    start: usize,
    at: usize,
    end: usize,
}

fn around(indices: &[usize], len: usize) -> impl Iterator<Item = Around> {
    (0..indices.len()).map(move |i| Around {
        start: if i == 0 { 0 } else { indices[i - 1] },
        at: indices[i],
        end: indices.get(i + 1).copied().unwrap_or(len),
    })
}

/// Every point with the significance and the size of its change between its neighbours.
fn judged(series: &[f64], indices: &[usize], scale: Scale) -> Vec<ChangePoint> {
    around(indices, series.len())
        .map(|Around { start, at, end }| {
            let compared = compare(&series[start..at], &series[at..end]);
            let magnitude = magnitude(compared.left, compared.right, scale);
            ChangePoint { index: at, p: compared.p, before: compared.left, after: compared.right, magnitude }
        })
        .collect()
}

/// The larger one of both relative changes; a change from or to 0 has that of the other direction only.
fn magnitude(before: f64, after: f64, scale: Scale) -> f64 {
    match scale {
        Scale::Logarithmic => libm::expm1((after - before).abs()),
        Scale::Linear => {
            let relative = |from: f64, to: f64| if from == 0.0 { 0.0 } else { (to / from - 1.0).abs() };
            relative(before, after).max(relative(after, before))
        }
    }
}

#[cfg(test)]
mod tests;
