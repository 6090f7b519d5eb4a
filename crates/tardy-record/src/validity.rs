//! Whether a run's numbers can be used. The run stores the result, and every output shows it first.

use crate::plan::{Policy, ProbePlan};
use crate::program::Timing;
use crate::reason::Reason;
use crate::run::{Run, State, Validity};
use crate::series::{Level, Series, SeriesKind};
use crate::units::{counted, format_found_interval_ns};

mod loads;

/// Judges a run by its contents.
pub fn judge(run: &Run) -> Validity {
    let mut spoilt_by = Vec::new();
    let mut limits = Vec::new();
    judge_phases(run, &mut spoilt_by, &mut limits);
    loads::judge(&run.loads, &run.phases, &run.plan.load_floors, &mut spoilt_by, &mut limits);
    judge_series(run, &mut spoilt_by, &mut limits);
    limits.extend(run.samples.as_ref().and_then(|samples| samples.what_is_missing()));
    limits.extend(what_is_missing(run));
    limits.extend(chosen_length(run));
    Validity { valid: spoilt_by.is_empty(), spoilt_by, limits }
}

/// Judges loads alone, for a run with these phases.
pub fn judge_loads(loads: &[crate::load::LoadResult], phases: &[crate::run::Phase]) -> Validity {
    let (mut spoilt_by, mut limits) = (Vec::new(), Vec::new());
    loads::judge(loads, phases, &[], &mut spoilt_by, &mut limits);
    Validity { valid: spoilt_by.is_empty(), spoilt_by, limits }
}

/// Whether all that invalidates a run is that its loads did too little. Its latencies are then those of a weaker load: a limit
/// that they exceed would have been exceeded under the load that was meant as well.
pub fn is_only_of_weaker_loads(run: &Run) -> bool {
    let (mut of_loads, mut limits) = (Vec::new(), Vec::new());
    loads::judge(&run.loads, &run.phases, &run.plan.load_floors, &mut of_loads, &mut limits);
    let reasons = &run.validity.spoilt_by;
    !run.validity.valid && !reasons.is_empty() && reasons.iter().all(|reason| of_loads.contains(reason))
}

/// The policy that the plan has for a measuring thread and the kernel refused; `None` if it refused none.
pub fn refused_policy(run: &Run) -> Option<Policy> {
    run.series.iter().find_map(|series| {
        let plan = &run.plan.phases.get(series.phase)?.probe;
        let (planned, granted) = match (plan, &series.kind) {
            (ProbePlan::Noise(plan), SeriesKind::Gaps(gaps)) => (plan.policy, gaps.policy),
            (ProbePlan::Reaction(plan), SeriesKind::Reaction(reaction)) => (plan.policy, reaction.policy),
            (plan, SeriesKind::Timer(timer)) => (plan.timer()?.policy, timer.policy),
            _ => return None,
        };
        (planned != Policy::Other && granted == Policy::Other).then_some(planned)
    })
}

/// A message that a run did not reach its end, and how much of it there is; `None` for a complete run.
pub fn what_is_missing(run: &Run) -> Option<String> {
    match run.progress.state {
        State::Complete => None,
        State::Running => Some("the run has not ended".to_owned()),
        State::Interrupted => Some(format!("interrupted: {}", how_much(run))),
        State::CutShort if run.is_imported() => {
            Some(format!("cut short (the imported file ends in the middle): {}", how_much(run)))
        }
        State::CutShort => Some(format!("cut short (killed or power lost): {}", how_much(run))),
    }
}

/// The statements that do not hold exactly if the data ended a phase.
fn chosen_length(run: &Run) -> Option<String> {
    let ended_early = run.phases.iter().any(|phase| phase.until.is_some_and(|end| end.early));
    (run.plan.until.is_some() && ended_early).then(|| {
        "a phase ended when its data decided (--until): bounds on the share of late wake-ups allow for that; intervals of \
         quantiles, episodes and levels beyond the run assume a planned length"
            .to_owned()
    })
}

