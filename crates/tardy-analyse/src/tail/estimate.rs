//! Fits, checks and levels.

use tardy_statistics::extreme::refuse::{self, Check, Judgement};
use tardy_statistics::extreme::{Fit, Horizon, Reason, extremal_index};

use super::diagnostics::{self, Diagnostics};
use super::sample::{Blocks, Excesses};
use super::task::{MOST_EXTRAPOLATION, NS_IN_US, Task, level, round_times};
use super::{Checked, Estimate, Fitted, Level, Method, Outcome, Refusal};
use crate::quantile::CONFIDENCE;

/// Levels of shorter times than this share of the measured time are known from the quantiles.
const SHORTEST_SHARE: f64 = 0.05;
/// The simulated samples of the goodness of fit are the same for the same run.
const SEED: u64 = 1;
/// The estimate from block maxima; `None` if the series have none.
pub(super) fn of_maxima(task: &Task<'_>) -> Option<Estimate> {
    let blocks =
        Blocks::recorded(task.series).filter(|blocks| !blocks.maxima_ns.is_empty())?.for_fit(task.series);
    let values = blocks.values();
    let judged = refuse::judge_maxima(&values, &task.circumstances(blocks.missing_share()), SEED);
    let doublings = judged.as_ref().map_or(0, |judgement| judgement.doublings);
    let block_ns = blocks.block_ns.saturating_mul(1 << doublings);
    let method = Method::BlockMaxima {
        block_ns,
        blocks: judged.as_ref().map_or(values.len() as u64, |judgement| judgement.fit.count),
    };
    let horizon = |ns: f64| Horizon::of_blocks(ns / block_ns as f64);
    let diagnose = |fit: &Fit| diagnostics::of_maxima(&values, block_ns, doublings, fit);
    Some(estimate(task, method, judged, &horizon, diagnose))
}

/// The estimate from the highest values.
pub(super) fn of_excesses(task: &Task<'_>) -> Estimate {
    let none = Excesses { threshold_ns: 0, over: 0, of: 0, values: Vec::new() };
    let excesses = Excesses::highest(task.series).unwrap_or(none);
    let Excesses { threshold_ns, over, of, .. } = excesses;
    let index = Blocks::recorded(task.series).and_then(|blocks| {
        let occupied = blocks.occupied_from(threshold_ns);
        extremal_index::blocks(occupied, blocks.maxima_ns.len() as u64, over, of)
    });
    let extremal_index = index.unwrap_or(1.0);
    let threshold = threshold_ns as f64 / NS_IN_US;
    let judged = refuse::judge_excesses(&excesses.values, threshold, &task.circumstances(0.0), SEED);
    let method = Method::Excesses { threshold_ns, over, of, extremal_index };
    let horizon = |ns: f64| {
        let observations = ns / task.measured_ns as f64 * of as f64;
        Horizon::of_observations(observations, over as f64 / of.max(1) as f64, extremal_index)
    };
    let diagnose = |fit: &Fit| diagnostics::of_excesses(task, &excesses, extremal_index, fit);
    estimate(task, method, judged, &horizon, diagnose)
}

fn estimate(
    task: &Task<'_>,
    method: Method,
    judged: Result<Judgement, Reason>,
    horizon: &dyn Fn(f64) -> Result<Horizon, Reason>,
    diagnose: impl Fn(&Fit) -> Diagnostics,
) -> Estimate {
    let judgement = match judged {
        Ok(judgement) => judgement,
        Err(reason) => {
            let found = reason.to_string();
            let checks = vec![Checked {
                check: "fit",
                outcome: Outcome::Refuses,
                reason: found.clone(),
                found,
                help: None,
            }];
            return Estimate {
                method,
                fit: None,
                supported: false,
                checks,
                levels: Vec::new(),
                diagnostics: None,
            };
        }
    };
    let supported = judgement.is_supported();
    let levels = if supported { levels(task, &judgement.fit, horizon) } else { Vec::new() };
    let mut diagnostics = task.with_diagnostics.then(|| diagnose(&judgement.fit));
    if let Some(diagnostics) = diagnostics.as_mut().filter(|_| supported) {
        diagnostics.add_curve(task, &judgement.fit, horizon);
    }
    Estimate {
        method,
        fit: Some(fitted(&judgement.fit)),
        supported,
        checks: judgement.checks.iter().map(checked).collect(),
        levels,
        diagnostics,
    }
}

fn fitted(fit: &Fit) -> Fitted {
    let shape = fit.shape_interval(CONFIDENCE);
    Fitted {
        location_ns: fit.location * NS_IN_US,
        scale_ns: fit.scale * NS_IN_US,
        shape: fit.shape,
        shape_lower: shape.low,
        shape_upper: shape.high,
        upper_end_ns: fit.upper_end().map(|us| us * NS_IN_US),
    }
}

fn checked(check: &Check) -> Checked {
    let outcome = match check.outcome {
        refuse::Outcome::Passes => Outcome::Passes,
        refuse::Outcome::Flags => Outcome::Flags,
        refuse::Outcome::Refuses => Outcome::Refuses,
        refuse::Outcome::NotComputed => Outcome::NotComputed,
    };
    let help = matches!(outcome, Outcome::Flags | Outcome::Refuses).then_some(check.help);
    Checked {
        check: check.kind.name(),
        outcome,
        reason: check.kind.reason().to_owned(),
        found: check.statement.clone(),
        help,
    }
}

fn levels(task: &Task<'_>, fit: &Fit, horizon: &dyn Fn(f64) -> Result<Horizon, Reason>) -> Vec<Level> {
    let is_stated = |ns: &u64| (SHORTEST_SHARE..=MOST_EXTRAPOLATION).contains(&task.extrapolation(*ns));
    round_times().filter(is_stated).filter_map(|ns| level(task, fit, ns, horizon)).collect()
}

/// Why no level is supported. The block maxima decide, since they have the order of time; the highest values must not
/// contradict them.
pub(super) fn refusals(maxima: Option<&Estimate>, excesses: Option<&Estimate>) -> Vec<Refusal> {
    let refusal = |one: &Checked| Refusal {
        check: one.check,
        reason: one.reason.clone(),
        found: one.found.clone(),
        help: one.help,
    };
    let refusals: Vec<Refusal> =
        maxima.or(excesses).into_iter().flat_map(Estimate::refusing).map(refusal).collect();
    match maxima.zip(excesses) {
        Some((maxima, excesses)) if refusals.is_empty() => {
            disagreement(maxima, excesses).into_iter().collect()
        }
        _ => refusals,
    }
}

/// A refusal if the two methods' levels of the same time have intervals without a common value.
fn disagreement(maxima: &Estimate, excesses: &Estimate) -> Option<Refusal> {
    let apart = |a: &Level, b: &Level| matches!((a.upper_ns, b.lower_ns), (Some(upper), Some(lower)) if upper < lower);
    let pairs = maxima.levels.iter().flat_map(|a| excesses.levels.iter().map(move |b| (a, b)));
    let mut same_time = pairs.filter(|(a, b)| a.once_per_ns == b.once_per_ns);
    let (a, b) = same_time.find(|(a, b)| apart(a, b) || apart(b, a))?;
    let us = |ns: i64| ns as f64 / NS_IN_US;
    Some(Refusal {
        check: "two methods",
        reason: "block maxima and highest values contradict each other".to_owned(),
        found: format!(
            "block maxima and highest values lead to different levels, {:.1} and {:.1} us",
            us(a.level_ns),
            us(b.level_ns)
        ),
        help: Some("measure for longer"),
    })
}
