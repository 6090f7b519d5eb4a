//! Fits of the generalised extreme value and generalised Pareto distributions by maximum likelihood.

mod profile;

use super::likelihood::{Family, inverse, inverse_by_shape};
use super::sample::{Reason, Sample};
use super::{l_moments, likelihood};
use crate::bins::Bin;
use crate::interval::Ends;
use crate::minimise::{Minimum, Vector, minimise};

/// Which distribution was fitted to which values.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Model {
    /// The generalised extreme value distribution, of block maxima.
    Gev,
    /// The GEV with ξ = 0, of block maxima.
    Gumbel,
    /// The generalised Pareto distribution, of values over a threshold.
    Gpd {
        /// The threshold, in the unit of the values.
        threshold: f64,
    },
    /// The GPD with ξ = 0, of values over a threshold.
    Exponential {
        /// The threshold, in the unit of the values.
        threshold: f64,
    },
}

impl Model {
    pub(crate) fn family(self) -> Family {
        match self {
            Self::Gev | Self::Gumbel => Family::Gev,
            Self::Gpd { .. } | Self::Exponential { .. } => Family::Gpd,
        }
    }

    fn has_shape(self) -> bool {
        matches!(self, Self::Gev | Self::Gpd { .. })
    }

    /// How many parameters are estimated.
    pub fn parameters(self) -> usize {
        self.family().parameters() - usize::from(!self.has_shape())
    }
}

/// How far ahead a level is asked for.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Horizon {
    family: Family,
    /// The transformed value y of the level: see the module `likelihood`.
    y: f64,
}

impl Horizon {
    /// The level that the maximum of a block exceeds once in `blocks` blocks on average.
    ///
    /// # Errors
    ///
    /// `blocks` is not above 1.
    pub fn of_blocks(blocks: f64) -> Result<Self, Reason> {
        if !(blocks > 1.0 && blocks.is_finite()) {
            return Err(Reason::HorizonTooShort);
        }
        // −ln(−ln(1 − 1/m)), which keeps its digits for large m.
        Ok(Self { family: Family::Gev, y: -libm::log(-libm::log1p(-1.0 / blocks)) })
    }

    /// The level that is exceeded once in `observations` values on average.
    ///
    /// `share_over_threshold` is the share of all values that exceed the threshold, and `extremal_index` the share of these
    /// that begin a cluster: 1 if values are independent ([`super::extremal_index`]).
    ///
    /// # Errors
    ///
    /// Fewer than one cluster over the threshold is expected, so the level would be below the threshold.
    pub fn of_observations(
        observations: f64,
        share_over_threshold: f64,
        extremal_index: f64,
    ) -> Result<Self, Reason> {
        let clusters = observations * share_over_threshold * extremal_index;
        if !(clusters > 1.0 && clusters.is_finite()) {
            return Err(Reason::HorizonTooShort);
        }
        Ok(Self { family: Family::Gpd, y: libm::log(clusters) })
    }
}

/// A fitted distribution, with the sample that it was fitted to.
#[derive(Clone, Debug)]
pub struct Fit {
    /// The fitted distribution.
    pub model: Model,
    /// The location μ, or the threshold, in the unit of the values.
    pub location: f64,
    /// The scale σ, in the unit of the values.
    pub scale: f64,
    /// The shape ξ; 0 for the sub-models.
    pub shape: f64,
    /// The negative logarithm of the likelihood: of densities for exact values, of probabilities for bins.
    pub negative_log_likelihood: f64,
    /// How many values were fitted.
    pub count: u64,
    pub(super) sample: Sample,
    /// The parameters in the sample's scale, as [`Family`] orders them.
    pub(super) at: Vector,
    /// The negative log-likelihood at `at`, in the sample's scale.
    pub(super) lowest: f64,
}

/// The precision of the log-likelihood of a fit. An error of e moves a parameter by √(2e) of its standard error.
const PRECISION: f64 = 1e-13;

/// Fits block maxima.
///
/// # Errors
///
/// Invalid bins, fewer than three values, values that are all in one bin, or a likelihood without a maximum.
pub fn gev(maxima: &[Bin]) -> Result<Fit, Reason> {
    of_sample(Sample::of_maxima(maxima)?, Model::Gev)
}

/// Fits block maxima with ξ = 0.
///
/// # Errors
///
/// As [`gev`].
pub fn gumbel(maxima: &[Bin]) -> Result<Fit, Reason> {
    of_sample(Sample::of_maxima(maxima)?, Model::Gumbel)
}

