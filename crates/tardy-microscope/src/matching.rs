//! Which of the observed threads measured which series of the run file, and whether both agree on every wake-up.

use tardy_record::run::Phase;
use tardy_record::series::{Outlier, Series, SeriesKind};
use thiserror::Error;

use crate::observed::{Observed, Reading};

/// The wake-ups of a series, as the observer saw them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Measured {
    /// The thread.
    pub pid: u32,
    /// The monotonic clock at the start of the run, in ns.
    pub origin_ns: u64,
    /// The wake-ups of the counted part, in their order.
    pub readings: Vec<Reading>,
}

/// Why the observer and the run file disagree.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum Disagreement {
    /// No thread woke up when the series says.
    #[error(
        "no thread that the observer saw has the wake-ups of {0}; only wake-ups by clock_nanosleep can be explained"
    )]
    NoThread(String),
    /// A bin of the histogram has another count.
    #[error(
        "{series}: the run file has {recorded} wake-ups from {from_ns} to {to_ns} ns, the observer saw {seen}"
    )]
    Bin {
        /// The series.
        series: String,
        /// The bin's lower end.
        from_ns: i64,
        /// Its upper end.
        to_ns: i64,
        /// The count in the run file.
        recorded: u64,
        /// The count of the observer.
        seen: u64,
    },
}

/// Finds the series' thread, and compares its wake-ups with the series' histogram, bin for bin.
///
/// # Errors
/// If there is none, or they differ.
pub fn measured(observed: &Observed, series: &Series, phase: &Phase) -> Result<Measured, Disagreement> {
    let name = || format!("'{}' in phase '{}'", series.label, phase.label);
    let mut pids: Vec<u32> = observed.readings.iter().map(|reading| reading.pid).collect();
    pids.sort_unstable();
    pids.dedup();
    let found = pids.into_iter().find_map(|pid| {
        let readings: Vec<Reading> =
            observed.readings.iter().filter(|reading| reading.pid == pid).copied().collect();
        let origin_ns = origin(&readings, &series.worst)?;
        Some((pid, origin_ns, readings))
    });
    let (pid, origin_ns, mut readings) = found.ok_or_else(|| Disagreement::NoThread(name()))?;
    keep_counted(&mut readings, series, origin_ns);
    for bin in series.measured.bins() {
        let seen = readings
            .iter()
            .filter(|reading| bin.lower_ns <= reading.late_ns && reading.late_ns < bin.upper_ns)
            .count();
        if seen as u64 != bin.count {
            let (from_ns, to_ns) = (bin.lower_ns, bin.upper_ns);
            return Err(Disagreement::Bin {
                series: name(),
                from_ns,
                to_ns,
                recorded: bin.count,
                seen: seen as u64,
            });
        }
    }
    Ok(Measured { pid, origin_ns, readings })
}

/// Keeps those of the counted part: from cycle 0, whose time follows from the number of the worst one, as many as were recorded.
fn keep_counted(readings: &mut Vec<Reading>, series: &Series, origin_ns: u64) {
    let SeriesKind::Timer(timer) = &series.kind else { return };
    let Some(worst) = series.worst.first() else { return };
    let due_ns = (origin_ns + worst.at_ns).saturating_add_signed(-worst.latency_ns);
    // Half an interval less, because a plan may move the times a little.
    let first_ns = due_ns.saturating_sub(worst.cycle * timer.interval_ns + timer.interval_ns / 2);
    readings.retain(|reading| reading.due_ns >= first_ns);
    readings.truncate(usize::try_from(series.tally.recorded).unwrap_or(usize::MAX));
}

/// When the clock was read.
fn at_ns(reading: &Reading) -> u64 {
    reading.due_ns.saturating_add_signed(reading.late_ns)
}

/// The time that the run file calls 0, if all its worst wake-ups are among the readings.
fn origin(readings: &[Reading], worst: &[Outlier]) -> Option<u64> {
    let first = worst.first()?;
    let candidates = readings.iter().filter(|reading| reading.late_ns == first.latency_ns);
    candidates.filter_map(|reading| at_ns(reading).checked_sub(first.at_ns)).find(|origin| {
        worst.iter().all(|outlier| {
            let same = |reading: &Reading| {
                reading.late_ns == outlier.latency_ns
                    && at_ns(reading).checked_sub(outlier.at_ns) == Some(*origin)
            };
            readings.iter().any(same)
        })
    })
}