fn how_much(run: &Run) -> String {
    let progress = &run.progress;
    if run.is_imported() {
        // Another tool's cycles are its readings.
        let readings = run.own_series().fold(0u64, |sum, one| sum.saturating_add(one.tally.recorded));
        return included(counted(readings, "reading", "readings"), readings);
    }
    let cycles = counted(progress.cycles, "cycle", "cycles");
    if progress.planned_ns == 0 && progress.measured_ns > 0 {
        let measured = format_found_interval_ns(progress.measured_ns);
        return format!("{measured} and {cycles} are included");
    }
    if progress.planned_ns == 0 {
        return included(cycles, progress.cycles);
    }
    let share = progress.measured_ns as f64 / progress.planned_ns as f64 * 100.0;
    format!("{:.1} % of the planned time and {cycles} are included", share.min(100.0))
}

fn included(what: String, count: u64) -> String {
    format!("{what} {} included", if count == 1 { "is" } else { "are" })
}

fn judge_phases(run: &Run, spoilt_by: &mut Vec<Reason>, limits: &mut Vec<String>) {
    for phase in &run.phases {
        spoilt_by.extend(phase.spoilt_by.iter().map(|reason| reason.in_phase(&phase.label)));
        for remark in &phase.remarks {
            // The refusal is the same in every phase of a run.
            if !limits.contains(remark) {
                limits.push(remark.clone());
            }
        }
    }
}

fn judge_series(run: &Run, spoilt_by: &mut Vec<Reason>, limits: &mut Vec<String>) {
    for series in &run.series {
        let name = format!("{} in phase '{}'", series.label, phase_label(run, series.phase));
        let may_be_empty = series.kind.may_be_empty(series.quantity);
        if series.tally.recorded == 0 && run.progress.state == State::Complete && !may_be_empty {
            let phase = phase_label(run, series.phase).to_owned();
            let reason = Reason::NothingRecorded { series: series.label.clone(), phase };
            match other_threads_have(run, series) {
                true => limits.push(reason.to_string()),
                false => spoilt_by.push(reason),
            }
        }
        // Events lost by the trace are lost at every level; only the lowest level reports them.
        let is_said_below = series.stands_beside() && series.level != Level::Irq;
        if let Some(dropped) = series.tally.dropped.get().filter(|dropped| *dropped > 0 && !is_said_below) {
            limits.push(format!("{name}: {dropped} {}", series.kind.dropped_because()));
        }
        if let Some(lost) = series.gaps().map(|gaps| gaps.times_lost).filter(|lost| *lost > 0) {
            limits.push(format!(
                "{name}: the times of {} were lost because gaps came faster than they could be stored; all counts \
                 include them; a higher --threshold gives fewer gaps",
                counted(lost, "gap", "gaps")
            ));
        }
    }
}

/// Whether other threads of the same program recorded cycles: one may end or lose its period, and they are measured none the less.
fn other_threads_have(run: &Run, series: &Series) -> bool {
    let has_cycles = |other: &Series| {
        let is_thread = other.program().is_some_and(|program| program.timing == Timing::WakeUp);
        is_thread && other.phase == series.phase && other.tally.recorded > 0
    };
    series.program().is_some() && run.series.iter().any(has_cycles)
}

fn phase_label(run: &Run, index: usize) -> &str {
    run.phases.get(index).map_or("?", |phase| phase.label.as_str())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::facts::Facts;
    use crate::plan::Plan;
    use crate::run::Origin;

    #[test]
    fn a_run_without_a_planned_time_states_how_long_it_measured() {
        let mut run = Run::begun(Origin::default(), Plan::default(), Facts::default());
        run.progress.state = State::Interrupted;
        (run.progress.cycles, run.progress.measured_ns) = (2_000, 12_345_678_901);
        let missing = |run: &Run| what_is_missing(run).unwrap();
        assert_eq!(missing(&run), "interrupted: 12.35s and 2000 cycles are included");
        run.progress.planned_ns = 24_691_357_802;
        assert_eq!(missing(&run), "interrupted: 50.0 % of the planned time and 2000 cycles are included");
    }
}
