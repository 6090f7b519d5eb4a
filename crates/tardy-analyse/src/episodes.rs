//! How often a limit is exceeded: episodes per hour, and how rare an event may be that the run did not meet.

use serde::Serialize;
use tardy_record::{Run, Series};
use tardy_statistics::duration;

use crate::name::Readings;
use crate::quantile::CONFIDENCE;

const NS_IN_HOUR: f64 = 3.6e12;

/// Episodes of late wake-ups of a series: late ones close together are one episode.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Episodes {
    /// How many there were.
    pub count: u64,
    /// How many per hour.
    pub per_hour: f64,
    /// Lower end of the 95 % interval of their rate, for episodes at random times.
    pub per_hour_lower: f64,
    /// Upper end.
    pub per_hour_upper: f64,
    /// The longest pause within an episode, in cycles, if the limit was given before the run. `None`: adjacent blocks of
    /// `block_ns` with a late wake-up are one episode.
    pub gap_cycles: Option<u64>,
    /// The length of a block, in ns; 0 if `gap_cycles` is known.
    pub block_ns: u64,
}

/// If more than one in so many blocks has a late wake-up, adjacent ones are too often of different episodes to count them as one: with
/// one in ten, one in ten pairs of independent episodes would be joined.
const ONE_LATE_BLOCK_IN: usize = 10;

/// The episodes of `series` over `limit_ns`. `None` if there were none, if the series has neither the counts nor block maxima, or if
/// too many blocks have a late wake-up to tell episodes apart.
pub fn of(series: &Series, limit_ns: u64) -> Option<Episodes> {
    let declared = series.thresholds.iter().find(|count| count.limit_ns == limit_ns);
    let (count, gap_cycles, block_ns) = match declared {
        Some(declared) => (declared.clusters, Some(declared.cluster_gap_cycles), 0),
        None => (late_spells(series, limit_ns)?, None, series.block_maxima.block_ns),
    };
    let hours = series.counted_ns as f64 / NS_IN_HOUR;
    let (per_hour_lower, per_hour_upper) =
        duration::rate_interval(count, hours, CONFIDENCE).filter(|_| count > 0)?;
    let per_hour = count as f64 / hours;
    Some(Episodes { count, per_hour, per_hour_lower, per_hour_upper, gap_cycles, block_ns })
}

/// How many times a block with a late wake-up follows one without; `None` if too many blocks have one.
fn late_spells(series: &Series, limit_ns: u64) -> Option<u64> {
    let is_late = |max: &Option<i64>| max.is_some_and(|max| i128::from(max) > i128::from(limit_ns));
    let late: Vec<bool> = series.block_maxima.maxima_ns.iter().map(is_late).collect();
    let late_blocks = late.iter().filter(|is_late| **is_late).count();
    let begins =
        late.windows(2).filter(|pair| !pair[0] && pair[1]).count() + usize::from(late.first() == Some(&true));
    (late_blocks * ONE_LATE_BLOCK_IN <= late.len()).then_some(begins as u64)
}

/// What a run may not have met.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Unseen {
    /// The measured time of all phases, in ns.
    pub measured_ns: u64,
    /// The confidence.
    pub confidence: f64,
    /// An event at random times that comes more often than once per this time, in ns, would have come with this confidence.
    pub once_per_ns: u64,
}

/// What `run` may not have met; `None` if its duration is unknown, or it measured no latencies.
pub fn unseen(run: &Run) -> Option<Unseen> {
    let measured_ns = run.progress.measured_ns;
    let is_of_thread =
        |series: &Series| matches!(Readings::of(series), Readings::WakeUps | Readings::Reactions);
    let is_recorded = |series: &Series| series.is_of_wakeups() && series.max_ns.is_some();
    let has_latencies = run.own_series().any(|series| is_of_thread(series) && is_recorded(series));
    let rate = duration::rate_possibly_missed(measured_ns as f64, CONFIDENCE).filter(|_| has_latencies)?;
    Some(Unseen { measured_ns, confidence: CONFIDENCE, once_per_ns: (1.0 / rate).round() as u64 })
}

#[cfg(test)]
mod tests {
    use super::*;
    use tardy_record::series::{Level, Quantity, SeriesKind, TraceSeries, TraceSource};
    use tardy_record::series_builder::{Reading, SeriesBuilder};

    const SECOND: u64 = 1_000_000_000;

    /// An hour with a reading per second, of which these are late.
    fn hour(late: &[u64], thresholds: &[u64]) -> Series {
        let mut builder = SeriesBuilder::new(0, None, 3600 * SECOND, thresholds);
        for cycle in 0..3600 {
            let value_ns = if late.contains(&cycle) { 90_000 } else { 4_000 };
            builder.record(Reading { value_ns, at_ns: cycle * SECOND, cycle, missed: 0 });
        }
        let trace = TraceSeries {
            cpu: 0,
            source: TraceSource::Events,
            interval_ns: SECOND,
            beside: false,
            lost_events: 0,
        };
        let kind = SeriesKind::Trace(trace);
        let mut series = builder.series("cpu 0".into(), 0, Quantity::Latency, Level::UserThread, kind);
        series.counted_ns = 3600 * SECOND;
        series
    }

    #[test]
    fn late_wakeups_close_together_are_one_episode() {
        let late = [100, 101, 102, 2000];
        let declared = of(&hour(&late, &[50_000]), 50_000).unwrap();
        assert_eq!((declared.count, declared.per_hour, declared.gap_cycles), (2, 2.0, Some(10)));
        // Garwood's limits of two events.
        assert!((declared.per_hour_lower - 0.242_21).abs() < 1e-4, "{declared:?}");
        assert!((declared.per_hour_upper - 7.224_69).abs() < 1e-4, "{declared:?}");
        let afterwards = of(&hour(&late, &[]), 50_000).unwrap();
        assert_eq!((afterwards.count, afterwards.gap_cycles), (2, None));
        assert_eq!(afterwards.block_ns, hour(&late, &[]).block_maxima.block_ns);
        assert_eq!(of(&hour(&late, &[]), 100_000), None);
        // With a late wake-up in every second block, blocks do not tell episodes apart.
        let often: Vec<u64> = (0..3600).step_by(12).collect();
        assert_eq!(of(&hour(&often, &[]), 50_000), None);
        assert_eq!(of(&hour(&often, &[50_000]), 50_000).unwrap().count, often.len() as u64);
    }
}
