//! The cycles of a program's threads: which series show them, and how a cycle of the run file is found among those that the observer saw.
//!
//! A thread has a series of its wake-ups and one of its responses. Both are of the same cycles.

use std::collections::BTreeMap;
use std::fmt::Write;

use tardy_record::Run;
use tardy_record::explanation::Which;
use tardy_record::program::{DEADLINE, OWN_TIME_OUT, TIMER_SIGNAL, TIMERFD, Timing};
use tardy_record::series::Series;

use crate::matching::Measured;
use crate::observed::{Observed, Reading};

/// A cycle of a thread, by when it was due on the guest's monotonic clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Due {
    /// The thread.
    pub(crate) pid: u32,
    /// When it was due, in ns.
    pub(crate) due_ns: u64,
    /// The time after which no system call belongs to it, in ns; 0 if only the thread's next wake-up shows that.
    pub(crate) ends_ns: u64,
}

/// The calls in which a thread waits for a timerfd.
const FOR_TIMERFD: [&str; 8] =
    ["read", "poll", "ppoll", "select", "pselect6", "epoll_wait", "epoll_pwait", "epoll_pwait2"];

/// Whether the series is of the wake-ups of a program's thread that sleeps by a timer of its own.
pub(crate) fn is_of_wakeups(series: &Series) -> bool {
    let thread = series.program().and_then(|program| program.thread.as_ref());
    let is_explained = thread.is_some_and(|thread| match thread.woken_by.as_str() {
        OWN_TIME_OUT | DEADLINE => true,
        TIMERFD => FOR_TIMERFD.contains(&thread.wait.as_str()),
        TIMER_SIGNAL => thread.wait == "rt_sigtimedwait",
        _ => false,
    });
    is_explained && series.tally.recorded > 0
}

fn is_of_responses(series: &Series) -> bool {
    series.program().is_some_and(|program| program.timing == Timing::Response)
}

/// The series of the wake-ups of the same thread, for a series of wake-ups or responses that can be explained.
pub(crate) fn wakeups_of(run: &Run, series: usize) -> Option<usize> {
    let of_run = &run.series[series];
    if is_of_wakeups(of_run) {
        return Some(series);
    }
    let tid = of_run.program().filter(|_| is_of_responses(of_run) && of_run.tally.recorded > 0)?.tid;
    run.series.iter().position(|one| is_of_wakeups(one) && one.program().is_some_and(|own| own.tid == tid))
}

/// The worst cycle of a series of a program that started at this time.
pub(crate) fn worst(series: &Series, start_ns: u64) -> Option<Due> {
    let (pid, worst) = (series.program()?.tid, series.worst.first()?);
    let at_ns = start_ns.checked_add(worst.at_ns)?;
    let due_ns = at_ns.checked_add_signed(worst.latency_ns.checked_neg()?)?;
    Some(Due { pid, due_ns, ends_ns: if is_of_responses(series) { at_ns } else { 0 } })
}

/// A cycle of a series, with the number that it has in the run; `None` if there is no such cycle. `measured` are the wake-ups of its thread.
pub(crate) fn found(observed: &Observed, series: &Series, measured: &Measured, which: Which) -> Option<Due> {
    let cycles = cycles(observed, series, measured);
    match which {
        Which::Worst => worst(series, measured.origin_ns),
        Which::Cycle(cycle) => {
            cycles.into_iter().map(|(due, _)| due).find(|due| number(measured, due) == Some(cycle))
        }
        Which::Quantile(share) => {
            let mut values: Vec<i64> = cycles.iter().map(|(_, value)| *value).collect();
            values.sort_unstable();
            let wanted = *values.get(rank(values.len() as u64, share) as usize - 1)?;
            cycles.into_iter().find(|(_, value)| *value == wanted).map(|(due, _)| due)
        }
    }
}

/// The number of a cycle in its series, as the run file counts it.
pub(crate) fn number(measured: &Measured, due: &Due) -> Option<u64> {
    let index = measured.readings.iter().position(|reading| reading.due_ns == due.due_ns)?;
    let Some(interval_ns) = measured.interval_ns.filter(|interval_ns| *interval_ns > 0) else {
        return Some(index as u64);
    };
    let pairs = measured.readings[..=index].windows(2);
    let passed = pairs.map(|pair| {
        let periods = (pair[1].due_ns - pair[0].due_ns + interval_ns / 2) / interval_ns;
        periods.max(1)
    });
    Some(passed.sum())
}

