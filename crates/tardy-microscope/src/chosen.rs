//! The wake-ups of a run that are to be explained: which the observer has to keep, and their explanations.

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

use tardy_record::Run;
use tardy_record::explanation::{ExplainedWakeup, Which};
use tardy_record::plan::Wake;
use tardy_record::program::{DEADLINE, OWN_TIME_OUT, TIMER_SIGNAL, TIMERFD};
use tardy_record::series::{Series, SeriesKind};
use thiserror::Error;

use crate::explanation::Explainer;
use crate::matching::{Disagreement, Measured, measured};
use crate::observed::{Observed, Reading};
use crate::orders::{KernelImage, Unwatchable};

/// How measuring threads of timers are called in the guest.
const THREAD: &str = "timer";
/// How many wake-ups more than the planned ones a warm-up may have.
const SPARE_CYCLES: u64 = 1;

/// A wake-up that is to be explained.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Chosen {
    /// The index of the series in the run.
    pub series: usize,
    /// Which of its wake-ups.
    pub which: Which,
    /// How late it was, as far as the run file shows; `None` if it is found by its number.
    late_ns: Option<i64>,
    /// The number of wake-ups of the thread before it, with those of the warm-up; `None` if it is found by its lateness, or not known
    /// yet.
    ordinal: Option<u64>,
}

impl Chosen {
    /// Whether the observer can find it. How many wake-ups of a program came before its cycles were counted is
    /// only known when all have been seen: then [`numbered`] gives it its number.
    pub fn is_known(&self) -> bool {
        self.late_ns.is_some() || self.ordinal.is_some()
    }
}

