//! What a logic analyser's channels did, in words: the same in the terminal and in the report.

use tardy_analyse::captures::{CapturedChannel, Holes};
use tardy_analyse::findings::Findings;
use tardy_analyse::periods::Period;
use tardy_record::capture::ResolvedBy;

use crate::latency::{count, harmless, three_digits, with_unit};
use crate::noise::period_text;

/// More periods of one channel are not told.
const PERIODS_SHOWN: usize = 3;

/// How finely times are known, and each channel's holes.
pub(crate) fn notes(findings: &Findings) -> Vec<String> {
    let Some(first) = findings.captures.first() else { return Vec::new() };
    let mut notes = vec![resolution(first)];
    if findings.captures.iter().any(|one| one.holes.is_some()) {
        notes.push(
            "Period jitter is each period less the median of the 2,048 edges around it; a hole is an edge that is overdue by \
             more than half of the usual width, and as long as it is overdue."
                .to_owned(),
        );
    }
    notes.extend(findings.captures.iter().filter_map(|one| Some(holes(one, one.holes.as_ref()?))));
    notes
}

fn resolution(channel: &CapturedChannel) -> String {
    let within = match channel.resolution_ps {
        ps @ ..1000 => format!("{ps} ps"),
        ps @ ..1_000_000 => format!("{} ns", three_digits(ps as f64 / 1000.0)),
        ps => with_unit(ps as f64 / 1000.0),
    };
    if channel.resolved_by == ResolvedBy::Unstated {
        return "The file does not say how often was sampled: times are known to within a sample, however long that was."
            .to_owned();
    }
    let why = match channel.resolved_by {
        ResolvedBy::SampleRate => "one sample of the analyser's",
        ResolvedBy::TimeScale => "the file's time scale; the analyser may have sampled more coarsely",
        ResolvedBy::Digits | ResolvedBy::Unstated => {
            "the file's last digit; the analyser may have sampled more coarsely"
        }
    };
    format!("Times between edges are known to ±{within}: {why}.")
}

fn holes(channel: &CapturedChannel, holes: &Holes) -> String {
    let name = harmless(&channel.channel);
    let Some(longest_ns) = holes.longest_ns.filter(|_| holes.count > 0) else {
        return format!("{name} has no hole.");
    };
    let several = if holes.count == 1 { "hole" } else { "holes" };
    let first = format!(
        "{name} has {} {several}, the longest of {}",
        count(holes.count),
        with_unit(longest_ns as f64)
    );
    let one = |period: &Period| {
        format!(
            "{} of them every {}, {} long",
            count(period.events),
            period_text(period.period_ns, period.period_error_ns),
            with_unit(period.length_ns as f64)
        )
    };
    let periods: Vec<String> = holes.periods.iter().take(PERIODS_SHOWN).map(one).collect();
    match (periods.is_empty(), holes.count) {
        (true, 1) => format!("{first}."),
        (true, _) => format!("{first}; they have no period."),
        (false, _) => format!("{first}; {}.", periods.join("; ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_resolution_is_shown_as_0() {
        for (resolution_ps, expected) in [
            (1, "±1 ps:"),
            (1000, "±1 ns:"),
            (4167, "±4.17 ns:"),
            (999_999, "±1,000 ns:"),
            (1_000_000, "±1 us:"),
            (41_667_000, "±41.7 us:"),
        ] {
            let channel = CapturedChannel {
                phase: 0,
                channel: "d".to_owned(),
                resolution_ps,
                resolved_by: ResolvedBy::TimeScale,
                rows: Vec::new(),
                holes: None,
            };
            let text = resolution(&channel);
            assert!(text.contains(expected), "{text}");
        }
    }
}
