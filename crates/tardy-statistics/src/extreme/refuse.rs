//! Tests that refuse a level that the data do not support.
//!
//! An extreme value distribution can be fitted to anything; its levels mean something only if all values come from one
//! stationary mechanism, and there are enough of them. Each check has its finding, its limit, and what would help. A level
//! is shown only if no check refuses.
//!
//! The limits are calibrated by simulation (`refuse/calibration.rs`): all checks together refuse at most 10 % of samples
//! that have one extreme value distribution, and at least 80 % of mixtures and trends. What no check can find is a mechanism
//! that did not act during the measurement: a run of 30 minutes misses an event of once per hour in 61 % of cases.

#[cfg(test)]
mod calibration;
mod enough;
mod sequence;
mod tail;

use super::fit::{self, Fit};
use super::sample::{Reason, Sample};
use super::{goodness, order};
use crate::bins::Bin;

/// What a check looks at.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
    /// Enough blocks, or values over the threshold.
    Count,
    /// Enough different values to see the form of the distribution.
    DistinctBins,
    /// Few values were lost.
    LostValues,
    /// The conditions did not change during the measurement.
    PhaseChange,
    /// The highest value does not have a cause of its own.
    KnownCause,
    /// The level is not too far beyond the measurement.
    Extrapolation,
    /// The values follow the fitted distribution (Anderson and Darling).
    GoodnessOfFit,
    /// A block's maximum does not predict later ones (Ljung and Box).
    Autocorrelation,
    /// High and low maxima alternate as independent ones do (Wald and Wolfowitz).
    Runs,
    /// The level is constant (Kwiatkowski, Phillips, Schmidt and Shin).
    ConstantLevel,
    /// The first and the second half have the same quantiles.
    Halves,
    /// The tail is not so heavy that one value decides everything.
    Shape,
    /// The shape is the same at higher thresholds or in longer blocks.
    Stability,
    /// The highest value is not far above the rest.
    FarValue,
    /// The highest values have the same tail as the others.
    TailMixture,
    /// The first two thirds predict the last third.
    HoldOut,
}

impl Kind {
    /// Its name for programs.
    pub fn name(self) -> &'static str {
        match self {
            Self::Count => "count",
            Self::DistinctBins => "distinct bins",
            Self::LostValues => "lost values",
            Self::PhaseChange => "constant conditions",
            Self::KnownCause => "known cause",
            Self::Extrapolation => "extrapolation",
            Self::GoodnessOfFit => "goodness of fit",
            Self::Autocorrelation => "autocorrelation",
            Self::Runs => "runs",
            Self::ConstantLevel => "constant level",
            Self::Halves => "halves",
            Self::Shape => "shape",
            Self::Stability => "stability",
            Self::FarValue => "far value",
            Self::TailMixture => "one tail",
            Self::HoldOut => "prediction",
        }
    }

    /// Why no level is supported if the check refuses, in plain words: the end of a sentence.
    pub fn reason(self) -> &'static str {
        match self {
            Self::Count => "there are too few values",
            Self::DistinctBins => "there are too few different values",
            Self::LostValues => "values were lost",
            Self::PhaseChange | Self::ConstantLevel | Self::Halves | Self::HoldOut => {
                "conditions changed during the measurement"
            }
            Self::KnownCause => "the highest value has a separate cause",
            Self::Extrapolation => "it would be too far beyond the measurement",
            Self::GoodnessOfFit | Self::Stability | Self::FarValue | Self::TailMixture => {
                "the highest values do not have one distribution"
            }
            Self::Autocorrelation | Self::Runs => "the highest values depend on each other",
            Self::Shape => "the tail is too heavy",
        }
    }
}

/// The result of a check.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// The data are as they should be.
    Passes,
    /// The level may be shown with this check's statement.
    Flags,
    /// The level must not be shown.
    Refuses,
    /// The data do not contain what the check needs.
    NotComputed,
}

/// One check of a sample.
#[derive(Clone, Debug, PartialEq)]
pub struct Check {
    /// What was checked.
    pub kind: Kind,
    /// The result.
    pub outcome: Outcome,
    /// The number that was computed; `None` if it was not.
    pub found: Option<f64>,
    /// What the number is compared with.
    pub limit: f64,
    /// What was found, as a sentence without a full stop.
    pub statement: String,
    /// What the user can do if the check does not pass.
    pub help: &'static str,
}

impl Check {
    /// A check that was computed; `statement` says what was found.
    fn computed(
        kind: Kind,
        refuses: bool,
        found: f64,
        limit: f64,
        statement: String,
        help: &'static str,
    ) -> Self {
        let outcome = if refuses { Outcome::Refuses } else { Outcome::Passes };
        Self { kind, outcome, found: Some(found), limit, statement, help }
    }

    fn not_computed(kind: Kind, limit: f64, why: &str, help: &'static str) -> Self {
        Self { kind, outcome: Outcome::NotComputed, found: None, limit, statement: why.to_owned(), help }
    }
}

/// What is known about the sample beyond its values.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Circumstances {
    /// The share of values that were lost, from 0 to 1.
    pub lost_share: f64,
    /// The horizon of the level as a multiple of the measured time.
    pub extrapolation: f64,
    /// Whether the load or another condition changed during the measurement; `None` if it is unknown.
    pub has_phase_change: Option<bool>,
    /// A cause of the highest value that the others do not have, for example a system management interrupt.
    pub cause_of_highest: Option<String>,
}

