//! Which of the observed threads measured which series of the run file, and whether both agree on every wake-up.

use std::collections::BTreeMap;

use tardy_record::Run;
use tardy_record::program::ProgramSeries;
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
    /// Of a program's thread, from one due time to the next, in ns. Cycles that it skipped have numbers too.
    pub interval_ns: Option<u64>,
}

/// Why the observer and the run file disagree.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum Disagreement {
    /// No thread woke up when the series says.
    #[error(
        "no thread that the observer saw has the wake-ups of {0}; the wake-ups that can be explained are those by clock_nanosleep and, of a \
         program, by the other timers that docs/attach.md names"
    )]
    NoThread(String),
    /// A wake-up of the program ended before the kernel's event of it.
    #[error("{0}: the observer saw a wake-up that returned to the program before the event in the run file")]
    Early(String),
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
pub fn measured(observed: &Observed, run: &Run, series: &Series) -> Result<Measured, Disagreement> {
    let phase = &run.phases[series.phase];
    let name = || format!("'{}' in phase '{}'", series.label, phase.label);
    if let SeriesKind::Program(program) = &series.kind {
        return measured_of_program(observed, run, series, program)
            .ok_or_else(|| Disagreement::NoThread(name()))?;
    }
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
    Ok(Measured { pid, origin_ns, readings, interval_ns: None })
}

/// The same for a thread of a program that was watched. The kernel's event of a wake-up comes before the return to the program, which
/// the observer waits for, so that the latencies differ: due times are compared, and no wake-up may be earlier than its event.
fn measured_of_program(
    observed: &Observed,
    run: &Run,
    series: &Series,
    program: &ProgramSeries,
) -> Option<Result<Measured, Disagreement>> {
    let phase = &run.phases[series.phase];
    let thread = program.thread.as_deref()?;
    let readings: BTreeMap<u64, Reading> = (observed.readings.iter())
        .filter(|reading| reading.pid == program.tid)
        .map(|reading| (reading.due_ns, *reading))
        .collect();
    let first = series.worst.first()?;
    let candidates: Vec<u64> = match run.start_monotonic_ns {
        Some(start_ns) => vec![start_ns],
        None => readings.keys().filter_map(|due_ns| due_ns.checked_sub(due_ns_of(first)?)).collect(),
    };
    // Due times are periodic, so that several origins fit a run of a version that did not store it. At the right one the way back to the
    // program takes nearly the same time after each event.
    let with_ways = candidates.into_iter().filter_map(|origin| {
        let ways = series.worst.iter().map(|outlier| {
            let reading = readings.get(&origin.checked_add(due_ns_of(outlier)?)?)?;
            Some(reading.late_ns - outlier.latency_ns)
        });
        let ways: Vec<i64> = ways.collect::<Option<_>>()?;
        let (least, most) = (ways.iter().min()?, ways.iter().max()?);
        Some(((*least < 0, most - least), origin))
    });
    let ((is_early, _), origin_ns) = with_ways.min()?;
    if is_early {
        return Some(Err(Disagreement::Early(format!("'{}' in phase '{}'", series.label, phase.label))));
    }
    // The last one that was counted woke up at the end of the counted time.
    let at = |ns: u64| origin_ns.saturating_add(ns);
    let (from_ns, to_ns) = (at(thread.first_due_ns), at(phase.start_ns.saturating_add(series.counted_ns)));
    let mut readings: Vec<Reading> =
        readings.range(from_ns..to_ns.max(from_ns)).map(|(_, reading)| *reading).collect();
    if thread.has_schedule {
        leave_out_sleeps(&mut readings, thread.interval_ns);
    }
    Some(Ok(Measured { pid: program.tid, origin_ns, readings, interval_ns: Some(thread.interval_ns) }))
}

/// Leaves out wake-ups by other timers within a cycle: cycles of a schedule are not so close to each other.
fn leave_out_sleeps(readings: &mut Vec<Reading>, interval_ns: u64) {
    let mut cycle_ns = None;
    readings.retain(|reading| {
        let is_cycle = cycle_ns.is_none_or(|last_ns: u64| reading.due_ns - last_ns > interval_ns / 4 * 3);
        if is_cycle {
            cycle_ns = Some(reading.due_ns);
        }
        is_cycle
    });
}

