//! Confidence intervals from the profile of the likelihood.
//!
//! The interval of a quantity holds the values at which the highest likelihood, over all other parameters, is at most
//! χ²_{1; confidence}/2 below the maximum. Unlike an estimate with its standard error it is asymmetric, as the
//! uncertainty of a level far beyond the data is (Coles, 2001, section 2.6.6).

use super::Fit;
use crate::distributions::likelihood_drop;
use crate::extreme::likelihood::{Family, inverse, inverse_by_shape};
use crate::interval::Ends;
use crate::minimise::{MOST, Matrix, Minimum, Value, Vector, minimise_from};

/// The precision of the log-likelihood along a profile.
const PRECISION: f64 = 1e-8;

/// How close an end is computed, in standard errors.
const CLOSE: f64 = 1e-5;

/// The profile interval of ξ.
pub(super) fn of_shape(fit: &Fit, confidence: f64) -> Ends {
    let family = fit.model.family();
    let last = family.parameters() - 1;
    let mut start = fit.at;
    start[last] = 0.0;
    let step = inverse_information(fit).map_or(0.1, |inverse| inverse[last][last].sqrt()).clamp(1e-4, 1.0);
    let of_others = information(fit).and_then(|information| inverse_of_symmetric(last, &information));
    let profile = |shape: f64, start: &Vector| {
        minimise_from(last, *start, of_others, PRECISION, |at| {
            let mut at = *at;
            at[last] = shape;
            let mut value = fit.negative_log_likelihood_at(&at)?;
            value.gradient[last] = 0.0;
            Some(value)
        })
    };
    let wider = if last == 2 { [0.0, 1.0, 0.0] } else { [1.0, 0.0, 0.0] };
    ends(fit.at[last], step, fit.lowest, confidence, Start { point: start, wider }, profile)
}

/// The profile interval of the level with transformed value `y`, in the sample's scale.
pub(super) fn of_level(fit: &Fit, y: f64, level: f64, confidence: f64) -> Ends {
    let free = fit.model.parameters() - 1;
    let start = match fit.model.family() {
        Family::Gev => [fit.at[1], fit.at[2], 0.0],
        Family::Gpd => [fit.at[1], 0.0, 0.0],
    };
    let step = level_error(fit, y).unwrap_or(level.abs() * 0.1).max(1e-6);
    let of_rest = information_of_rest(fit, y, level, &start)
        .and_then(|information| inverse_of_symmetric(free, &information));
    let profile = |level: f64, start: &Vector| {
        let at_rest = |rest: &Vector| {
            let (at, chain) = fit.with_level(y, level, rest)?;
            let value = fit.negative_log_likelihood_at(&at)?;
            Some(Value { value: value.value, gradient: chained(free, &value.gradient, &chain) })
        };
        if free == 0 {
            return at_rest(start).map(|value| Minimum { point: *start, value: value.value });
        }
        minimise_from(free, *start, of_rest, PRECISION, at_rest)
    };
    let wider = if fit.model.family() == Family::Gev { [1.0, 0.2, 0.0] } else { [0.3, 0.0, 0.0] };
    let wider = std::array::from_fn(|i| if i < free { wider[i] } else { 0.0 });
    ends(level, step, fit.lowest, confidence, Start { point: start, wider }, profile)
}

/// The gradient by the remaining parameters, from that by all and the derivatives of the replaced one.
fn chained(free: usize, gradient: &Vector, chain: &Vector) -> Vector {
    std::array::from_fn(|i| if i < free { gradient[i + 1] + gradient[0] * chain[i] } else { 0.0 })
}

/// The second derivatives by the remaining parameters at the estimate, where the gradient is 0.
fn information_of_rest(fit: &Fit, y: f64, level: f64, rest: &Vector) -> Option<Matrix> {
    let free = fit.model.parameters() - 1;
    let (_, chain) = fit.with_level(y, level, rest)?;
    let all = information(fit)?;
    let mut matrix = Matrix::default();
    for i in 0..free {
        for j in 0..free {
            matrix[i][j] = all[i + 1][j + 1]
                + chain[i] * all[0][j + 1]
                + chain[j] * all[i + 1][0]
                + chain[i] * chain[j] * all[0][0];
        }
    }
    Some(matrix)
}

/// The standard error of a level by the delta method, in the sample's scale.
fn level_error(fit: &Fit, y: f64) -> Option<f64> {
    let covariance = inverse_information(fit)?;
    let (_, scale, shape) = fit.model.family().unpack(&fit.at);
    let by_log_scale = scale * inverse(y, shape);
    let by_shape = scale * inverse_by_shape(y, shape);
    let gradient = match fit.model.family() {
        Family::Gev => [1.0, by_log_scale, by_shape],
        Family::Gpd => [by_log_scale, by_shape, 0.0],
    };
    let mut variance = 0.0;
    for i in 0..fit.model.parameters() {
        for j in 0..fit.model.parameters() {
            variance += gradient[i] * gradient[j] * covariance[i][j];
        }
    }
    (variance > 0.0).then(|| variance.sqrt())
}

/// Where the search over the other parameters begins.
#[derive(Clone, Copy)]
struct Start {
    point: Vector,
    /// The direction in which the distribution becomes wider.
    wider: Vector,
}