/// A fit with the checks of its sample.
#[derive(Clone, Debug)]
pub struct Judgement {
    /// The fit.
    pub fit: Fit,
    /// How often the length of a block was doubled until maxima were independent: a block of the fit is 2^`doublings` of
    /// those that were given. 0 for a fit over a threshold.
    pub doublings: u32,
    /// Every check, in a fixed order.
    pub checks: Vec<Check>,
}

impl Judgement {
    /// Whether a level may be shown.
    pub fn is_supported(&self) -> bool {
        self.checks.iter().all(|check| check.outcome != Outcome::Refuses)
    }

    /// The checks that refuse.
    pub fn refusals(&self) -> impl Iterator<Item = &Check> {
        self.checks.iter().filter(|check| check.outcome == Outcome::Refuses)
    }
}

/// Above this number of different values, the checks that fit repeatedly use bins of a twentieth of the scale: the
/// estimates then differ by less than a hundredth of a standard error.
const MOST_CELLS: usize = 300;
const CELLS_IN_A_SCALE: f64 = 20.0;

/// How many samples Anderson and Darling's test simulates at most.
const SIMULATED: usize = 199;
/// What helps against a mixture.
const MEASURE_EACH: &str = "find the causes of the highest values, and measure each mechanism on its own";
/// The p-value below which Anderson and Darling's test refuses.
const LEAST_FIT_P: f64 = 0.05;

/// Fits block maxima, given in the order of time, and checks them. If maxima are dependent, blocks are first made longer by
/// joining neighbours, as long as enough remain. The same `seed` gives the same result.
///
/// # Errors
///
/// The maxima cannot be fitted.
pub fn judge_maxima(in_order: &[Bin], circumstances: &Circumstances, seed: u64) -> Result<Judgement, Reason> {
    let (maxima, doublings) = sequence::lengthened(in_order, enough::least_count(circumstances) as usize);
    let fit = fit::gev(&maxima)?;
    let coarse = coarse(&fit);
    let middles: Vec<f64> = maxima.iter().map(Bin::middle).collect();
    let scores = order::normal_scores(&middles);
    let mut checks = enough::checks(&fit, circumstances);
    checks.extend([
        sequence::autocorrelation(&scores),
        sequence::runs(&middles),
        sequence::constant_level(&scores),
        sequence::halves(&middles),
        tail::shape(&fit),
        tail::stability_of_blocks(&maxima, &coarse),
        tail::far_value(&coarse),
        tail::mixture(&coarse),
        sequence::hold_out(&maxima),
    ]);
    checks.push(goodness_of_fit(&coarse, &checks, seed));
    Ok(Judgement { fit, doublings, checks })
}

/// Fits the values over a threshold and checks them. The order of values is not known, so the checks that need it are not
/// computed; block maxima have it. The same `seed` gives the same result.
///
/// # Errors
///
/// The values cannot be fitted.
pub fn judge_excesses(
    values: &[Bin],
    threshold: f64,
    circumstances: &Circumstances,
    seed: u64,
) -> Result<Judgement, Reason> {
    let fit = fit::gpd(values, threshold)?;
    let coarse = coarse(&fit);
    let mut checks = enough::checks(&fit, circumstances);
    checks.extend(sequence::not_computed());
    checks.extend([
        tail::shape(&fit),
        tail::stability_of_thresholds(&coarse),
        tail::far_value(&coarse),
        tail::mixture(&coarse),
    ]);
    checks.push(goodness_of_fit(&coarse, &checks, seed));
    Ok(Judgement { fit, doublings: 0, checks })
}

/// The only check that simulates samples, and therefore not computed if one of the `others` refuses.
fn goodness_of_fit(fit: &Fit, others: &[Check], seed: u64) -> Check {
    if others.iter().any(|check| check.outcome == Outcome::Refuses) {
        return Check::not_computed(Kind::GoodnessOfFit, LEAST_FIT_P, "another check refuses", MEASURE_EACH);
    }
    let found = goodness::bootstrap(fit, SIMULATED, seed);
    Check::computed(
        Kind::GoodnessOfFit,
        found.p < LEAST_FIT_P,
        found.p,
        LEAST_FIT_P,
        format!(
            "Anderson and Darling's distance from the fit is {:.3}; a sample of the fitted distribution has such a distance with \
             probability {:.3}",
            found.statistic, found.p
        ),
        MEASURE_EACH,
    )
}

/// `probability 0.25`, or `a probability below 0.001`.
fn probability(p: f64) -> String {
    if p < 0.001 { "a probability below 0.001".to_owned() } else { format!("probability {p:.3}") }
}

/// The fit of the sample in coarser bins if it has very many different values.
fn coarse(fit: &Fit) -> Fit {
    if fit.sample.cells.len() <= MOST_CELLS {
        return fit.clone();
    }
    let sample = fit.sample.in_bins(fit.scale / fit.sample.scale / CELLS_IN_A_SCALE);
    fit::from_start(sample, fit.model, fit.at).unwrap_or_else(|| fit.clone())
}

/// A fit of a changed sample; `None` if it has no maximum.
fn refit(sample: Sample, like: &Fit) -> Option<Fit> {
    fit::from_start(sample.clone(), like.model, like.at).or_else(|| fit::of_sample(sample, like.model).ok())
}
