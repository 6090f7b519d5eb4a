//! The rule by which data end a phase (`--until`).

use tardy_record::plan::{PhasePlan, ProbePlan};
use tardy_record::stop_rule::StopRule;

use crate::options::RunOptions;
use crate::usage_error::{UsageError, wrong};
use crate::values::{Confidence, PositiveCount, Probability};

/// The rule of a run with `phases`; `None` if it has none.
pub(super) fn stop_rule(run: &RunOptions, phases: &[PhasePlan]) -> Result<Option<StopRule>, UsageError> {
    let Some(at) = run.until else { return refuse_its_options(run).map(|()| None) };
    let Some(limit) = run.limit else {
        return Err(wrong("until", "nothing is to be decided; add a limit, for example --limit 100us"));
    };
    let is_possible = |phase: &PhasePlan| matches!(phase.probe, ProbePlan::Timer(_) | ProbePlan::Kernel(_));
    if let Some(phase) = phases.iter().find(|phase| !is_possible(phase)) {
        let reason = format!(
            "--probe {} has no wake-ups that are counted against the limit while it runs; use --probe timer or kernel, or \
             remove --until",
            phase.probe.name()
        );
        return Err(wrong("until", reason));
    }
    Ok(Some(StopRule {
        at,
        limit_ns: limit.ns(),
        probability: run.probability.unwrap_or(Probability::DEFAULT).get(),
        confidence: run.confidence.unwrap_or(Confidence::DEFAULT).get(),
        cluster: run.cluster.map_or(1, PositiveCount::get),
    }))
}

/// The claim of a run of planned length is a requirement.
fn refuse_its_options(run: &RunOptions) -> Result<(), UsageError> {
    let given = [
        ("probability", run.probability.is_some()),
        ("confidence", run.confidence.is_some()),
        ("cluster", run.cluster.is_some()),
    ];
    match given.into_iter().find(|(_, is_given)| *is_given) {
        Some((key, _)) => Err(wrong(
            key,
            "only --until uses it; a run of planned length is judged with --require 'P(>100us)<1e-6@95%'",
        )),
        None => Ok(()),
    }
}
