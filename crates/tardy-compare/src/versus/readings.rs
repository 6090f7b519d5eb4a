//! What was measured in every observation of both groups, and the values of each observation.

use std::collections::BTreeMap;

use tardy_analyse::outcome::{self, DURATION_TOLERANCE, Key};
use tardy_analyse::pool::{self, Pool};
use tardy_analyse::quantile::{self, Level};
use tardy_record::load_spec::LoadSpec;
use tardy_record::series::TraceSource;
use tardy_record::{Run, Series};

use super::boots::Observation;

/// What was measured, so that runs that measured the same are found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Subject {
    /// Latencies.
    Latency(Key),
    /// The kernel's noise under these loads.
    Noise(Vec<LoadSpec>),
}

impl Subject {
    pub(super) fn loads(&self) -> &[LoadSpec] {
        match self {
            Self::Latency(key) => &key.loads,
            Self::Noise(loads) => loads,
        }
    }

    /// Whether it is what a program sees, not a lower level or a trace next to it.
    pub(super) fn is_of_program(&self) -> bool {
        match self {
            Self::Latency(key) => !matches!(key.source, Some(source) if source != TraceSource::CoKernel),
            Self::Noise(_) => true,
        }
    }
}

/// The readings of one subject in one observation.
#[derive(Clone, Debug, Default)]
pub(super) struct Readings<'r> {
    pub(super) series: Vec<&'r Series>,
    /// The measured time of each CPU, in ns.
    pub(super) measured_ns: u64,
    /// Whether missed periods are left out, since what it is compared with does not count them.
    pub(super) without_missed: bool,
}

