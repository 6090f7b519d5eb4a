//! The likelihoods of the two distributions, with their gradients.
//!
//! Both have the same transformation of a value: y = ln(1 + ξz)/ξ with z = (x − location)/scale, which is z itself for ξ =
//! 0. GEV: P(X ≤ x) = exp(−e^−y). GPD: P(X > x) = e^−y. A value in a bin contributes the logarithm of the bin's probability
//! (interval-censored likelihood): fitting the middle of bins gives wrong scales if bins are wide (research/statistics.md
//! section 3.2). Parameters are (location, ln scale, ξ) for the GEV and (ln scale, ξ) for the GPD.

use super::sample::Sample;
use crate::minimise::{Value, Vector};

/// Shapes outside are not accepted: at −1 and below the likelihood of exact values has no maximum.
const LEAST_SHAPE: f64 = -0.99;
pub(super) const MOST_SHAPE: f64 = 5.0;

/// Below this size of ξz the series around 0 are used; their error is then below 10^-15.
const SMALL: f64 = 1e-3;

/// The transformed value y with its derivatives by z and ξ.
#[derive(Clone, Copy, Debug)]
struct Transformed {
    y: f64,
    by_z: f64,
    by_shape: f64,
}

/// y is infinite outside the distribution's support: −∞ below, ∞ above.
fn transform(z: f64, shape: f64) -> Transformed {
    let w = shape * z;
    if w <= -1.0 {
        let y = if shape > 0.0 { f64::NEG_INFINITY } else { f64::INFINITY };
        return Transformed { y, by_z: 0.0, by_shape: 0.0 };
    }
    if z.is_infinite() {
        return Transformed { y: z, by_z: 0.0, by_shape: 0.0 };
    }
    let by_z = 1.0 / (1.0 + w);
    if w.abs() < SMALL {
        let y = z * (1.0 + w * (-1.0 / 2.0 + w * (1.0 / 3.0 + w * (-1.0 / 4.0 + w * (1.0 / 5.0 - w / 6.0)))));
        let by_shape =
            z * z * (-1.0 / 2.0 + w * (2.0 / 3.0 + w * (-3.0 / 4.0 + w * (4.0 / 5.0 - w * 5.0 / 6.0))));
        return Transformed { y, by_z, by_shape };
    }
    let y = libm::log1p(w) / shape;
    Transformed { y, by_z, by_shape: (z * by_z - y) / shape }
}

/// The value whose transformed value is `y`: (e^{ξy} − 1)/ξ, in units of the scale over the location.
pub(crate) fn inverse(y: f64, shape: f64) -> f64 {
    if (shape * y).abs() < 1e-10 { y * (1.0 + 0.5 * shape * y) } else { libm::expm1(shape * y) / shape }
}

/// The derivative of [`inverse`] by the shape.
pub(crate) fn inverse_by_shape(y: f64, shape: f64) -> f64 {
    let w = shape * y;
    if w.abs() < SMALL {
        return y * y * (0.5 + w * (1.0 / 3.0 + w * (1.0 / 8.0 + w * (1.0 / 30.0 + w / 144.0))));
    }
    (y * libm::exp(w) - libm::expm1(w) / shape) / shape
}

/// y of a value, without derivatives.
pub(crate) fn transformed(z: f64, shape: f64) -> f64 {
    transform(z, shape).y
}

/// A cumulated hazard at one end of a bin, with its gradient: the probability of a bin is the difference of e^−hazard.
#[derive(Clone, Copy, Debug)]
struct Hazard {
    value: f64,
    gradient: Vector,
}

/// −ln(e^−a − e^−b) and its gradient, for hazards a < b; `None` if the bin has no probability.
fn negative_log_of_difference(a: &Hazard, b: &Hazard) -> Option<Value> {
    let distance = b.value - a.value;
    if !(distance > 0.0 && a.value.is_finite()) {
        return None;
    }
    // 1/(e^d − 1), the weight of the change of the distance.
    let weight = 1.0 / libm::expm1(distance);
    let value = a.value - libm::log(-libm::expm1(-distance));
    let gradient = std::array::from_fn(|i| {
        let of_distance = if weight > 0.0 { weight * (b.gradient[i] - a.gradient[i]) } else { 0.0 };
        a.gradient[i] - of_distance
    });
    Some(Value { value, gradient })
}