/// Why a wake-up cannot be explained.
#[derive(Debug, Error)]
pub enum Unexplained {
    /// The observer saw something else than the run file says.
    #[error(transparent)]
    Disagreement(#[from] Disagreement),
    /// The wake-up is not among those that were kept.
    #[error("'{series}' in phase '{phase}': {what} was not kept by the observer")]
    NotKept {
        /// The series.
        series: String,
        /// The phase.
        phase: String,
        /// The wake-up.
        what: String,
    },
    /// The series has no such cycle.
    #[error("'{series}' in phase '{phase}' has {count} cycles, and none with the number {cycle}")]
    NoCycle {
        /// The series.
        series: String,
        /// The phase.
        phase: String,
        /// Its cycles.
        count: u64,
        /// The cycle.
        cycle: u64,
    },
    /// The kernel cannot be watched.
    #[error(transparent)]
    Kernel(#[from] Unwatchable),
}

/// The wake-ups of this kind of each series of timers or of a program's threads, in the phase with this label or in all.
///
/// # Errors
/// If a series has no cycle with the wanted number.
pub fn in_run(run: &Run, phase: Option<&str>, which: Which) -> Result<Vec<Chosen>, Unexplained> {
    let in_phase = |series: &Series| phase.is_none_or(|label| run.phases[series.phase].label == label);
    let can_be = |series: &Series| is_timer(series) || is_program(series);
    let all = run.series.iter().enumerate().filter(|(_, series)| in_phase(series) && can_be(series));
    let chosen = all.map(|(series, of_run)| {
        let by_lateness = |late_ns: Option<i64>| late_ns.map(|late_ns| (Some(late_ns), None));
        let found = match which {
            Which::Worst => by_lateness(of_run.worst.first().map(|worst| worst.latency_ns)),
            Which::Quantile(_) | Which::Cycle(_) if is_program(of_run) => Some((None, None)),
            Which::Quantile(share) => by_lateness(lateness_at(of_run, share)),
            Which::Cycle(cycle) if cycle >= of_run.tally.recorded => {
                return Err(no_cycle(run, of_run, of_run.tally.recorded, cycle));
            }
            Which::Cycle(cycle) => Some((None, Some(cycle.saturating_add(warmup_cycles(run, of_run))))),
        };
        Ok(found.map(|(late_ns, ordinal)| Chosen { series, which, late_ns, ordinal }))
    });
    chosen.filter_map(Result::transpose).collect()
}

fn no_cycle(run: &Run, series: &Series, count: u64, cycle: u64) -> Unexplained {
    let phase = run.phases[series.phase].label.clone();
    Unexplained::NoCycle { series: series.label.clone(), phase, count, cycle }
}

/// The measured wake-ups of all series of timers.
///
/// # Errors
/// If the observer and the run file disagree.
pub fn all_measured(observed: &Observed, run: &Run) -> Result<Vec<Reading>, Disagreement> {
    let mut readings = Vec::new();
    for series in run.series.iter().filter(|series| is_timer(series)) {
        readings.extend(measured(observed, series, &run.phases[series.phase])?.readings);
    }
    Ok(readings)
}

/// Whether the series is of a timer whose wake-ups the observer can follow.
fn is_timer(series: &Series) -> bool {
    matches!(&series.kind, SeriesKind::Timer(timer) if timer.wake == Wake::ClockNanosleep)
        && series.tally.recorded > 0
}

/// The calls in which a thread waits for a timerfd.
const FOR_TIMERFD: [&str; 8] =
    ["read", "poll", "ppoll", "select", "pselect6", "epoll_wait", "epoll_pwait", "epoll_pwait2"];

/// Whether the series is of the wake-ups of a program's thread that sleeps by a timer of its own.
fn is_program(series: &Series) -> bool {
    let thread = series.program().and_then(|program| program.thread.as_ref());
    let is_explained = thread.is_some_and(|thread| match thread.woken_by.as_str() {
        OWN_TIME_OUT | DEADLINE => true,
        TIMERFD => FOR_TIMERFD.contains(&thread.wait.as_str()),
        TIMER_SIGNAL => thread.wait == "rt_sigtimedwait",
        _ => false,
    });
    is_explained && series.tally.recorded > 0
}

/// Whether the wake-ups that can be explained are those of a program that was watched.
pub fn is_of_program(run: &Run) -> bool {
    run.series.iter().any(is_program)
}

/// A value in the bin of the quantile.
fn lateness_at(series: &Series, share: f64) -> Option<i64> {
    let bins = series.measured.bins();
    let rank = rank(series.measured.total(), share);
    let mut below = 0;
    bins.iter().find_map(|bin| {
        below += bin.count;
        (below >= rank).then(|| bin.lower_ns + (bin.upper_ns - bin.lower_ns) / 2)
    })
}

/// The number of the value, from 1, that is the quantile of so many values.
fn rank(total: u64, share: f64) -> u64 {
    ((total as f64 * share).ceil() as u64).clamp(1, total.max(1))
}

fn warmup_cycles(run: &Run, series: &Series) -> u64 {
    let SeriesKind::Timer(timer) = &series.kind else { return 0 };
    let warmup = run.plan.phases.get(series.phase).map_or(0, |phase| phase.warmup_ns);
    warmup / timer.interval_ns.max(1)
}

/// A time on the guest's monotonic clock before which no wake-up of these threads was counted, so that those of the warm-up take no room.
fn counted_from_ns(chosen: &[Chosen], run: &Run) -> u64 {
    let threads = chosen
        .iter()
        .filter_map(|one| run.series[one.series].program().and_then(|program| program.thread.as_ref()));
    let first_ns = threads.map(|thread| thread.first_due_ns).min().unwrap_or(0);
    // tardy starts when the guest is idle.
    run.lab.as_ref().map_or(0, |lab| lab.settled.settled_at_ns + first_ns)
}

/// The observer's orders for these wake-ups.
pub fn orders(chosen: &[Chosen], run: &Run) -> String {
    // Of a program all threads are observed: they may have any name.
    let mut text = match is_of_program(run) {
        true => format!("from {:x}\n", counted_from_ns(chosen, run)),
        false => format!("thread {THREAD}\n"),
    };
    let mut targets: Vec<i64> = chosen.iter().filter_map(|one| one.late_ns).collect();
    targets.sort_unstable();
    targets.dedup();
    for target in targets {
        let _ = writeln!(text, "target {:x}", target.max(0));
    }
    text + &ordinals(chosen)
}

/// The observer's orders for those of these wake-ups that are found by their numbers.
pub fn ordinals(chosen: &[Chosen]) -> String {
    let near = |ordinal: u64| ordinal.saturating_sub(SPARE_CYCLES)..=ordinal.saturating_add(SPARE_CYCLES);
    let ordinals: BTreeSet<u64> = chosen.iter().filter_map(|one| one.ordinal).flat_map(near).collect();
    ordinals.into_iter().map(|ordinal| format!("ordinal {ordinal:x}\n")).collect()
}

/// Gives the wake-ups of programs that are not [known](Chosen::is_known) their numbers. Without those of series that have no such cycle.
///
/// # Errors
/// If the observer and the run file disagree, or no series has such a cycle.
pub fn numbered(observed: &Observed, run: &Run, chosen: &[Chosen]) -> Result<Vec<Chosen>, Unexplained> {
    let mut compared = Compared::of(observed, run);
    let mut number = |one: &Chosen| {
        if one.is_known() {
            return Ok(*one);
        }
        let (_, reading) = found(observed, run, compared.series(one.series)?, one)?;
        let of_thread = observed.readings.iter().filter(|other| other.pid == reading.pid);
        let before = of_thread.take_while(|other| **other != reading).count();
        Ok(Chosen { ordinal: Some(before as u64), ..*one })
    };
    let mut numbered = Vec::with_capacity(chosen.len());
    let mut missing = None;
    for one in chosen {
        match number(one) {
            Ok(one) => numbered.push(one),
            Err(error @ Unexplained::NoCycle { .. }) => missing = missing.or(Some(error)),
            Err(error) => return Err(error),
        }
    }
    match missing {
        Some(error) if numbered.is_empty() => Err(error),
        _ => Ok(numbered),
    }
}

/// Explains the wake-ups. Compares all wake-ups of their series with the run file first.
///
/// # Errors
/// If the observer and the run file disagree, or a wake-up was not kept.
pub fn explain(
    kernel: &KernelImage,
    observed: &Observed,
    run: &Run,
    chosen: &[Chosen],
) -> Result<Vec<ExplainedWakeup>, Unexplained> {
    let mut explainer = Explainer::of(kernel, observed)?;
    let mut compared = Compared::of(observed, run);
    let mut explained = Vec::with_capacity(chosen.len());
    for one in chosen {
        let measured = compared.series(one.series)?;
        explained.push(explain_one(&mut explainer, observed, run, measured, one)?);
    }
    Ok(explained)
}

/// The wake-ups of the series that were compared with the run file, each once.
struct Compared<'a> {
    observed: &'a Observed,
    run: &'a Run,
    measured: BTreeMap<usize, Measured>,
}

impl<'a> Compared<'a> {
    fn of(observed: &'a Observed, run: &'a Run) -> Self {
        Self { observed, run, measured: BTreeMap::new() }
    }