/// The readings of all subjects of one observation, in their order.
pub(super) fn of_observation<'r>(observation: &Observation<'r>) -> Vec<(Subject, Readings<'r>)> {
    let mut found: Vec<(Subject, Readings<'r>)> = Vec::new();
    for run in &observation.runs {
        for (subject, readings) in of_run(run) {
            match found.iter_mut().find(|(known, _)| *known == subject) {
                Some((_, all)) => {
                    all.series.extend(readings.series);
                    all.measured_ns = all.measured_ns.saturating_add(readings.measured_ns);
                }
                None => found.push((subject, readings)),
            }
        }
    }
    found
}

fn of_run(run: &Run) -> Vec<(Subject, Readings<'_>)> {
    let latency = |outcome: outcome::Outcome| {
        let series = outcome.series.iter().map(|index| &run.series[*index]).collect();
        (
            Subject::Latency(outcome.key),
            Readings { series, measured_ns: outcome.measured_ns, without_missed: false },
        )
    };
    outcome::of(run).into_iter().map(latency).chain(noise_of(run)).collect()
}

fn noise_of(run: &Run) -> Vec<(Subject, Readings<'_>)> {
    let mut found: Vec<(Subject, Readings<'_>)> = Vec::new();
    let mut last_phase = None;
    for series in run.own_series().filter(|series| series.gaps().is_some()) {
        let Some(plan) = run.plan.phases.get(series.phase) else { continue };
        let subject = Subject::Noise(plan.loads.clone());
        let index = found.iter().position(|(known, _)| *known == subject).unwrap_or_else(|| {
            found.push((subject, Readings::default()));
            found.len() - 1
        });
        let readings = &mut found[index].1;
        readings.series.push(series);
        // The CPUs of a phase are measured at the same time.
        if last_phase.replace(series.phase) != Some(series.phase) {
            readings.measured_ns = readings.measured_ns.saturating_add(series.counted_ns);
        }
    }
    found
}

impl Readings<'_> {
    /// All CPUs together; `None` if their histograms do not fit each other.
    pub(super) fn pool(&self) -> Option<Pool> {
        pool_of(&self.series, self.without_missed)
    }

    /// Whether missed periods are counted.
    pub(super) fn counts_missed(&self) -> bool {
        self.series.iter().all(|series| series.corrected.is_some())
    }

    /// The share of the measured time of all CPUs that was lost to noise, from 0 to 1.
    pub(super) fn lost_share(&self) -> Option<f64> {
        let lost: i64 = self.series.iter().map(|series| series.sum_ns.get()).sum::<Option<i64>>()?;
        let counted: u64 = self.series.iter().fold(0, |sum, series| sum.saturating_add(series.counted_ns));
        (counted > 0).then(|| lost as f64 / counted as f64)
    }

    /// The highest value within the first `time_ns` of each CPU; `None` if the file does not tell when its highest values were.
    pub(super) fn worst_within(&self, time_ns: u64) -> Option<i64> {
        let mut of_cpus: BTreeMap<(u32, &str), Vec<&Series>> = BTreeMap::new();
        for series in &self.series {
            of_cpus.entry((series.cpu(), &series.label)).or_default().push(series);
        }
        let worst =
            of_cpus.values().map(|series| worst_of_cpu(series, time_ns)).collect::<Option<Vec<_>>>()?;
        worst.into_iter().max()
    }
}

/// The highest value within the first `time_ns` of the series of one CPU, which follow each other.
fn worst_of_cpu(series: &[&Series], time_ns: u64) -> Option<i64> {
    let mut left_ns = time_ns;
    let mut worst = None;
    for series in series {
        if series.max_at_least {
            return None;
        }
        if series.counted_ns as f64 <= left_ns as f64 * (1.0 + DURATION_TOLERANCE) {
            worst = worst.max(series.max_ns);
            left_ns = left_ns.saturating_sub(series.counted_ns);
        } else {
            let blocks = &series.block_maxima;
            let count = usize::try_from(left_ns.checked_div(blocks.block_ns)?).ok()?;
            let within = blocks.maxima_ns.get(..count).filter(|within| !within.is_empty())?;
            worst = worst.max(within.iter().copied().max().flatten());
            left_ns = 0;
        }
        if left_ns == 0 {
            break;
        }
    }
    worst
}

/// The quantile of a pool, in ns; `None` if there are too few values, or if it is beyond the histogram.
pub(super) fn quantile_ns(pool: &Pool, level: Level) -> Option<f64> {
    if pool.lacks_its_highest {
        return None;
    }
    let quantile = quantile::of(&pool.histogram, level, pool.max_ns, |_| 1.0);
    quantile.value.filter(|value| !value.at_least).map(|value| value.quoted_ns() as f64)
}

/// The quantile of each round of these series of a run, in the order of the rounds; `None` if a round has too few values.
pub(crate) fn value_of_each_round(
    run: &Run,
    series: &[&Series],
    level: Level,
    without_missed: bool,
) -> Option<Vec<f64>> {
    let mut rounds: BTreeMap<u32, Vec<&Series>> = BTreeMap::new();
    for one in series {
        rounds.entry(run.plan.phases.get(one.phase)?.round).or_default().push(one);
    }
    rounds.values().map(|series| quantile_ns(&pool_of(series, without_missed)?, level)).collect()
}

/// Several series together; `None` if their histograms do not fit each other.
fn pool_of(series: &[&Series], without_missed: bool) -> Option<Pool> {
    if !without_missed {
        return pool::of(series).ok();
    }
    let measured: Vec<Series> =
        series.iter().map(|one| Series { corrected: None, ..(*one).clone() }).collect();
    pool::of(&measured.iter().collect::<Vec<_>>()).ok()
}

#[cfg(test)]
mod tests {
    use tardy_record::block_maxima::BlockMaxima;

    use super::*;

    fn series(counted_ns: u64, maxima_ns: &[i64]) -> Series {
        let mut series = crate::versus::made::series("cpu 0", &[(0, 10, 5)], 0);
        series.counted_ns = counted_ns;
        series.max_ns = maxima_ns.iter().copied().max();
        let maxima_ns = maxima_ns.iter().copied().map(Some).collect();
        series.block_maxima = BlockMaxima { start_ns: 0, block_ns: 100, maxima_ns };
        series
    }

    #[test]
    fn a_longer_run_counts_up_to_the_time_of_the_shorter() {
        let (first, second) = (series(300, &[5, 7, 6]), series(400, &[1, 2, 30, 40]));
        let both = Readings { series: vec![&first, &second], ..Readings::default() };
        assert_eq!(both.worst_within(700), Some(40));
        assert_eq!(both.worst_within(500), Some(7));
        assert_eq!(both.worst_within(600), Some(30));
        assert_eq!(both.worst_within(200), Some(7));
        assert_eq!(both.worst_within(50), None, "shorter than a block");
        let imported = series(400, &[]);
        let unknown = Readings { series: vec![&imported], ..Readings::default() };
        assert_eq!(unknown.worst_within(200), None);
    }
}
