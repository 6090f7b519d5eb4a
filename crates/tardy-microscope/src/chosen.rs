//! The wake-ups of a run that are to be explained: which the observer has to keep, and their explanations.

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

use tardy_record::Run;
use tardy_record::explanation::{ExplainedWakeup, Explanation, Which};
use tardy_record::plan::Wake;
use tardy_record::series::{Series, SeriesKind};
use thiserror::Error;

use crate::explanation::Explainer;
use crate::matching::{Disagreement, Measured, measured};
use crate::observed::{Observed, Reading};
use crate::orders::{KernelImage, Unwatchable};
use crate::program_cycles::{self, Due, is_of_wakeups, rank};

/// How measuring threads of timers are called in the guest.
const THREAD: &str = "timer";
/// How many wake-ups more than the planned ones a warm-up may have.
const SPARE_CYCLES: u64 = 1;

/// A wake-up or a cycle that is to be explained.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Chosen {
    /// The index of the series in the run.
    pub series: usize,
    /// Which of its wake-ups.
    pub which: Which,
    sought: Sought,
}

/// How the observer finds it.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Sought {
    /// It is the one that is nearest to so many ns late.
    Late(i64),
    /// It has this number among those of its thread, with those of the warm-up.
    Number(u64),
    /// It is a program's, and was due then.
    Due(Due),
    /// It is a program's, and only when all have been seen it is known when it was due.
    AfterAll,
}

