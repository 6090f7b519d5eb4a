//! Channels of a logic analyser.

use tardy_analyse::captures::{CapturedChannel, Holes};
use tardy_analyse::name::Readings;
use tardy_analyse::periods::Period;
use tardy_analyse::phases::PhaseFindings;
use tardy_record::Run;
use tardy_record::capture::ResolvedBy;
use tardy_record::plan::{PhasePlan, ProbeKind};

use crate::section::{Context, Measurement, Planned, Section};
use tardy_plot::numbers::{count, counted, harmless, period_text, three_digits, with_unit};
use tardy_plot::terms::Terms;

/// The largest number of periods that are shown for one channel.
const PERIODS_SHOWN: usize = 3;

const JITTER: &str = "Period jitter is each period less the median of the 2,048 edges around it. A hole is an edge that is \
                      overdue by more than half of the usual width; its length is how long the edge is overdue.";

/// Terms for intervals between edges.
const WORDS: Terms = Terms {
    distribution: "Intervals between edges",
    quantity: "length",
    tail: "Tail of the distribution",
    exceeding: "at least as long as each length",
    degree: "long",
    axis: "interval between edges, µs",
    peak: "longest interval between edges",
    values: "lengths",
    more: "longer",
    pooled: "all intervals",
};

/// Channels of a logic analyser.
pub struct Captures;

impl Section for Captures {
    fn name(&self) -> &'static str {
        "captures"
    }

    /// Notes on the resolution of times and on each channel's holes.
    fn notes(&self, context: &Context<'_>) -> Vec<String> {
        let captures = &context.findings.captures;
        let Some(first) = captures.first() else { return Vec::new() };
        let mut notes = vec![resolution(first)];
        if captures.iter().any(|one| one.holes.is_some()) {
            notes.push(JITTER.to_owned());
        }
        notes.extend(captures.iter().filter_map(|one| Some(holes(one, one.holes.as_ref()?))));
        notes
    }

    fn measurement(&self) -> Option<&dyn Measurement> {
        Some(self)
    }
}

impl Measurement for Captures {
    /// Never: captures are imported, so their probe is [`ProbeKind::Foreign`].
    fn is_made_by(&self, _probe: ProbeKind) -> bool {
        false
    }

    fn describes(&self, readings: Readings) -> bool {
        readings == Readings::Intervals
    }

    fn words(&self) -> &'static Terms {
        &WORDS
    }

    fn method(&self, _run: &Run, _phase: &PhaseFindings, _labelled: bool) -> Option<String> {
        None
    }

    /// None: the notes describe each channel.
    fn sentence(&self, _phase: &PhaseFindings) -> Option<String> {
        None
    }

    fn may_have_schedule(&self, _phase: &PhaseFindings) -> bool {
        false
    }

    fn no_limit_because(&self) -> Option<&'static str> {
        Some("intervals between edges have no deadlines")
    }

    fn planned(&self, _plan: &PhasePlan) -> Planned {
        Planned::default()
    }
}

fn resolution(channel: &CapturedChannel) -> String {
    let within = match channel.resolution_ps {
        ps @ ..1000 => format!("{ps} ps"),
        ps @ ..1_000_000 => format!("{} ns", three_digits(ps as f64 / 1000.0)),
        ps => with_unit(ps as f64 / 1000.0),
    };
    if channel.resolved_by == ResolvedBy::Unstated {
        return "The file does not state the sample rate: times are known to within one sample of unknown length.".to_owned();
    }
    let why = match channel.resolved_by {
        ResolvedBy::SampleRate => "one sample of the analyser",
        ResolvedBy::TimeScale => "the time scale of the file; the analyser may have sampled more coarsely",
        ResolvedBy::Digits | ResolvedBy::Unstated => {
            "the last digit in the file; the analyser may have sampled more coarsely"
        }
    };
    format!("Times between edges are known to ±{within}: {why}.")
}

fn holes(channel: &CapturedChannel, holes: &Holes) -> String {
    let name = harmless(&channel.channel);
    let Some(longest_ns) = holes.longest_ns.filter(|_| holes.count > 0) else {
        return format!("{name} has no holes.");
    };
    let first = format!(
        "{name} has {}, the longest of {}",
        counted(holes.count, "hole", "holes"),
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
    fn a_resolution_is_never_rounded_to_0() {
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
