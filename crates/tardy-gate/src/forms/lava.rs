//! Signals that LAVA's test shell reads from the output of a test (lava-test-shell's `lava-test-case`). The measurement is the highest
//! value.

use super::{Judged, identifier};
use crate::outcome::Outcome;

/// A signal for each judgement.
pub(super) fn text(judged: &[Judged]) -> String {
    judged.iter().map(signal).collect()
}

fn signal(one: &Judged) -> String {
    let result = match one.outcome() {
        Outcome::Passed => "pass",
        Outcome::Failed => "fail",
        Outcome::Inconclusive => "skip",
        Outcome::Invalid => "unknown",
    };
    let name = identifier(&format!("{} {}", one.run, one.demand()));
    let measurement = one.value_us().map_or_else(String::new, |us| format!(" MEASUREMENT={us} UNITS=us"));
    format!("<LAVA_SIGNAL_TESTCASE TEST_CASE_ID={name} RESULT={result}{measurement}>\n")
}
