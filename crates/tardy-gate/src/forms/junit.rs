//! JUnit XML: a test suite for each run, a test case for each requirement. An undecided requirement is skipped, an invalid run is an
//! error.

use tardy_plot::svg::escaped;

use super::Judged;
use crate::outcome::Outcome;

/// A document with all suites.
pub(super) fn text(judged: &[Judged]) -> String {
    let suites: String = judged.chunk_by(|a, b| a.run == b.run).map(suite).collect();
    format!("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites>\n{suites}</testsuites>\n")
}

fn suite(of_run: &[Judged]) -> String {
    let number = |outcome| of_run.iter().filter(|one| one.outcome() == outcome).count();
    let cases: String = of_run.iter().map(case).collect();
    let timestamp = of_run[0].started_at.trim_end_matches('Z');
    let timestamp =
        if timestamp.is_empty() { String::new() } else { format!(" timestamp=\"{}\"", escaped(timestamp)) };
    format!(
        "  <testsuite name=\"{}\" tests=\"{}\" failures=\"{}\" errors=\"{}\" skipped=\"{}\"{timestamp}>\n{cases}  </testsuite>\n",
        escaped(&of_run[0].run),
        of_run.len(),
        number(Outcome::Failed),
        number(Outcome::Invalid),
        number(Outcome::Inconclusive),
    )
}

fn case(one: &Judged) -> String {
    let seconds = one.counted_ns().map_or(0.0, |ns| ns as f64 / 1e9);
    let because = escaped(&one.because());
    let result = match one.outcome() {
        Outcome::Passed => format!("<system-out>{because}</system-out>"),
        Outcome::Failed => format!("<failure message=\"{because}\"/>"),
        Outcome::Inconclusive => format!("<skipped message=\"{because}\"/>"),
        Outcome::Invalid => format!("<error message=\"{because}\"/>"),
    };
    let name = escaped(&one.demand());
    format!("    <testcase classname=\"tardy\" name=\"{name}\" time=\"{seconds:.3}\">{result}</testcase>\n")
}
