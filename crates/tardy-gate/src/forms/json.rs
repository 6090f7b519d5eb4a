//! All numbers as JSON.

use serde_json::json;

use super::Judged;
use crate::sentence;

/// An object with the outcome, and every judgement with its run.
pub(super) fn text(judged: &[Judged]) -> String {
    let one = |one: &Judged| {
        json!({
            "run": one.run,
            "id": one.id,
            "kernel": one.kernel,
            "requirement": one.judgement.requirement,
            "outcome": one.judgement.outcome,
            "because": sentence::of(&one.judgement),
            "evidence": one.judgement.evidence,
        })
    };
    let all = json!({ "outcome": super::outcome(judged), "judgements": judged.iter().map(one).collect::<Vec<_>>() });
    serde_json::to_string_pretty(&all).expect("values with text keys are JSON") + "\n"
}
