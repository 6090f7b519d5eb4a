//! Confidence limits of the share of late readings.
//!
//! Of a run of planned length they are those of Clopper and Pearson (Biometrika 26 (1934) 404). If the data ended the run
//! ([`tardy_record::stop_rule`]), those limits would be wrong too often, for every limit on a latency: the rule looked once per
//! second. Such a run has the [`Sequential`] limits, which are valid at all times together.
//!
//! Where lateness comes in clusters, counts and readings are divided by [`inflation`]. For sequential limits this is an
//! approximation if the factor is estimated from the same data. If the user stated the size of a cluster before the run, it is exact
//! for clusters of that size, and wide for smaller ones.

use serde::{Serialize, Serializer};
use tardy_record::stop_rule::StopRule;
use tardy_record::{Run, Series};
use tardy_statistics::binomial;
use tardy_statistics::duration::Sequential;

use crate::dependence;
use crate::late::Late;

/// The fewest blocks of time whose dispersion is used alone.
const BLOCK_MIN: u64 = 5;

/// What decided how many readings a run has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Length {
    /// The plan, or a user who did not look at the readings.
    Planned,
    /// The readings.
    ByData {
        /// The least size of a cluster of late readings that is allowed for ([`StopRule::cluster`]).
        cluster: u64,
    },
}

impl Length {
    /// What decided the length of the phases of `run`.
    pub fn of(run: &Run) -> Self {
        run.plan.until.as_ref().map_or(Self::Planned, Self::by)
    }

    /// That of a run with this rule.
    pub fn by(rule: &StopRule) -> Self {
        Self::ByData { cluster: rule.cluster }
    }

    /// Whether it is [`Self::Planned`].
    pub fn is_planned(&self) -> bool {
        *self == Self::Planned
    }
}

impl Serialize for Length {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(match self {
            Self::Planned => "planned",
            Self::ByData { .. } => "by_data",
        })
    }
}

/// The factor by which counts and readings of `series` are divided, at least 1: [`dependence::inflation`]. A run that its data end
/// needs one from its first second on. As long as it has too few blocks of time for a dispersion, it is at least the mean number of
/// late readings in a cluster, or one group of late readings would refute every claim. It is never below the cluster that the user
/// stated.
pub fn inflation(series: &Series, late: &Late, limit_ns: u64, length: Length) -> f64 {
    let by_blocks = dependence::inflation(late.dependence);
    let Length::ByData { cluster } = length else { return by_blocks };
    let by_blocks = by_blocks.max(cluster as f64);
    match series.thresholds.iter().find(|count| count.limit_ns == limit_ns) {
        Some(count) if series.counted_ns < count.block_ns.saturating_mul(BLOCK_MIN) && count.clusters > 0 => {
            by_blocks.max(late.at_most as f64 / count.clusters as f64)
        }
        _ => by_blocks,
    }
}

/// The upper limit, which is above the true share with this `confidence`.
pub fn upper(late: &Late, inflation: f64, confidence: f64, length: Length) -> f64 {
    let k = (late.at_most as f64 / inflation).ceil() as u64;
    let n = (late.of as f64 / inflation).floor() as u64;
    let n = n.max(k).max(1);
    match length {
        Length::Planned => binomial::upper_bound(k, n, confidence),
        Length::ByData { .. } => Sequential { count: n, late: k, confidence }.upper_bound(),
    }
}

/// The lower limit, which is below the true share with this `confidence`.
pub fn lower(late: &Late, inflation: f64, confidence: f64, length: Length) -> f64 {
    let k = (late.at_least as f64 / inflation).floor() as u64;
    let n = (late.of as f64 / inflation).ceil() as u64;
    let n = n.max(k).max(1);
    match length {
        Length::Planned => binomial::lower_bound(k, n, confidence),
        Length::ByData { .. } => Sequential { count: n, late: k, confidence }.lower_bound(),
    }
}

/// How many further readings, none of them late, the run needs until its sequential upper limit is at most `allowed`; `None` if
/// the number does not fit.
pub fn needed_if_none_is_late(late: &Late, inflation: f64, allowed: f64, confidence: f64) -> Option<u64> {
    let k = (late.at_most as f64 / inflation).ceil() as u64;
    let needed = Sequential::values_needed(k, allowed, confidence)? as f64 * inflation;
    (needed < 2f64.powi(63)).then_some((needed.ceil() as u64).saturating_sub(late.of))
}

#[cfg(test)]
mod tests {
    use super::*;

    const BY_DATA: Length = Length::ByData { cluster: 1 };

    fn late(count: u64, of: u64) -> Late {
        Late { at_least: count, at_most: count, of, dependence: None }
    }

    #[test]
    fn sequential_limits_are_wider() {
        for (count, of) in [(0, 1_000), (3, 1_000), (50, 1_000)] {
            let late = late(count, of);
            let width = |length| upper(&late, 1.0, 0.95, length) - lower(&late, 1.0, 0.95, length);
            assert!(width(BY_DATA) > width(Length::Planned), "{late:?}");
        }
    }

    #[test]
    fn the_readings_that_are_needed_are_enough() {
        for (count, inflation) in [(0, 1.0), (4, 1.0), (40, 3.5)] {
            let needed = needed_if_none_is_late(&late(count, 500), inflation, 1e-3, 0.95).unwrap();
            let with = |more: u64| upper(&late(count, 500 + more), inflation, 0.95, BY_DATA);
            assert!(with(needed + inflation as u64 + 1) <= 1e-3 * (1.0 + 1e-9), "{count}");
            assert!(with(needed * 19 / 20) > 1e-3, "{count}");
        }
        assert_eq!(needed_if_none_is_late(&late(0, 50_000), 1.0, 1e-3, 0.95), Some(0));
    }
}
