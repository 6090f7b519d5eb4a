//! What a bisection tested and found.

use std::path::PathBuf;

use serde::Serialize;
use tardy_record::Run;

use crate::Verdict;
use crate::bisection;
use crate::measure::Condition;
use crate::parameters::Change;

/// The result of a search.
#[derive(Clone, Debug, Serialize)]
pub struct Outcome {
    /// The condition that calls a run bad.
    pub condition: String,
    /// What was tested, in the order of the tests.
    pub tested: Vec<Tested>,
    /// The last good candidate and the first bad one, of a search in an ordered list.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub step: Option<Step>,
    /// The smallest set of changes that makes it bad, of a search among differences.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub changes: Option<Vec<Change>>,
}

/// Two adjacent candidates.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Step {
    /// The last good one.
    pub last_good: String,
    /// The first bad one.
    pub first_bad: String,
    /// Those between them that could not be tested.
    pub untestable: Vec<String>,
}

impl Step {
    /// The step that was found among candidates of these names.
    pub fn named(found: &bisection::Found, name: impl Fn(usize) -> String) -> Self {
        Self {
            last_good: name(found.last_good),
            first_bad: name(found.first_bad),
            untestable: found.untestable.iter().map(|at| name(*at)).collect(),
        }
    }
}

/// A candidate that was tested.
#[derive(Clone, Debug, Serialize)]
pub struct Tested {
    /// The kernel or the commit.
    pub kernel: String,
    /// The number that the condition is about; `None` if there is none.
    pub value: Option<f64>,
    /// Good or bad.
    pub verdict: Verdict,
    /// Why it could not be tested.
    pub problem: Option<String>,
    /// The run file.
    pub file: Option<PathBuf>,
    /// Whether it was run now, as opposed to an earlier search.
    pub is_new: bool,
}

impl Tested {
    /// A candidate with its run.
    pub fn judged(kernel: String, condition: &Condition, run: &Run, file: PathBuf, is_new: bool) -> Self {
        let value = condition.measure.of(run);
        let verdict = match &value {
            Ok(value) if condition.is_bad(*value) => Verdict::Bad,
            Ok(_) => Verdict::Good,
            Err(_) => Verdict::Untestable,
        };
        let (value, problem) = (value.clone().ok(), value.err());
        Self { kernel, value, verdict, problem, file: Some(file), is_new }
    }

    /// A candidate that could not be tested.
    pub fn untestable(kernel: String, problem: String) -> Self {
        let verdict = Verdict::Untestable;
        Self { kernel, value: None, verdict, problem: Some(problem), file: None, is_new: true }
    }
}