impl Start {
    /// The lowest value of `profile` at `quantity`. If a value of the sample is impossible at the start, or the descent from there
    /// does not end, wider distributions are tried: otherwise the interval would end where the search failed.
    fn descend(&self, quantity: f64, profile: &impl Fn(f64, &Vector) -> Option<Minimum>) -> Option<Minimum> {
        [0.0, 0.5, 1.0, 2.0, 4.0].into_iter().find_map(|distance| {
            let start = std::array::from_fn(|i| self.point[i] + distance * self.wider[i]);
            profile(quantity, &start)
        })
    }
}

/// Searches both ends. `profile` minimises over the other parameters from a start.
fn ends(
    estimate: f64,
    step: f64,
    lowest: f64,
    confidence: f64,
    start: Start,
    profile: impl Fn(f64, &Vector) -> Option<Minimum>,
) -> Ends {
    let root_of_drop = likelihood_drop(confidence).sqrt();
    let end = |direction: f64| end(estimate, direction * step, lowest, root_of_drop, start, &profile);
    Ends { low: end(-1.0), high: end(1.0) }
}

/// One end: the root of √(2 × the drop of the log-likelihood) − z, which is almost linear in the quantity.
fn end(
    estimate: f64,
    step: f64,
    lowest: f64,
    root_of_drop: f64,
    start: Start,
    profile: &impl Fn(f64, &Vector) -> Option<Minimum>,
) -> Option<f64> {
    let mut others = start;
    let (mut inside, mut at_inside) = (estimate, -root_of_drop);
    let mut outside: Option<(f64, f64)> = None;
    let mut reach = step * root_of_drop;
    // How many steps in a row moved the same end.
    let (mut same_side, mut was_inside) = (0, None);
    for _ in 0..80 {
        let at = match outside {
            None => inside + reach,
            Some((outside, at_outside)) => {
                if (outside - inside).abs() <= CLOSE * step.abs() {
                    break;
                }
                if at_outside.is_finite() && same_side < 2 {
                    // A secant step, kept off the ends so that both of them move.
                    let share = (-at_inside / (at_outside - at_inside)).clamp(0.02, 0.98);
                    inside + share * (outside - inside)
                } else {
                    // The search may have failed at the outer end, which makes secants useless.
                    0.5 * (inside + outside)
                }
            }
        };
        let found = others.descend(at, profile);
        let excess = found
            .map_or(f64::INFINITY, |found| (2.0 * (found.value - lowest)).max(0.0).sqrt() - root_of_drop);
        if excess.abs() < CLOSE {
            return Some(at);
        }
        same_side = if was_inside == Some(excess < 0.0) { same_side + 1 } else { 1 };
        was_inside = Some(excess < 0.0);
        if excess < 0.0 {
            (inside, at_inside) = (at, excess);
            others.point = found.map_or(others.point, |found| found.point);
            reach *= 1.6;
        } else {
            outside = Some((at, excess));
        }
    }
    outside.map(|(outside, _)| 0.5 * (inside + outside))
}

/// The inverse of [`information`]; `None` if it is not that of a minimum.
pub(super) fn inverse_information(fit: &Fit) -> Option<Matrix> {
    inverse_of_symmetric(fit.model.parameters(), &information(fit)?)
}

/// The second derivatives of the negative log-likelihood at the estimate, in the sample's scale and the order of the family's
/// parameters; `None` if a value is impossible next to the estimate.
fn information(fit: &Fit) -> Option<Matrix> {
    let free = fit.model.parameters();
    let mut second = [[0.0; MOST]; MOST];
    for i in 0..free {
        // The fourth-order difference quotient of the gradient.
        let gradient = |distance: f64| {
            let mut at = fit.at;
            at[i] += distance;
            fit.negative_log_likelihood_at(&at).map(|value| value.gradient)
        };
        let h = 2e-4;
        let (near_up, near_down) = (gradient(h)?, gradient(-h)?);
        let (far_up, far_down) = (gradient(2.0 * h)?, gradient(-2.0 * h)?);
        for j in 0..free {
            second[i][j] = (8.0 * (near_up[j] - near_down[j]) - (far_up[j] - far_down[j])) / (12.0 * h);
        }
    }
    Some(second)
}

/// The inverse of a positive definite matrix by Gauss and Jordan; `None` if it is not one.
fn inverse_of_symmetric(free: usize, matrix: &Matrix) -> Option<Matrix> {
    let mut left = *matrix;
    let mut right = [[0.0; MOST]; MOST];
    for (i, row) in right.iter_mut().enumerate() {
        row[i] = 1.0;
    }
    for pivot in 0..free {
        let diagonal = left[pivot][pivot];
        if !(diagonal > 0.0 && diagonal.is_finite()) {
            return None;
        }
        for column in 0..MOST {
            left[pivot][column] /= diagonal;
            right[pivot][column] /= diagonal;
        }
        for row in (0..free).filter(|row| *row != pivot) {
            let factor = left[row][pivot];
            for column in 0..MOST {
                left[row][column] -= factor * left[pivot][column];
                right[row][column] -= factor * right[pivot][column];
            }
        }
    }
    Some(right)
}
