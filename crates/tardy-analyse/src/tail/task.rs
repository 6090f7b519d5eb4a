//! What is estimated, and the level of a time.

use tardy_record::Series;
use tardy_record::series::CHECKPOINT;
use tardy_statistics::extreme::refuse::Circumstances;
use tardy_statistics::extreme::{Fit, Horizon, Model, Reason};

use super::Level;
use crate::quantile::CONFIDENCE;

/// The times that levels are stated for: 10 s to 10 years.
const ROUND_TIMES_S: [u64; 9] =
    [10, 60, 600, 3600, 86_400, 7 * 86_400, 30 * 86_400, 365 * 86_400, 3650 * 86_400];
/// No level is stated for a time longer than this multiple of the measured time.
pub(super) const MOST_EXTRAPOLATION: f64 = 100.0;
/// The confidence of the profile that gives levels of excesses 95 %.
const CONFIDENCE_OF_EXCESSES: f64 = 0.97;
/// Fits are in us: the checks print values.
pub(super) const NS_IN_US: f64 = 1000.0;

/// What is estimated.
pub(super) struct Task<'a> {
    /// The series of a phase.
    pub(super) series: &'a [&'a Series],
    pub(super) measured_ns: u64,
    /// Whether the distribution changed over the slices; `None` if there are too few.
    pub(super) has_changed: Option<bool>,
    pub(super) with_diagnostics: bool,
}

impl Task<'_> {
    pub(super) fn circumstances(&self, missing_share: f64) -> Circumstances {
        let sum = |part: &dyn Fn(&Series) -> Option<u64>| {
            self.series.iter().filter_map(|one| part(one)).fold(0u64, u64::saturating_add) as f64
        };
        let lost = sum(&|one| one.tally.dropped.get()) + sum(&|one| Some(crate::late::unanswered(one)));
        let lost_share = lost / (sum(&|one| Some(one.tally.recorded)) + lost).max(1.0);
        Circumstances {
            lost_share: lost_share.max(missing_share),
            extrapolation: self.extrapolation(self.next_ns()),
            has_phase_change: self.has_changed,
            cause_of_highest: self.cause_of_highest(),
        }
    }

    pub(super) fn extrapolation(&self, once_per_ns: u64) -> f64 {
        once_per_ns as f64 / self.measured_ns as f64
    }

    /// The shortest round time that is longer than the measurement.
    fn next_ns(&self) -> u64 {
        round_times().find(|ns| *ns > self.measured_ns).unwrap_or(self.measured_ns)
    }

    /// What is known to have caused the highest value and not the others: tardy's own reading of kernel files.
    fn cause_of_highest(&self) -> Option<String> {
        let worst = self.series.iter().filter_map(|one| one.worst.first());
        let highest = worst.max_by_key(|one| one.latency_ns)?;
        highest.overlaps.as_ref().map(|watcher| match watcher.as_str() {
            CHECKPOINT => "tardy wrote the run file then".to_owned(),
            watcher => format!("tardy's own {watcher} read kernel files then"),
        })
    }
}

pub(super) fn round_times() -> impl Iterator<Item = u64> {
    ROUND_TIMES_S.into_iter().map(|s| s * 1_000_000_000)
}

/// The level that is exceeded once per `once_per_ns`; `None` if that is shorter than two blocks or rarer values.
pub(super) fn level(
    task: &Task<'_>,
    fit: &Fit,
    once_per_ns: u64,
    horizon: &dyn Fn(f64) -> Result<Horizon, Reason>,
) -> Option<Level> {
    // The threshold is chosen from the values that are fitted, and how they cluster is estimated: at 95 % of the profile, levels of excesses
    // are in their intervals in 92 % of simulated runs.
    let confidence = match fit.model {
        Model::Gpd { .. } | Model::Exponential { .. } => CONFIDENCE_OF_EXCESSES,
        Model::Gev | Model::Gumbel => CONFIDENCE,
    };
    let horizon = horizon(once_per_ns as f64).ok()?;
    let in_ns = |us: f64| (us * NS_IN_US).round() as i64;
    let interval = fit.level_interval(horizon, confidence).ok()?;
    Some(Level {
        once_per_ns,
        level_ns: in_ns(fit.level(horizon).ok()?),
        lower_ns: interval.low.map(in_ns),
        upper_ns: interval.high.map(in_ns),
        extrapolation: task.extrapolation(once_per_ns),
    })
}
