//! Whether a run met its own limits, in one word: for exit statuses, lists and archives.

use serde::{Deserialize, Serialize};
use tardy_record::Run;
use tardy_record::stop_rule::Decision;

use crate::{flows, until, verdict};

/// Whether a run met its own limits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Judgement {
    /// It declares no limit.
    NoLimit,
    /// It met its limit.
    Met,
    /// It exceeded its limit, if only under a load that weakened, or a flow of a switch left its slots or exceeded its limits.
    Exceeded,
    /// Whether it exceeded its limit is unknown.
    Inconclusive,
    /// It is invalid.
    Invalid,
}

impl Judgement {
    /// All judgements.
    pub const ALL: [Self; 5] = [Self::NoLimit, Self::Met, Self::Exceeded, Self::Inconclusive, Self::Invalid];

    /// Its name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::NoLimit => "no-limit",
            Self::Met => "met",
            Self::Exceeded => "exceeded",
            Self::Inconclusive => "inconclusive",
            Self::Invalid => "invalid",
        }
    }
}

/// The judgement of `run`. Of a run that ends when its data decide a claim about its limit, the claim decides.
pub fn of(run: &Run) -> Judgement {
    if !run.validity.valid {
        let exceeded = run.plan.limit_ns.and_then(|limit_ns| verdict::exceeded_nonetheless(run, limit_ns));
        return if exceeded.is_some() { Judgement::Exceeded } else { Judgement::Invalid };
    }
    if let Some(claim) = until::of(run).filter(|claim| run.plan.limit_ns == Some(claim.rule.limit_ns)) {
        return match claim.decision() {
            Decision::Supported => Judgement::Met,
            Decision::Refuted => Judgement::Exceeded,
            Decision::Undecided => Judgement::Inconclusive,
        };
    }
    let verdict = run.plan.limit_ns.and_then(|limit_ns| verdict::of(run, limit_ns));
    match (flows::held(&flows::of(run)), verdict) {
        (Some(false), _) => Judgement::Exceeded,
        (_, Some(verdict)) if verdict.share_of_limit > 1.0 => Judgement::Exceeded,
        (_, Some(verdict)) if verdict.worst_at_least => Judgement::Inconclusive,
        (_, Some(_)) | (Some(true), None) => Judgement::Met,
        (None, None) => Judgement::NoLimit,
    }
}