/// Fits the values over `threshold`; lower values are left out. The threshold is an end of a bin.
///
/// # Errors
///
/// A bin contains the threshold, or as [`gev`].
pub fn gpd(values: &[Bin], threshold: f64) -> Result<Fit, Reason> {
    of_sample(Sample::of_excesses(values, threshold)?, Model::Gpd { threshold })
}

/// Fits the values over `threshold` with ξ = 0.
///
/// # Errors
///
/// As [`gpd`].
pub fn exponential(values: &[Bin], threshold: f64) -> Result<Fit, Reason> {
    of_sample(Sample::of_excesses(values, threshold)?, Model::Exponential { threshold })
}

/// Fits a prepared sample from several starts, and keeps the highest likelihood: an optimiser that starts at ξ = 0 only may
/// stop in a wrong place (scipy's genextreme.fit does for Port Pirie).
pub(super) fn of_sample(sample: Sample, model: Model) -> Result<Fit, Reason> {
    let family = model.family();
    let free = model.parameters();
    let best = starts(&sample, model)
        .into_iter()
        .filter_map(|start| descend(&sample, family, free, start))
        .min_by(|a, b| a.value.total_cmp(&b.value))
        .ok_or(Reason::NoMaximum)?;
    // Where the search ends, the likelihood still rises.
    if family.unpack(&best.point).2 > likelihood::MOST_SHAPE - 0.01 {
        return Err(Reason::NoMaximum);
    }
    Ok(assemble(sample, model, best))
}

/// Fits a sample from one start only: for simulated samples, whose parameters are known.
pub(super) fn from_start(sample: Sample, model: Model, start: Vector) -> Option<Fit> {
    let best =
        minimise(model.parameters(), start, 1e-7, |at| model.family().negative_log_likelihood(&sample, at))?;
    Some(assemble(sample, model, best))
}

fn assemble(sample: Sample, model: Model, best: Minimum) -> Fit {
    let (location, scale, shape) = model.family().unpack(&best.point);
    Fit {
        model,
        location: sample.in_unit(location),
        scale: sample.scale * scale,
        shape,
        negative_log_likelihood: best.value + sample.unit_term,
        count: sample.count,
        at: best.point,
        lowest: best.value,
        sample,
    }
}

fn descend(sample: &Sample, family: Family, free: usize, start: Vector) -> Option<Minimum> {
    minimise(free, start, PRECISION, |at| family.negative_log_likelihood(sample, at))
}

/// Starts of the search: the L-moments' parameters, and a short and a long tail with the spread of the sample.
fn starts(sample: &Sample, model: Model) -> Vec<Vector> {
    let family = model.family();
    let bins: Vec<Bin> = sample
        .cells
        .iter()
        .map(|cell| Bin { low: cell.low, high: cell.high, count: cell.weight as u64 })
        .collect();
    let moments = l_moments::of(&bins);
    let by_moments = moments.and_then(|moments| match family {
        Family::Gev => l_moments::gev(&moments),
        Family::Gpd => l_moments::gpd(&moments, 0.0),
    });
    let spread = moments.map_or(1.0, |moments| moments.scale.max(1e-6));
    let mut parameters: Vec<(f64, f64, f64)> = Vec::new();
    if let Some(start) = by_moments {
        parameters.push((start.location, start.scale, start.shape.clamp(-0.8, 0.8)));
    }
    for shape in [0.0, 0.3, -0.3] {
        // The standard Gumbel's L-scale is ln 2, the exponential's ½.
        parameters.push((0.0, spread * if family == Family::Gev { 1.5 } else { 2.0 }, shape));
    }
    // A start at which a value is impossible is replaced by one with a larger scale.
    let mut starts: Vec<Vector> = Vec::new();
    for (location, scale, shape) in parameters {
        let shape = if model.has_shape() { shape } else { 0.0 };
        for factor in [1.0, 3.0, 10.0] {
            let start = match family {
                Family::Gev => [location, libm::log(scale * factor), shape],
                Family::Gpd => [libm::log(scale * factor), shape, 0.0],
            };
            if family.negative_log_likelihood(sample, &start).is_some() {
                starts.push(start);
                break;
            }
        }
    }
    starts
}

impl Fit {
    /// P(X ≤ x) for a block maximum, or for a value over the threshold.
    pub fn below(&self, x: f64) -> f64 {
        self.model.family().below(x, self.location, self.scale, self.shape)
    }

    /// P(X > x) for a block maximum, or for a value over the threshold; precise for tiny probabilities.
    pub fn above(&self, x: f64) -> f64 {
        self.model.family().above(x, self.location, self.scale, self.shape)
    }