impl Chosen {
    /// Whether the observer can find it. If not, [`located`] gives it its place.
    pub fn is_known(&self) -> bool {
        self.sought != Sought::AfterAll
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

/// The wake-ups of this kind of each series of timers, and of those of a program's threads with their responses, in the phase with this
/// label or in all.
///
/// # Errors
/// If a series has no cycle with the wanted number.
pub fn in_run(run: &Run, phase: Option<&str>, which: Which) -> Result<Vec<Chosen>, Unexplained> {
    let in_phase = |series: &Series| phase.is_none_or(|label| run.phases[series.phase].label == label);
    let all = run.series.iter().enumerate().filter(|(_, series)| in_phase(series));
    let chosen = all.map(|(series, of_run)| {
        let sought = match (is_timer(of_run), program_cycles::wakeups_of(run, series)) {
            (true, _) => timer_sought(run, of_run, which)?,
            (_, Some(_)) => Some(program_sought(run, of_run, which)),
            _ => None,
        };
        Ok(sought.map(|sought| Chosen { series, which, sought }))
    });
    chosen.filter_map(Result::transpose).collect()
}

/// How a wake-up of a timer's series is found; `None` if it has none.
fn timer_sought(run: &Run, series: &Series, which: Which) -> Result<Option<Sought>, Unexplained> {
    Ok(match which {
        Which::Worst => series.worst.first().map(|worst| Sought::Late(worst.latency_ns)),
        Which::Quantile(share) => lateness_at(series, share).map(Sought::Late),
        Which::Cycle(cycle) if cycle >= series.tally.recorded => {
            return Err(no_cycle(run, series, series.tally.recorded, cycle));
        }
        Which::Cycle(cycle) => Some(Sought::Number(cycle.saturating_add(warmup_cycles(run, series)))),
    })
}

/// The run file has the worst cycles of a program, and of the others only how many there were.
fn program_sought(run: &Run, series: &Series, which: Which) -> Sought {
    let worst = || program_cycles::worst(series, run.start_monotonic_ns?);
    let due = if which == Which::Worst { worst() } else { None };
    due.map_or(Sought::AfterAll, Sought::Due)
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
        readings.extend(measured(observed, run, series)?.readings);
    }
    Ok(readings)
}

/// Whether the series is of a timer whose wake-ups the observer can follow.
fn is_timer(series: &Series) -> bool {
    matches!(&series.kind, SeriesKind::Timer(timer) if timer.wake == Wake::ClockNanosleep)
        && series.tally.recorded > 0
}

/// Whether the wake-ups that can be explained are those of a program that was watched.
pub fn is_of_program(run: &Run) -> bool {
    run.series.iter().any(program_cycles::is_of_wakeups)
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

fn warmup_cycles(run: &Run, series: &Series) -> u64 {
    let SeriesKind::Timer(timer) = &series.kind else { return 0 };
    let warmup = run.plan.phases.get(series.phase).map_or(0, |phase| phase.warmup_ns);
    warmup / timer.interval_ns.max(1)
}

/// The observer's orders for these wake-ups.
pub fn orders(chosen: &[Chosen], run: &Run) -> String {
    if is_of_program(run) {
        // All threads are observed: they may have any name.
        return program_orders(chosen, run);
    }
    let mut text = format!("thread {THREAD}\n");
    let late =
        |one: &Chosen| if let Sought::Late(late_ns) = one.sought { Some(late_ns.max(0)) } else { None };
    for target in chosen.iter().filter_map(late).collect::<BTreeSet<i64>>() {
        let _ = writeln!(text, "target {target:x}");
    }
    let number = |one: &Chosen| if let Sought::Number(number) = one.sought { Some(number) } else { None };
    let near = |number: u64| number.saturating_sub(SPARE_CYCLES)..=number.saturating_add(SPARE_CYCLES);
    for number in chosen.iter().filter_map(number).flat_map(near).collect::<BTreeSet<u64>>() {
        let _ = writeln!(text, "ordinal {number:x}");
    }
    text
}

/// The observer's orders for those of these wake-ups and cycles of a program whose place is known.
pub fn program_orders(chosen: &[Chosen], run: &Run) -> String {
    let order = |one: &Chosen| match &one.sought {
        Sought::Due(due) => program_cycles::order(&run.series[one.series], due),
        _ => String::new(),
    };
    chosen.iter().map(order).collect()
}

/// Finds the wake-ups and cycles of programs that are not [known](Chosen::is_known). Without those of series that have no such cycle.
///
/// # Errors
/// If the observer and the run file disagree, or no series has such a cycle.
pub fn located(observed: &Observed, run: &Run, chosen: &[Chosen]) -> Result<Vec<Chosen>, Unexplained> {
    let mut compared = Compared::of(observed, run);
    let mut located = Vec::with_capacity(chosen.len());
    let mut missing = None;
    for one in chosen {
        let measured = compared.series(one.series)?;
        let series = &run.series[one.series];
        match one.sought {
            Sought::AfterAll => match program_cycles::found(observed, series, measured, one.which) {
                Some(due) => located.push(Chosen { sought: Sought::Due(due), ..*one }),
                None => missing = missing.or_else(|| Some(no_such_cycle(run, series, measured, one.which))),
            },
            _ => located.push(*one),
        }
    }
    match missing {
        Some(error) if located.is_empty() => Err(error),
        _ => Ok(located),
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

    /// Those of the series with this index; for a series of responses, those of the same thread.
    fn series(&mut self, index: usize) -> Result<&Measured, Disagreement> {
        let index = program_cycles::wakeups_of(self.run, index).unwrap_or(index);
        Ok(match self.measured.entry(index) {
            Entry::Occupied(known) => known.into_mut(),
            Entry::Vacant(place) => place.insert(measured(self.observed, self.run, &self.run.series[index])?),
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
    let not_kept = |what: String| {
        let phase = run.phases[series.phase].label.clone();
        Unexplained::NotKept { series: series.label.clone(), phase, what }
    };
    let (cycle, explanation) = match chosen.sought {
        Sought::Due(due) => {
            let cycle = program_cycles::number(measured, &due);
            let explanation = explain_due(explainer, observed, series, &due);
            let what =
                || format!("the cycle that was due at {} ns of the guest's monotonic clock", due.due_ns);
            cycle.zip(explanation).ok_or_else(|| not_kept(what()))?
        }
        _ => {
            let found = find(observed, measured, chosen);
            let (cycle, reading) = found.ok_or_else(|| no_such_cycle(run, series, measured, chosen.which))?;
            let wakeup = observed.wakeups.iter().find(|wakeup| wakeup.reading == reading);
            let what = || format!("the wake-up that was {} ns late", reading.late_ns);
            (cycle as u64, explainer.explain(wakeup.ok_or_else(|| not_kept(what()))?))
        }
    };
    let (phase, series) = (run.phases[series.phase].label.clone(), series.label.clone());
    Ok(ExplainedWakeup { phase, series, which: chosen.which, cycle, explanation })
}

/// Explains a wake-up or a cycle of a program; `None` if it was not kept.
fn explain_due(
    explainer: &mut Explainer<'_>,
    observed: &Observed,
    series: &Series,
    due: &Due,
) -> Option<Explanation> {
    let is_it = |reading: &Reading| (reading.pid, reading.due_ns) == (due.pid, due.due_ns);
    if is_of_wakeups(series) {
        let wakeup = observed.wakeups.iter().find(|one| is_it(&one.reading));
        return wakeup.map(|wakeup| explainer.explain(wakeup));
    }
    let cycle = observed.cycles.iter().find(|one| is_it(&one.wakeup.reading));
    cycle.map(|cycle| explainer.explain_cycle(cycle))
}

fn no_such_cycle(run: &Run, series: &Series, measured: &Measured, which: Which) -> Unexplained {
    let cycle = if let Which::Cycle(cycle) = which { cycle } else { 0 };
    no_cycle(run, series, measured.readings.len() as u64, cycle)
}

/// A wake-up of a timer and its number: of equally near ones one that the observer kept, since it keeps only a few of them. They may all be of
/// the warm-up: then it is the nearest of the run that the observer kept.
fn find(observed: &Observed, measured: &Measured, chosen: &Chosen) -> Option<(usize, Reading)> {
    let mut readings = measured.readings.iter().copied().enumerate();
    let target = match (chosen.which, chosen.sought) {
        (Which::Cycle(cycle), _) => return readings.nth(usize::try_from(cycle).ok()?),
        (Which::Worst, _) => measured.readings.iter().map(|reading| reading.late_ns).max()?,
        (Which::Quantile(_), Sought::Late(target)) => target,
        (Which::Quantile(_), _) => return None,
    };
    let distance = |(_, reading): &(usize, Reading)| reading.late_ns.abs_diff(target);
    let is_kept =
        |(_, reading): &(usize, Reading)| observed.wakeups.iter().any(|wakeup| wakeup.reading == *reading);
    let least = readings.clone().map(|one| distance(&one)).min()?;
    let mut nearest = readings.clone().filter(|one| distance(one) == least);
    let in_its_place = || match chosen.which {
        Which::Quantile(_) => readings.filter(is_kept).min_by_key(distance),
        _ => None,
    };
    nearest.clone().find(is_kept).or_else(in_its_place).or_else(|| nearest.next())
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
        let measured = Measured { pid: 7, origin_ns: 0, readings: readings.clone(), interval_ns: None };
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
            let chosen = Chosen { series: 0, which, sought: Sought::Late(9_150) };
            assert_eq!(find(&observed, &measured, &chosen), Some((6, readings[6])));
        }
        // Those at the target are all of the warm-up: the nearest of the run that was kept stands for them.
        let chosen = Chosen { series: 0, which: Which::Quantile(0.5), sought: Sought::Late(9_100) };
        assert_eq!(find(&observed, &measured, &chosen), Some((6, readings[6])));
        let chosen = Chosen { series: 0, which: Which::Cycle(3), sought: Sought::Number(3) };
        assert_eq!(find(&observed, &measured, &chosen), Some((3, readings[3])));
    }
}
