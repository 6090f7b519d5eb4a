//! The Test Anything Protocol, version 14. An undecided requirement is a test that was skipped: TAP has no other state for it.

use super::{Judged, line};
use crate::outcome::Outcome;

/// A test for each judgement.
pub(super) fn text(judged: &[Judged]) -> String {
    let mut out = format!("TAP version 14\n1..{}\n", judged.len());
    for (number, one) in (1..).zip(judged) {
        // A '#' would begin a directive, and a backslash escapes.
        let description = format!("{} {}", one.run, one.demand()).replace('\\', "\\\\").replace('#', "\\#");
        let description: String = description.chars().filter(|c| !c.is_control()).collect();
        let (result, directive) = match one.outcome() {
            Outcome::Passed => ("ok", ""),
            Outcome::Inconclusive => ("ok", " # SKIP inconclusive"),
            Outcome::Failed | Outcome::Invalid => ("not ok", ""),
        };
        out.push_str(&format!("{result} {number} - {description}{directive}\n# {}\n", line(one)));
    }
    out
}
