//! How a comparison of runs is printed.

use anyhow::Result;
use tardy_analyse::findings;
use tardy_compare::side_by_side::Comparison;
use tardy_present::summary;
use tardy_record::Run;

use crate::{output, published};

/// Prints a comparison. For tests of a switch, the result of each run comes first.
///
/// # Errors
/// If standard output cannot be written.
pub fn print(runs: &[&Run], comparison: &Comparison, json: bool) -> Result<()> {
    if json {
        return output::print_json(comparison);
    }
    for run in runs {
        let findings = findings::of(run, &published::options());
        if let Some(slots) = summary::before_comparison(run, &findings, output::width(), output::colour()) {
            output::print(&(slots + "\n"))?;
        }
    }
    output::print(&tardy_present::compare::text(comparison, output::width()))
}
