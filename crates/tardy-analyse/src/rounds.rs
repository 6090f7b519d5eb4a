//! Repetitions of the same phase: how much the maxima of the rounds differ.

use serde::Serialize;
use tardy_record::Run;
use tardy_record::plan::PhasePlan;

use crate::name;

/// The maxima of a repeated phase.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Rounds {
    /// Label of the phase, without the number of the round.
    pub label: String,
    /// Indices of the phases.
    pub phases: Vec<usize>,
    /// The highest value of each round, all CPUs, in ns.
    pub maxima_ns: Vec<i64>,
    /// Lowest of the maxima.
    pub lowest_ns: i64,
    /// Median of the maxima in ns; for an even number the mean of the middle two, rounded down.
    pub median_ns: i64,
    /// Highest of the maxima.
    pub highest_ns: i64,
}

/// The repeated phases of `run`.
pub fn of(run: &Run) -> Vec<Rounds> {
    // The phases of an imported file are levels of the same cycles, not rounds.
    if run.is_imported() {
        return Vec::new();
    }
    let mut groups: Vec<(&PhasePlan, Vec<usize>)> = Vec::new();
    for (index, phase) in run.plan.phases.iter().enumerate().take(run.phases.len()) {
        match groups.iter_mut().find(|(first, _)| same_experiment(first, phase)) {
            Some((_, rounds)) => rounds.push(index),
            None => groups.push((phase, vec![index])),
        }
    }
    let mut all: Vec<Rounds> =
        groups.into_iter().filter_map(|(first, phases)| spread(run, &first.label, &phases)).collect();
    let labels: Vec<String> = all.iter().map(|rounds| rounds.label.clone()).collect();
    let phases: Vec<usize> = all.iter().map(|rounds| rounds.phases[0]).collect();
    for (rounds, label) in all.iter_mut().zip(name::distinct(&labels, &phases)) {
        rounds.label = label;
    }
    all
}

fn same_experiment(a: &PhasePlan, b: &PhasePlan) -> bool {
    (&a.probe, &a.loads, a.span, a.warmup_ns) == (&b.probe, &b.loads, b.span, b.warmup_ns)
}

fn spread(run: &Run, label: &str, phases: &[usize]) -> Option<Rounds> {
    let maximum = |phase: &usize| {
        run.own_series().filter(|series| series.phase == *phase).filter_map(|series| series.max_ns).max()
    };
    let seen: Vec<(usize, i64)> = phases.iter().filter_map(|phase| Some((*phase, maximum(phase)?))).collect();
    if seen.len() < 2 {
        return None;
    }
    let maxima_ns: Vec<i64> = seen.iter().map(|(_, max)| *max).collect();
    let mut sorted = maxima_ns.clone();
    sorted.sort_unstable();
    let middle = sorted.len() / 2;
    let median_ns = if sorted.len() % 2 == 1 {
        sorted[middle]
    } else {
        i64::midpoint(sorted[middle - 1], sorted[middle])
    };
    Some(Rounds {
        label: label.split(", round ").next().unwrap_or(label).to_owned(),
        phases: seen.iter().map(|(phase, _)| *phase).collect(),
        lowest_ns: sorted[0],
        median_ns,
        highest_ns: sorted[sorted.len() - 1],
        maxima_ns,
    })
}