/// Which of the two distributions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Family {
    Gev,
    Gpd,
}

impl Family {
    /// How many parameters: the shape is the last, so one fewer is the sub-model with ξ = 0.
    pub(crate) fn parameters(self) -> usize {
        match self {
            Self::Gev => 3,
            Self::Gpd => 2,
        }
    }

    /// The location, scale and shape of these parameters.
    pub(crate) fn unpack(self, at: &Vector) -> (f64, f64, f64) {
        match self {
            Self::Gev => (at[0], libm::exp(at[1]), at[2]),
            Self::Gpd => (0.0, libm::exp(at[0]), at[1]),
        }
    }

    /// A gradient by (location, ln scale, ξ) in the order of the parameters.
    fn pack(self, [location, log_scale, shape]: Vector) -> Vector {
        match self {
            Self::Gev => [location, log_scale, shape],
            Self::Gpd => [log_scale, shape, 0.0],
        }
    }

    /// The negative log-likelihood of the sample at these parameters, without its [`Sample::unit_term`]; `None` if a value
    /// is impossible there.
    pub(crate) fn negative_log_likelihood(self, sample: &Sample, at: &Vector) -> Option<Value> {
        let (location, scale, shape) = self.unpack(at);
        if !(LEAST_SHAPE..=MOST_SHAPE).contains(&shape) || !(1e-9..1e9).contains(&scale) {
            return None;
        }
        let mut sum = Value::default();
        // Neighbouring bins share an end.
        let mut shared: Option<(f64, Hazard)> = None;
        for cell in &sample.cells {
            let term = if cell.is_exact {
                self.exact(cell.low, location, scale, shape)?
            } else {
                let low = match shared {
                    Some((end, hazard)) if end == cell.low => hazard,
                    _ => self.hazard(cell.low, location, scale, shape),
                };
                let high = self.hazard(cell.high, location, scale, shape);
                shared = Some((cell.high, high));
                match self {
                    Self::Gev => negative_log_of_difference(&high, &low)?,
                    Self::Gpd => negative_log_of_difference(&low, &high)?,
                }
            };
            sum.value += cell.weight * term.value;
            for (sum, term) in sum.gradient.iter_mut().zip(term.gradient) {
                *sum += cell.weight * term;
            }
        }
        sum.gradient = self.pack(sum.gradient);
        Some(sum)
    }

    /// The negative logarithm of the density at `x`, with its gradient by (location, ln scale, ξ).
    fn exact(self, x: f64, location: f64, scale: f64, shape: f64) -> Option<Value> {
        let z = (x - location) / scale;
        let Transformed { y, by_z, by_shape } = transform(z, shape);
        if y.is_infinite() || (self == Self::Gpd && z < 0.0) {
            return None;
        }
        // GEV: ln scale + (1+ξ) y + e^−y; GPD: ln scale + (1+ξ) y.
        let double_exponential = if self == Self::Gev { libm::exp(-y) } else { 0.0 };
        let by_y = 1.0 + shape - double_exponential;
        Some(Value {
            value: libm::log(scale) + (1.0 + shape) * y + double_exponential,
            gradient: [-by_y * by_z / scale, 1.0 - by_y * by_z * z, y + by_y * by_shape],
        })
    }

    /// −ln P(X ≤ x) of the GEV, which decreases with x, or −ln P(X > x) of the GPD, which increases.
    fn hazard(self, x: f64, location: f64, scale: f64, shape: f64) -> Hazard {
        let z = (x - location) / scale;
        let Transformed { y, by_z, by_shape } = transform(z, shape);
        let (value, by_y) = match self {
            Self::Gev => (libm::exp(-y), -libm::exp(-y)),
            Self::Gpd => (y, 1.0),
        };
        // Far outside, e^−y is infinite; the gradient of such an end has no weight.
        let by_y = if by_y.is_finite() { by_y } else { 0.0 };
        let by_scale = if z.is_finite() { -by_y * by_z * z } else { 0.0 };
        Hazard { value, gradient: [-by_y * by_z / scale, by_scale, by_y * by_shape] }
    }

