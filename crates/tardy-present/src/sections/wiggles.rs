//! Pins that tardy drives high and low in turn: the time between edges, and holes.

use tardy_analyse::findings::Findings;
use tardy_analyse::name::Readings;
use tardy_analyse::phases::PhaseFindings;
use tardy_analyse::wiggles::{PublishedWiggle, Wiggle, Wiggles as Found};
use tardy_record::Run;
use tardy_record::plan::{PhasePlan, Policy, ProbeKind, ProbePlan};
use tardy_record::units::format_duration_ns;
use tardy_record::wiggle::{Pace, Seen};

use super::phase_terms::{PhaseWords, distinct, planned_timer, scheduling};
use crate::page::{Element, Page, PageTable, Place, heading, paragraphs};
use crate::section::{Context, Measurement, Part, Planned, Section, Text};
use crate::table::Table;
use crate::terminal_text::Style;
use tardy_plot::numbers::{at_least, count, harmless, microseconds, period_text, short, three_digits};
use tardy_plot::terms::Terms;

/// Heads of the table.
const HEADS: [&str; 8] = ["ns from edge to edge", "min", "p50", "p99.9", "max", "holes", "every", "hole, us"];

const WRITTEN: &str = "A toggle is the time from one write of the pin to the next, by the thread's own clock: it includes the \
                       latency of interrupts but not that of the pin. A hole is a toggle longer than the threshold.";
const ECHO: &str = "Echo: from one edge of the input to the next, by the time stamps that the kernel takes in the interrupt's \
                    handler. A late interrupt makes the interval before it longer and the interval after it shorter.";

/// Terms for toggles.
const WORDS: Terms = Terms {
    distribution: "Duration of a toggle",
    quantity: "duration",
    tail: "Tail of the distribution",
    exceeding: "that took at least each time",
    degree: "long",
    axis: "time of a toggle, µs",
    peak: "longest toggle",
    values: "times",
    more: "longer",
    pooled: "all toggles",
};

/// Pins that are driven high and low.
pub struct Wiggles;

impl Section for Wiggles {
    fn name(&self) -> &'static str {
        "wiggles"
    }

    fn text(&self, context: &Context<'_>, text: &mut Text) {
        let Some(found) = &context.findings.wiggles else { return };
        let title = match found.published.is_empty() {
            true => "From edge to edge",
            false => "From edge to edge, and holes, compared with the published results",
        };
        let mut block = text.block();
        block.titled_table(title, &table(found, context.findings));
        block.paragraphs(Style::Faint, &notes(found));
        text.add(Part::Details, block);
    }

    fn page(&self, context: &Context<'_>, page: &mut Page) {
        let Some(found) = &context.findings.wiggles else { return };
        let table = Element::Table(PageTable::typeset("", &table(found, context.findings)));
        page.add(Place::Breakdown, [heading(3, "From edge to edge"), table]);
        page.add(Place::Breakdown, paragraphs("note", &notes(found)));
    }

    fn measurement(&self) -> Option<&dyn Measurement> {
        Some(self)
    }
}

impl Measurement for Wiggles {
    fn is_made_by(&self, probe: ProbeKind) -> bool {
        probe == ProbeKind::Wiggle
    }

    fn describes(&self, readings: Readings) -> bool {
        readings == Readings::Toggles
    }

    fn words(&self) -> &'static Terms {
        &WORDS
    }

    fn method(&self, run: &Run, phase: &PhaseFindings, _labelled: bool) -> Option<String> {
        method(run, phase.phase)
    }

    fn sentence(&self, phase: &PhaseFindings) -> Option<String> {
        let words = PhaseWords::of(phase, "thread")?;
        let most = words.thousandth();
        let most =
            most.map_or_else(String::new, |(share, value)| format!(", all but {share} less than {value}"));
        let PhaseWords { max, readings, over, under, .. } = words;
        Some(format!("In {readings}{over} {under}, the longest took {max}{most}."))
    }

    /// A toggle is not a wake-up: it has no schedule to miss.
    fn may_have_schedule(&self, _phase: &PhaseFindings) -> bool {
        false
    }

    fn no_limit_because(&self) -> Option<&'static str> {
        Some("a pin that toggles as fast as possible has no deadlines")
    }

    fn planned(&self, plan: &PhasePlan) -> Planned {
        let mut planned = planned_timer(plan);
        if let ProbePlan::Wiggle(wiggle) = &plan.probe {
            planned.policy = wiggle.policy().map_or("", Policy::name);
            if let Pace::Fastest(fastest) = &wiggle.pace {
                let priorities = fastest.threads.iter().map(|thread| u64::from(thread.priority));
                planned.priorities = distinct(priorities);
            }
        }
        planned
    }
}

