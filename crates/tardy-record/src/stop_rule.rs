//! A phase that ends when its data decide a claim, instead of after a planned time.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The rule: each phase ends as soon as its data decide whether late wake-ups are as rare as claimed, and at the latest after
/// its planned span.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct StopRule {
    /// The decision that ends a phase.
    pub at: StopAt,
    /// The limit, in ns; a later wake-up is late.
    pub limit_ns: u64,
    /// The claim: the share of late wake-ups on every CPU is at most this. Above 0 and below 1.
    pub probability: f64,
    /// The confidence of the decision; at least 0.5 and below 1.
    pub confidence: f64,
    /// How many wake-ups of one CPU a single event makes late at most, as the user assumes; at least 1. The data cannot show it
    /// before the first event.
    #[serde(default = "one", skip_serializing_if = "is_one")]
    pub cluster: u64,
}

fn one() -> u64 {
    1
}

fn is_one(cluster: &u64) -> bool {
    *cluster == 1
}

impl StopRule {
    /// Whether a phase ends at `decision`.
    pub fn ends_at(&self, decision: Decision) -> bool {
        match self.at {
            StopAt::Supported => decision == Decision::Supported,
            StopAt::Refuted => decision == Decision::Refuted,
            StopAt::Decided => decision != Decision::Undecided,
        }
    }

    /// Which field has a value that no rule can have; `None` if there is none.
    pub(crate) fn wrong_field(&self) -> Option<&'static str> {
        match () {
            () if self.limit_ns == 0 => Some("limit_ns"),
            () if !(self.probability > 0.0 && self.probability < 1.0) => Some("probability"),
            () if !(0.5..1.0).contains(&self.confidence) => Some("confidence"),
            () if self.cluster == 0 => Some("cluster"),
            () => None,
        }
    }
}

/// The decision that ends a phase.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum StopAt {
    /// Late wake-ups are as rare as claimed.
    Supported,
    /// They are not.
    Refuted,
    /// Either.
    Decided,
}

/// What the data show about the claim.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Decision {
    /// Late wake-ups are as rare as claimed on every CPU.
    Supported,
    /// They are not, on at least one CPU.
    Refuted,
    /// Neither is shown.
    Undecided,
}

impl Decision {
    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Supported => "supported",
            Self::Refuted => "refuted",
            Self::Undecided => "undecided",
        }
    }
}

/// How a phase with a rule ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RuledEnd {
    /// What its final counts showed.
    pub decision: Decision,
    /// Whether the rule ended it before its planned end.
    pub early: bool,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_that_no_rule_has_are_found() {
        let rule =
            StopRule { at: StopAt::Decided, limit_ns: 1, probability: 0.1, confidence: 0.95, cluster: 1 };
        assert_eq!(rule.wrong_field(), None);
        assert_eq!(StopRule { limit_ns: 0, ..rule }.wrong_field(), Some("limit_ns"));
        assert_eq!(StopRule { cluster: 0, ..rule }.wrong_field(), Some("cluster"));
        for probability in [0.0, 1.0, -1.0, f64::NAN] {
            assert_eq!(StopRule { probability, ..rule }.wrong_field(), Some("probability"));
        }
        for confidence in [0.4, 1.0, f64::NAN] {
            assert_eq!(StopRule { confidence, ..rule }.wrong_field(), Some("confidence"));
        }
    }
}