    /// Those of the series with this index.
    fn series(&mut self, index: usize) -> Result<&Measured, Disagreement> {
        Ok(match self.measured.entry(index) {
            Entry::Occupied(known) => known.into_mut(),
            Entry::Vacant(place) => {
                let series = &self.run.series[index];
                place.insert(measured(self.observed, series, &self.run.phases[series.phase])?)
            }
        })
    }
}

fn explain_one(
    explainer: &mut Explainer<'_>,
    observed: &Observed,
    run: &Run,
    measured: &Measured,
    chosen: &Chosen,
) -> Result<ExplainedWakeup, Unexplained> {
    let series = &run.series[chosen.series];
    let phase = &run.phases[series.phase];
    let names = || (series.label.clone(), phase.label.clone());
    let (cycle, reading) = found(observed, run, measured, chosen)?;
    let wakeup = observed.wakeups.iter().find(|wakeup| wakeup.reading == reading).ok_or_else(|| {
        let (series, phase) = names();
        let what = format!("the wake-up that was {} ns late", reading.late_ns);
        Unexplained::NotKept { series, phase, what }
    })?;
    let explanation = explainer.explain(wakeup);
    let (series, phase) = names();
    Ok(ExplainedWakeup { phase, series, which: chosen.which, cycle: cycle as u64, explanation })
}

/// The wake-up and its number.
fn found(
    observed: &Observed,
    run: &Run,
    measured: &Measured,
    chosen: &Chosen,
) -> Result<(usize, Reading), Unexplained> {
    find(observed, measured, chosen).ok_or_else(|| {
        let cycle = if let Which::Cycle(cycle) = chosen.which { cycle } else { 0 };
        no_cycle(run, &run.series[chosen.series], measured.readings.len() as u64, cycle)
    })
}

/// The same: of equal ones the first that the observer kept, since it keeps only a few of them.
fn find(observed: &Observed, measured: &Measured, chosen: &Chosen) -> Option<(usize, Reading)> {
    let mut readings = measured.readings.iter().copied().enumerate();
    let late = measured.readings.iter().map(|reading| reading.late_ns);
    let late_ns = match (chosen.which, chosen.late_ns) {
        (Which::Cycle(cycle), _) => return readings.nth(usize::try_from(cycle).ok()?),
        (Which::Worst, _) => late.max()?,
        // The observer kept those nearest to the middle of the bin.
        (Which::Quantile(_), Some(target)) => late.min_by_key(|late| late.abs_diff(target))?,
        (Which::Quantile(share), None) => {
            let mut sorted: Vec<i64> = late.collect();
            sorted.sort_unstable();
            *sorted.get(rank(sorted.len() as u64, share) as usize - 1)?
        }
    };
    let mut equal = readings.filter(|(_, reading)| reading.late_ns == late_ns);
    let is_kept =
        |(_, reading): &(usize, Reading)| observed.wakeups.iter().any(|wakeup| wakeup.reading == *reading);
    equal.clone().find(is_kept).or_else(|| equal.next())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::observed::Wakeup;
    use crate::task::Task;

    fn reading(cycle: u64, late_ns: i64) -> Reading {
        Reading {
            pid: 7,
            due_ns: cycle * 1_000_000,
            late_ns,
            lag: 40,
            ahead_ns: None,
            switched_ns: late_ns - 500,
        }
    }

    /// While nothing else runs, many wake-ups are equally late, and the observer keeps a few of them.
    #[test]
    fn of_equal_wakeups_one_that_was_kept_is_explained() {
        let readings: Vec<Reading> =
            (0..9).map(|cycle| reading(cycle, if cycle % 2 == 0 { 9_150 } else { 9_100 })).collect();
        let measured = Measured { pid: 7, origin_ns: 0, readings: readings.clone() };
        let task = Task { address: 1, pid: 7, name: "timer/0".to_owned() };
        let kept = [6, 8].map(|cycle: usize| Wakeup {
            task: task.clone(),
            reading: readings[cycle],
            blocks: Vec::new(),
            woken: None,
            switches: Vec::new(),
        });
        let observed = Observed { wakeups: kept.to_vec(), ..Observed::default() };
        for which in [Which::Worst, Which::Quantile(0.99)] {
            let chosen = Chosen { series: 0, which, late_ns: Some(9_150), ordinal: None };
            assert_eq!(find(&observed, &measured, &chosen), Some((6, readings[6])));
        }
        let chosen = Chosen { series: 0, which: Which::Cycle(3), late_ns: None, ordinal: Some(3) };
        assert_eq!(find(&observed, &measured, &chosen), Some((3, readings[3])));
    }
}