/// A row for each phase, and for each published result.
fn table(found: &Found, findings: &Findings) -> Table {
    let mut table = Table::new(&HEADS);
    found.phases.iter().for_each(|one| table.push(cells(one, findings)));
    found.published.iter().for_each(|one| table.push(published_cells(one)));
    table
}

fn cells(one: &Wiggle, findings: &Findings) -> Vec<String> {
    let ns = |ns: Option<i64>| {
        ns.map_or_else(|| "-".to_owned(), |ns| u64::try_from(ns).map_or_else(|_| ns.to_string(), count))
    };
    let quantile = |name: &str| {
        let found = one.toggles.quantiles.iter().find(|quantile| quantile.level == name);
        found
            .and_then(|quantile| quantile.value)
            .map_or_else(|| "n/a".to_owned(), |value| at_least(ns(Some(value.quoted_ns())), value.at_least))
    };
    let label = findings.phases.get(one.phase).map(|phase| short(&harmless(&phase.label), 28));
    let seen = match &one.seen {
        Seen::Written { through, .. } => through.name(),
        Seen::Echoed { .. } => "echo",
    };
    let dash = || "-".to_owned();
    vec![
        label.map_or_else(|| seen.to_owned(), |label| format!("{label}, {seen}")),
        ns(one.toggles.min_ns),
        quantile("p50"),
        quantile("p99.9"),
        ns(one.toggles.max_ns),
        one.holes.map_or_else(dash, count),
        one.period.as_ref().map_or_else(dash, |period| period_text(period.period_ns, period.period_error_ns)),
        one.period.as_ref().map_or_else(dash, |period| microseconds(period.length_ns as f64)),
    ]
}

fn published_cells(one: &PublishedWiggle) -> Vec<String> {
    let figure = |key: &str, value: Option<f64>, unit: &str| {
        let about = if one.approx.iter().any(|known| known == key) { "about " } else { "" };
        value.map_or_else(|| "-".to_owned(), |value| format!("{about}{}{unit}", three_digits(value)))
    };
    let dash = || "-".to_owned();
    vec![
        short(&harmless(&one.id), 40),
        dash(),
        figure("toggle_ns", one.toggle_ns, ""),
        dash(),
        dash(),
        dash(),
        figure("interference_period_us", one.period_us, " us"),
        figure("interference_length_us", one.length_us, ""),
    ]
}

/// Notes to the table.
fn notes(found: &Found) -> Vec<String> {
    let mut notes = Vec::new();
    if found.phases.iter().any(|one| matches!(one.seen, Seen::Written { .. })) {
        notes.push(WRITTEN.to_owned());
    }
    if found.phases.iter().any(|one| matches!(one.seen, Seen::Echoed { .. })) {
        notes.push(ECHO.to_owned());
    }
    let published = |one: &PublishedWiggle| {
        format!("{}: {}, by a logic analyser.", harmless(&one.id), harmless(&one.what))
    };
    notes.extend(found.published.iter().map(published));
    notes
}

/// The pin, the pace, and the scheduling that the thread really had: `gpiochip0:17 through chardev, clock_nanosleep
/// every 20us, SCHED_FIFO 90`.
fn method(run: &Run, phase: usize) -> Option<String> {
    let plan: &PhasePlan = run.plan.phases.get(phase)?;
    let ProbePlan::Wiggle(wiggle) = &plan.probe else { return None };
    let pace = match &wiggle.pace {
        Pace::Timer(timer) => {
            format!("{} every {}", timer.wake.name(), format_duration_ns(timer.longest_interval_ns()))
        }
        Pace::Fastest(_) => "as fast as possible".to_owned(),
        Pace::Command { words } => {
            let (place, command) = (harmless(&wiggle.output.place()), short(&harmless(&words.join(" ")), 60));
            return Some(format!("{place} by {command}"));
        }
    };
    let of_phase = || run.series.iter().filter(|series| series.phase == phase);
    let edges = of_phase().find_map(|series| match &series.edges()?.seen {
        Seen::Written { policy, priority, .. } => Some((*policy, *priority)),
        Seen::Echoed { .. } => None,
    });
    let timer = || of_phase().find_map(|series| series.timer()).map(|timer| (timer.policy, timer.priority));
    let (policy, priority): (Policy, u32) = edges.or_else(timer)?;
    let (place, through) = (harmless(&wiggle.output.place()), wiggle.through.name());
    Some(format!("{place} through {through}, {pace}, {}", scheduling(policy, priority)))
}
