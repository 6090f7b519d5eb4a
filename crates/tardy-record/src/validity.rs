//! Whether a run's numbers may be used. A run knows, and everything that shows it says so first.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::load::LoadPart;
use crate::run::{Run, State};

/// A load's rate must stay above this share of its own median.
const LEAST_LOAD_SHARE: f64 = 0.5;
/// … over any stretch of this length.
const LOAD_WINDOW_NS: u64 = 10_000_000_000;

/// Whether a run is valid, and what spoilt it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Validity {
    /// Whether nothing spoilt it.
    pub valid: bool,
    /// What spoilt it; empty for a valid run.
    pub spoilt_by: Vec<String>,
    /// What does not spoil it, but limits what may be concluded.
    pub limits: Vec<String>,
}

/// Judges a run by what it holds.
pub fn judge(run: &Run) -> Validity {
    let mut spoilt_by = Vec::new();
    let mut limits = Vec::new();
    for phase in &run.phases {
        spoilt_by.extend(phase.spoilt_by.iter().map(|reason| format!("phase '{}': {reason}", phase.label)));
        for remark in &phase.remarks {
            if !limits.contains(remark) {
                limits.push(remark.clone());
            }
        }
    }
    judge_loads(run, &mut spoilt_by, &mut limits);
    judge_series(run, &mut spoilt_by, &mut limits);
    limits.extend(what_is_missing(run));
    Validity { valid: spoilt_by.is_empty(), spoilt_by, limits }
}

/// That a run did not go on to its end, and how much of it is there; nothing for a complete one.
pub fn what_is_missing(run: &Run) -> Option<String> {
    match run.progress.state {
        State::Complete => None,
        State::Running => Some("the run has not ended".to_owned()),
        State::Interrupted => Some(format!("interrupted: {}", how_much(run))),
        State::CutShort => Some(format!("cut short (killed or power lost): {}", how_much(run))),
    }
}

fn how_much(run: &Run) -> String {
    let progress = &run.progress;
    if progress.planned_ns == 0 {
        return format!("{} cycles are here", progress.cycles);
    }
    let share = progress.measured_ns as f64 / progress.planned_ns as f64 * 100.0;
    format!("{:.1} % of the planned time and {} cycles are here", share.min(100.0), progress.cycles)
}

fn judge_loads(run: &Run, spoilt_by: &mut Vec<String>, limits: &mut Vec<String>) {
    for load in &run.loads {
        limits.extend(load.remarks.iter().map(|remark| format!("load {}: {remark}", load.spec)));
        for part in &load.parts {
            let name = format!("load {} ({})", load.spec, part.name);
            spoilt_by.extend(
                part.deaths.iter().map(|death| {
                    format!("{name} died after {:.1} s: {}", death.at_ns as f64 / 1e9, death.how)
                }),
            );
            for index in load.first_phase..=load.last_phase {
                let Some(phase) = run.phases.get(index) else { continue };
                let end = phase.end_ns.unwrap_or(u64::MAX);
                if let Some(reason) = slackness(part, phase.start_ns, end) {
                    spoilt_by.push(format!("{name} slackened in phase '{}': {reason}", phase.label));
                }
            }
        }
    }
}

/// Why a load's part did too little between `start` and `end`, if it did: dead, idle, or below half of its own
/// median rate over some 10 s. A shorter phase is judged as a whole.
fn slackness(part: &LoadPart, start: u64, end: u64) -> Option<String> {
    let alive_in_phase = part.at_ns.iter().zip(&part.alive).filter(|(at, _)| **at >= start && **at <= end);
    if let Some((at, _)) = alive_in_phase.into_iter().find(|(_, alive)| !**alive) {
        return Some(format!("it was dead at {:.1} s", *at as f64 / 1e9));
    }
    if part.unit.is_empty() {
        return None;
    }
    let rates: Vec<(u64, u64, f64)> =
        part.rates().into_iter().filter(|(from, to, _)| *from < end && *to > start && to > from).collect();
    let (first, last) = (rates.first()?, rates.last()?);
    let work = |rates: &[(u64, u64, f64)]| {
        let seconds: f64 = rates.iter().map(|(from, to, _)| (to - from) as f64 / 1e9).sum();
        let work: f64 = rates.iter().map(|(from, to, rate)| rate * (to - from) as f64 / 1e9).sum();
        work / seconds
    };
    if work(&rates) == 0.0 {
        return Some("it did nothing".to_owned());
    }
    if last.1 - first.0 < 2 * LOAD_WINDOW_NS {
        return None;
    }
    // A part that works in bursts is compared window with window; its single seconds mean nothing.
    let windows: Vec<(u64, f64)> = (0..rates.len())
        .filter_map(|i| {
            let until = rates[i..].iter().position(|(_, to, _)| to - rates[i].0 >= LOAD_WINDOW_NS)?;
            Some((rates[i].0, work(&rates[i..=i + until])))
        })
        .collect();
    let mut sorted: Vec<f64> = if part.bursty {
        windows.iter().map(|(_, rate)| *rate).collect()
    } else {
        rates.iter().map(|(_, _, rate)| *rate).collect()
    };
    sorted.sort_by(f64::total_cmp);
    let median = sorted[sorted.len() / 2];
    let (at, lowest) = windows.iter().min_by(|a, b| a.1.total_cmp(&b.1))?;
    (*lowest < LEAST_LOAD_SHARE * median).then(|| {
        format!(
            "{lowest:.0} {unit}/s over the 10 s from {:.0} s, {:.0} % of its median of {median:.0}",
            *at as f64 / 1e9,
            lowest / median * 100.0,
            unit = part.unit
        )
    })
}

fn judge_series(run: &Run, spoilt_by: &mut Vec<String>, limits: &mut Vec<String>) {
    for series in &run.series {
        let name = format!("{} in phase '{}'", series.label, phase_label(run, series.phase));
        if series.tally.recorded == 0 && run.progress.state == State::Complete {
            spoilt_by.push(format!("{name} recorded nothing"));
        }
        if let Some(dropped) = series.tally.dropped.get().filter(|dropped| *dropped > 0) {
            limits
                .push(format!("{name}: {dropped} cycles were dropped when the run ended while they waited"));
        }
        let Some(timer) = series.timer() else { continue };
        let planned = run.plan.phases.get(series.phase).map(|phase| {
            let crate::plan::ProbePlan::Timer(timer) = &phase.probe;
            timer.policy
        });
        if planned.is_some_and(|policy| policy != timer.policy) {
            limits
                .push(format!("{name} ran as SCHED_{}, not as planned", timer.policy.name().to_uppercase()));
        }
    }
}

fn phase_label(run: &Run, index: usize) -> &str {
    run.phases.get(index).map_or("?", |phase| phase.label.as_str())
}
