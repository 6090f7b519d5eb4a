//! The outcome of a judgement.

use serde::Serialize;

/// The outcome of a judgement. The order is that of importance: of several outcomes, the highest counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Outcome {
    /// The requirement is met, with its confidence.
    Passed,
    /// The run is too short to decide.
    Inconclusive,
    /// The requirement is violated, with its confidence.
    Failed,
    /// The run is invalid, or has no readings that the requirement is about.
    Invalid,
}

impl Outcome {
    /// Its name, as in JSON.
    pub fn name(self) -> &'static str {
        match self {
            Self::Passed => "passed",
            Self::Inconclusive => "inconclusive",
            Self::Failed => "failed",
            Self::Invalid => "invalid",
        }
    }

    /// The outcome of several judgements: [`Self::Passed`] if there are none.
    pub fn of_all(outcomes: impl IntoIterator<Item = Self>) -> Self {
        outcomes.into_iter().max().unwrap_or(Self::Passed)
    }
}