/// When a wake-up was due, in ns from the start of the run.
fn due_ns_of(outlier: &Outlier) -> Option<u64> {
    outlier.at_ns.checked_add_signed(outlier.latency_ns.checked_neg()?)
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

#[cfg(test)]
mod tests {
    use tardy_record::facts::Facts;
    use tardy_record::plan::Plan;
    use tardy_record::program::{OWN_TIME_OUT, Timing, WatchedThread};
    use tardy_record::run::{Origin, Phase};
    use tardy_record::series::{Level, Quantity};
    use tardy_record::series_builder::{self, SeriesBuilder};

    use super::*;

    const MS: u64 = 1_000_000;
    const ORIGIN_NS: u64 = 5_000 * MS;
    const TID: u32 = 40;

    fn run(start_monotonic_ns: Option<u64>) -> Run {
        let phase = Phase { label: "program".to_owned(), ..Phase::default() };
        let run = Run::begun(Origin::default(), Plan::default(), Facts::default());
        Run { start_monotonic_ns, phases: vec![phase], ..run }
    }

    /// A program's thread with a cycle each ms from 10 ms on, of which the 30th is `late_ns` late.
    fn series(late_ns: i64) -> Series {
        let mut builder = SeriesBuilder::new(0, Some(MS), 0, &[]);
        for cycle in 0..50u64 {
            let value_ns = if cycle == 30 { late_ns } else { 5_000 + (cycle * 37 % 11) as i64 };
            let at_ns = (10 + cycle) * MS + value_ns.unsigned_abs();
            builder.record(series_builder::Reading { value_ns, at_ns, cycle, missed: 0 });
        }
        let thread = WatchedThread {
            pid: TID,
            policy: None,
            priority: 0,
            wait: "clock_nanosleep, absolute".to_owned(),
            woken_by: OWN_TIME_OUT.to_owned(),
            has_schedule: true,
            interval_ns: MS,
            first_due_ns: 10 * MS,
            slack_ns: 0,
            deadline_ns: MS,
            deadline_misses: 0,
            skipped: 0,
            faults: 0,
            migrations: 0,
            restarts: 0,
            late: Vec::new(),
        };
        let kind = ProgramSeries::of_thread(Timing::WakeUp, TID, Some(Box::new(thread)));
        let kind = SeriesKind::Program(kind);
        builder.series("control".to_owned(), 0, Quantity::Latency, Level::UserThread, kind)
    }

    /// What the observer saw: each return to the program 300 ns after its event, with cycles of the warm-up before.
    fn observed(series: &Series, later_ns: i64) -> Observed {
        let late = |cycle: u64| {
            let known = series.worst.iter().find(|one| one.at_ns / MS == cycle);
            known.map_or(5_000, |one| one.latency_ns) + later_ns
        };
        let reading = |cycle: u64, pid: u32| Reading {
            pid,
            due_ns: ORIGIN_NS + cycle * MS,
            late_ns: late(cycle),
            lag: 40,
            ahead_ns: None,
            switched_ns: 0,
        };
        let readings = (0..70).flat_map(|cycle| [reading(cycle, TID), reading(cycle, 3)]).collect();
        Observed { readings, ..Observed::default() }
    }

    #[test]
    fn a_programs_wakeups_are_found_by_their_due_times() {
        let series = series(90_000);
        for start in [None, Some(ORIGIN_NS)] {
            let found = measured(&observed(&series, 300), &run(start), &series).unwrap();
            assert_eq!((found.pid, found.origin_ns), (TID, ORIGIN_NS));
            assert_eq!(found.readings.len(), 50, "those that were counted");
            let worst = found.readings.iter().max_by_key(|reading| reading.late_ns).unwrap();
            assert_eq!((worst.due_ns, worst.late_ns), (ORIGIN_NS + 40 * MS, 90_300));
        }
        let other = measured(&observed(&series, 300), &run(Some(ORIGIN_NS + 1)), &series);
        assert!(matches!(other, Err(Disagreement::NoThread(_))), "{other:?}");
    }

    #[test]
    fn a_return_before_its_event_is_a_disagreement() {
        let series = series(90_000);
        let error = measured(&observed(&series, -300), &run(None), &series).unwrap_err();
        assert!(matches!(error, Disagreement::Early(_)), "{error}");
        let other = Observed::default();
        let error = measured(&other, &run(None), &series).unwrap_err();
        assert!(matches!(error, Disagreement::NoThread(_)), "{error}");
    }
}
