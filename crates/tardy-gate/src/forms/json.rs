//! All numbers as JSON.

use serde_json::json;

use super::Judged;

/// An object with the outcome, and every judgement with its run.
pub(super) fn text(judged: &[Judged]) -> String {
    let one = |one: &Judged| {
        json!({
            "run": one.run,
            "id": one.id,
            "kernel": one.kernel,
            "requirement": one.demand(),
            "outcome": one.outcome(),
            "because": one.because(),
            "incomplete": one.incomplete,
            "evidence": one.evidence(),
            "same_identity": one.same_identity(),
        })
    };
    let all = json!({ "outcome": super::outcome(judged), "judgements": judged.iter().map(one).collect::<Vec<_>>() });
    serde_json::to_string_pretty(&all).expect("values with text keys are JSON") + "\n"
}