    /// P(X ≤ x) at these parameters.
    pub(crate) fn below(self, x: f64, location: f64, scale: f64, shape: f64) -> f64 {
        let y = transformed((x - location) / scale, shape);
        match self {
            Self::Gev => libm::exp(-libm::exp(-y)),
            Self::Gpd => -libm::expm1(-y.max(0.0)),
        }
    }

    /// P(X > x) at these parameters; precise for tiny probabilities.
    pub(crate) fn above(self, x: f64, location: f64, scale: f64, shape: f64) -> f64 {
        let y = transformed((x - location) / scale, shape);
        match self {
            Self::Gev => -libm::expm1(-libm::exp(-y)),
            Self::Gpd => libm::exp(-y.max(0.0)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::sample::Cell;
    use super::*;

    fn cell(low: f64, high: f64, weight: f64) -> Cell {
        Cell { low, high, weight, is_exact: low == high }
    }

    fn sample(cells: Vec<Cell>) -> Sample {
        Sample { cells, shift: 0.0, scale: 1.0, count: 0, unit_term: 0.0 }
    }

    #[test]
    fn gradients_are_those_of_the_values() {
        let sample = sample(vec![
            cell(0.0, 0.4, 3.0),
            cell(0.4, 0.9, 5.0),
            cell(0.7, 0.7, 1.0),
            cell(1.5, 2.5, 2.0),
            cell(3.0, f64::INFINITY, 1.0),
        ]);
        for family in [Family::Gev, Family::Gpd] {
            for shape in [-0.1, -1e-5, 0.0, 1e-7, 2e-3, 0.3] {
                let at = if family == Family::Gev { [0.3, -0.2, shape] } else { [0.3, shape, 0.0] };
                let value = |at: &Vector| family.negative_log_likelihood(&sample, at).unwrap();
                let gradient = value(&at).gradient;
                for i in 0..family.parameters() {
                    let (mut up, mut down) = (at, at);
                    up[i] += 1e-5;
                    down[i] -= 1e-5;
                    let numeric = (value(&up).value - value(&down).value) / 2e-5;
                    assert!(
                        (numeric - gradient[i]).abs() < 1e-7,
                        "{family:?} {shape} {i}: {numeric} {}",
                        gradient[i]
                    );
                }
            }
        }
    }

    #[test]
    fn the_bins_of_a_partition_have_probability_one() {
        for family in [Family::Gev, Family::Gpd] {
            for shape in [-0.4, 0.0, 0.4] {
                let low = if family == Family::Gev { -1e6 } else { 0.0 };
                let ends = [low, 0.5, 1.0, 2.0, 4.0, f64::INFINITY];
                let at = if family == Family::Gev { [0.2, 0.1, shape] } else { [0.1, shape, 0.0] };
                let total: f64 = ends
                    .windows(2)
                    .filter_map(|end| {
                        family.negative_log_likelihood(&sample(vec![cell(end[0], end[1], 1.0)]), &at)
                    })
                    .map(|value| libm::exp(-value.value))
                    .sum();
                assert!((total - 1.0).abs() < 1e-12, "{family:?} {shape} {total}");
            }
        }
    }

    #[test]
    fn the_inverse_undoes_the_transformation() {
        for shape in [-0.3, -1e-9, 0.0, 1e-6, 0.5] {
            for y in [1e-3, 0.7, 5.0] {
                assert!((transformed(inverse(y, shape), shape) - y).abs() < 1e-9 * y);
                let numeric = (inverse(y, shape + 1e-5) - inverse(y, shape - 1e-5)) / 2e-5;
                assert!((inverse_by_shape(y, shape) - numeric).abs() < 1e-6 * (1.0 + numeric.abs()));
            }
        }
    }

    #[test]
    fn a_value_outside_the_support_is_impossible() {
        // Bounded above at 1/0.5 = 2.
        assert!(
            Family::Gev
                .negative_log_likelihood(&sample(vec![cell(2.5, 2.5, 1.0)]), &[0.0, 0.0, -0.5])
                .is_none()
        );
        assert!(
            Family::Gpd
                .negative_log_likelihood(&sample(vec![cell(2.5, 3.5, 1.0)]), &[0.0, -0.5, 0.0])
                .is_none()
        );
        assert!(
            Family::Gpd
                .negative_log_likelihood(&sample(vec![cell(1.5, 3.5, 1.0)]), &[0.0, -0.5, 0.0])
                .is_some()
        );
    }
}