/// The cycles of a series in their order, with its value of each as the observer saw it.
fn cycles(observed: &Observed, series: &Series, measured: &Measured) -> Vec<(Due, i64)> {
    let Measured { pid, readings, .. } = measured;
    if !is_of_responses(series) {
        let due = |due_ns| Due { pid: *pid, due_ns, ends_ns: 0 };
        return readings.iter().map(|reading| (due(reading.due_ns), reading.late_ns)).collect();
    }
    let of_thread = observed.responses.iter().filter(|one| one.pid == *pid);
    let ends: BTreeMap<u64, u64> =
        of_thread.map(|one| (one.due_ns, one.due_ns.saturating_add_signed(one.took_ns))).collect();
    let cycle = |(index, reading): (usize, &Reading)| {
        let due_ns = reading.due_ns;
        let next_ns = readings.get(index + 1).map_or(due_ns + 1, |next| next.due_ns);
        // If the thread slept by another timer within the cycle, what followed belongs to it too.
        let (_, ends_ns) = ends.range(due_ns..next_ns).next_back()?;
        Some((Due { pid: *pid, due_ns, ends_ns: *ends_ns }, *ends_ns as i64 - due_ns as i64))
    };
    readings.iter().enumerate().filter_map(cycle).collect()
}

/// The number of the value, from 1, that is the quantile of so many values.
pub(crate) fn rank(total: u64, share: f64) -> u64 {
    ((total as f64 * share).ceil() as u64).clamp(1, total.max(1))
}

/// The observer's order to keep this cycle of a series.
pub(crate) fn order(series: &Series, due: &Due) -> String {
    let Due { pid, due_ns, ends_ns } = due;
    let mut order = String::new();
    let _ = match is_of_responses(series) {
        true => writeln!(order, "cycle {pid:x} {due_ns:x} {ends_ns:x}"),
        false => writeln!(order, "wakeup {pid:x} {due_ns:x}"),
    };
    order
}

#[cfg(test)]
mod tests {
    use tardy_record::program::ProgramSeries;
    use tardy_record::series::{Level, Quantity, SeriesKind};
    use tardy_record::series_builder::{self, SeriesBuilder};

    use super::*;
    use crate::observed::Response;
    use crate::synthetic;

    const US: u64 = 1_000;
    const MS: u64 = 1_000_000;
    const TID: u32 = 9;

    fn series(timing: Timing) -> Series {
        let mut builder = SeriesBuilder::new(0, Some(MS), 0, &[]);
        builder.record(series_builder::Reading { value_ns: 500_000, at_ns: 7 * MS, cycle: 3, missed: 0 });
        let kind = SeriesKind::Program(ProgramSeries::of_thread(timing, TID, None));
        builder.series("control, response".to_owned(), 0, Quantity::Latency, Level::UserThread, kind)
    }

    /// Cycles that were due at 10, 11 and 13 ms. The second one slept by another timer.
    fn seen() -> (Observed, Measured) {
        let readings = [10, 11, 13].map(|ms| synthetic::reading(TID, ms * MS, 5_000)).to_vec();
        let responses =
            [(10 * MS, 90 * US), (11 * MS, 100 * US), (11 * MS + 300 * US, 200 * US), (13 * MS, 95 * US)]
                .map(|(due_ns, took_ns)| Response { pid: TID, due_ns, took_ns: took_ns as i64 })
                .to_vec();
        let observed = Observed { readings: readings.clone(), responses, ..Observed::default() };
        (observed, Measured { pid: TID, origin_ns: 4 * MS, readings, interval_ns: Some(MS) })
    }

    #[test]
    fn a_cycle_ends_after_its_own_sleeps_and_skipped_ones_have_numbers() {
        let (observed, measured) = seen();
        let responses = series(Timing::Response);
        let due = |due_ns, ends_ns| Some(Due { pid: TID, due_ns, ends_ns });
        let find = |which| found(&observed, &responses, &measured, which);
        assert_eq!(find(Which::Cycle(1)), due(11 * MS, 11 * MS + 500 * US));
        assert_eq!(find(Which::Cycle(2)), None, "it was skipped");
        assert_eq!(find(Which::Cycle(3)), due(13 * MS, 13 * MS + 95 * US));
        assert_eq!(find(Which::Quantile(0.5)), due(13 * MS, 13 * MS + 95 * US));
        // The run file has the worst one: 500 us, up to 7 ms after its start.
        assert_eq!(find(Which::Worst), due(10 * MS + 500 * US, 11 * MS));
        assert_eq!(number(&measured, &find(Which::Cycle(3)).unwrap()), Some(3));
        assert_eq!(worst(&responses, u64::MAX), None, "a file that somebody changed");
    }

    #[test]
    fn a_cycle_is_ordered_with_its_end_and_a_wakeup_without() {
        let due = Due { pid: 16, due_ns: 255, ends_ns: 257 };
        assert_eq!(order(&series(Timing::Response), &due), "cycle 10 ff 101\n");
        assert_eq!(order(&series(Timing::WakeUp), &due), "wakeup 10 ff\n");
    }
}
