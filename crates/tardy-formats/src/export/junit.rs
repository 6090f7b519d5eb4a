//! JUnit XML, as continuous integration shows it: a test suite for the run, a test case for each series, and an error if the run is
//! not complete.

use tardy_record::reason;
use tardy_record::run::State;
use tardy_record::units::format_duration_ns;
use tardy_record::{Run, Series};

use super::{ExportOptions, name, shown};

/// The text of `run`.
pub(super) fn text(run: &Run, options: &ExportOptions) -> String {
    let limit = options.limit_ns.or(run.plan.limit_ns);
    let (mut cases, mut failures, mut errors, mut skipped) = (String::new(), 0, 0, 0);
    for series in shown(run) {
        let seconds = series.counted_ns as f64 / 1e9;
        cases.push_str(&format!(
            "    <testcase classname=\"tardy\" name=\"{}\" time=\"{seconds:.3}\">\n",
            escaped(&name(run, series))
        ));
        let worst = worst(series);
        if !run.validity.valid {
            errors += 1;
            let why = reason::joined(&run.validity.spoilt_by);
            cases.push_str(&format!("      <error message=\"the run is invalid: {}\"/>\n", escaped(&why)));
        } else {
            match (limit, series.max_ns) {
                (Some(limit), Some(max)) if max > i64::try_from(limit).unwrap_or(i64::MAX) => {
                    failures += 1;
                    cases.push_str(&format!(
                        "      <failure message=\"worst {worst}, limit {}\"/>\n",
                        format_duration_ns(limit)
                    ));
                }
                (Some(limit), Some(_)) if series.max_at_least => {
                    errors += 1;
                    cases.push_str(&format!(
                        "      <error message=\"no verdict on the limit of {}: the file does not establish the maximum, which is \
                         {worst}\"/>\n",
                        format_duration_ns(limit)
                    ));
                }
                (Some(_), Some(_)) => {}
                _ => {
                    skipped += 1;
                    let why = if limit.is_none() { "no limit: worst" } else { "nothing recorded:" };
                    cases.push_str(&format!("      <skipped message=\"{why} {worst}\"/>\n"));
                }
            }
        }
        cases.push_str(&format!("      <system-out>worst {worst}</system-out>\n    </testcase>\n"));
    }
    let unfinished = unfinished(run);
    if let Some(why) = unfinished {
        errors += 1;
        cases.push_str(&format!(
            "    <testcase classname=\"tardy\" name=\"the run is complete\">\n      <error message=\"{why}\"/>\n    \
             </testcase>\n"
        ));
    }
    let tests = shown(run).count() + usize::from(unfinished.is_some());
    format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites>\n  <testsuite name=\"{}\" tests=\"{tests}\" \
         failures=\"{failures}\" errors=\"{errors}\" skipped=\"{skipped}\" timestamp=\"{}\" hostname=\"{}\">\n{cases}  \
         </testsuite>\n</testsuites>\n",
        escaped(&run.origin.id),
        escaped(run.origin.started_at.trim_end_matches('Z')),
        escaped(&run.origin.host)
    )
}

/// Why the run says less than was planned; `None` if it is complete. Its series alone would pass.
fn unfinished(run: &Run) -> Option<&'static str> {
    match run.progress.state {
        State::Complete => None,
        State::Running => Some("the run has not ended, or its end was not recorded"),
        State::Interrupted => Some("the run was interrupted"),
        State::CutShort => Some("the run or its file was cut short"),
    }
}

fn worst(series: &Series) -> String {
    match series.max_ns.map(|ns| (ns < 0, format_duration_ns(ns.unsigned_abs()))) {
        None => "nothing".to_owned(),
        Some((true, early)) => format!("{early} early"),
        Some((false, late)) if series.max_at_least => format!("at least {late}"),
        Some((false, late)) => late,
    }
}

/// Text in XML. Characters that XML does not allow become question marks.
fn escaped(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '<' => plain.push_str("&lt;"),
            '>' => plain.push_str("&gt;"),
            '&' => plain.push_str("&amp;"),
            '"' => plain.push_str("&quot;"),
            '\n' | '\t' | '\r' => plain.push(' '),
            other if other.is_control() || ('\u{fffe}'..='\u{ffff}').contains(&other) => plain.push('?'),
            other => plain.push(other),
        }
    }
    plain
}