    /// The x with P(X ≤ x) = `level`, for a level between 0 and 1.
    pub fn quantile(&self, level: f64) -> f64 {
        let y = match self.model.family() {
            Family::Gev => -libm::log(-libm::log(level)),
            Family::Gpd => -libm::log1p(-level),
        };
        self.location + self.scale * inverse(y, self.shape)
    }

    /// The highest possible value, if the tail is bounded (ξ < 0).
    pub fn upper_end(&self) -> Option<f64> {
        (self.shape < 0.0).then(|| self.location - self.scale / self.shape)
    }

    /// The level that is exceeded once in the horizon on average: z = μ − (σ/ξ)[1 − (−ln(1−1/m))^−ξ] of m blocks, or u +
    /// (σ/ξ)[(nζθ)^ξ − 1] of n values.
    ///
    /// # Errors
    ///
    /// The horizon is of the other model.
    pub fn level(&self, horizon: Horizon) -> Result<f64, Reason> {
        if horizon.family != self.model.family() {
            return Err(Reason::HorizonOfOtherModel);
        }
        Ok(self.location + self.scale * inverse(horizon.y, self.shape))
    }

    /// The variances and covariances of the estimates, from the observed information, in the order μ, σ, ξ; those of a
    /// parameter that is not estimated (the threshold, the ξ of a sub-model) are 0. `None` if the likelihood has no regular
    /// maximum, for example at ξ below −½.
    pub fn covariance(&self) -> Option<[[f64; 3]; 3]> {
        let inverse = profile::inverse_information(self)?;
        // From (μ, ln σ, ξ) in the sample's scale.
        let factor = [self.sample.scale, self.scale, 1.0];
        let first = 3 - self.model.family().parameters();
        let mut covariance = [[0.0; 3]; 3];
        for i in 0..self.model.parameters() {
            for j in 0..self.model.parameters() {
                covariance[first + i][first + j] = inverse[i][j] * factor[first + i] * factor[first + j];
            }
        }
        Some(covariance)
    }

    /// The standard errors of μ, σ and ξ: the roots of the variances of [`covariance`](Self::covariance).
    pub fn standard_errors(&self) -> Option<[f64; 3]> {
        let covariance = self.covariance()?;
        Some(std::array::from_fn(|i| covariance[i][i].sqrt()))
    }

    /// The profile-likelihood interval of ξ with this `confidence`, for example 0.95. Both ends are 0 for a sub-model.
    pub fn shape_interval(&self, confidence: f64) -> Ends {
        if self.model.has_shape() {
            profile::of_shape(self, confidence)
        } else {
            Ends { low: Some(0.0), high: Some(0.0) }
        }
    }

    /// The profile-likelihood interval of the level of this horizon with this `confidence`. It does not include the
    /// uncertainty of the share of values over a threshold.
    ///
    /// # Errors
    ///
    /// The horizon is of the other model.
    pub fn level_interval(&self, horizon: Horizon, confidence: f64) -> Result<Ends, Reason> {
        let level = self.level(horizon)?;
        let ends =
            profile::of_level(self, horizon.y, (level - self.sample.shift) / self.sample.scale, confidence);
        let in_unit = |value: f64| self.sample.in_unit(value);
        Ok(Ends { low: ends.low.map(in_unit), high: ends.high.map(in_unit) })
    }

    /// The parameters as the likelihood takes them, at which the level of transformed value `y` is `level` in the sample's
    /// scale, with the derivatives that the chain rule needs. `rest` is (ln scale, ξ) for the GEV and (ξ) for the GPD.
    pub(super) fn with_level(&self, y: f64, level: f64, rest: &Vector) -> Option<(Vector, Vector)> {
        match (self.model.family(), self.model.has_shape()) {
            (Family::Gev, has_shape) => {
                let (scale, shape) = (libm::exp(rest[0]), if has_shape { rest[1] } else { 0.0 });
                let at = [level - scale * inverse(y, shape), rest[0], shape];
                // The location's derivatives by ln scale and ξ.
                let chain = [-scale * inverse(y, shape), -scale * inverse_by_shape(y, shape), 0.0];
                Some((at, chain))
            }
            (Family::Gpd, has_shape) => {
                let shape = if has_shape { rest[0] } else { 0.0 };
                let distance = inverse(y, shape);
                if level <= 0.0 || distance <= 0.0 {
                    return None;
                }
                let at = [libm::log(level / distance), shape, 0.0];
                Some((at, [-inverse_by_shape(y, shape) / distance, 0.0, 0.0]))
            }
        }
    }

    pub(super) fn negative_log_likelihood_at(&self, at: &Vector) -> Option<crate::minimise::Value> {
        likelihood::Family::negative_log_likelihood(self.model.family(), &self.sample, at)
    }
}

#[cfg(test)]
mod tests;
