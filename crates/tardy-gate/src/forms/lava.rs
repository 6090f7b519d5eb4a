//! Signals that LAVA's test shell reads from the output of a test (lava-test-shell's `lava-test-case`). The measurement is the highest
//! value. A signal has no room for a remark; the shell keeps other lines in its log.

use super::{Judged, identifier};
use crate::incomplete;
use crate::outcome::Outcome;

/// A signal for each judgement, behind a line that states what is missing of the run.
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
    // A name of a file must not look like a signal.
    let missing = incomplete::sentence(&one.incomplete).map_or_else(String::new, |missing| {
        format!("# {}: {}\n", identifier(&one.run), missing.replace(['<', '>'], "-"))
    });
    format!("{missing}<LAVA_SIGNAL_TESTCASE TEST_CASE_ID={name} RESULT={result}{measurement}>\n")
}
