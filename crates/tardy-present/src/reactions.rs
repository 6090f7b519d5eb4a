//! Reactions on pins in words and a table: the same in the terminal and in the report.

use tardy_analyse::findings::Findings;
use tardy_analyse::reactions::Reaction;
use tardy_analyse::row::Row;
use tardy_record::Run;
use tardy_record::pins::{AGREEING_NS, Point, ReactionPlan, StimulusSource};
use tardy_record::plan::ProbePlan;
use tardy_record::series::Level;

use crate::latency::{self, count, harmless, microseconds, short, with_unit};

/// What the table is called.
pub(crate) const TITLE: &str = "From the edge to the answer, span by span";

/// Heads of the table.
pub(crate) const HEADS: [&str; 9] =
    ["us", "seen", "edges", "unanswered", "min", "p50", "p99", "p99.9", "max"];

/// A row for each span.
pub(crate) fn rows(findings: &Findings) -> Vec<Vec<String>> {
    let several = findings.reactions.windows(2).any(|pair| pair[0].phase != pair[1].phase);
    let spans = findings.reactions.iter().map(|one| cells(one, findings, several));
    let channels = findings.captures.iter().flat_map(|one| &one.rows).map(interval_cells);
    spans.chain(channels).collect()
}

/// What one channel of a capture did meanwhile.
fn interval_cells(row: &Row) -> Vec<String> {
    let label = short(&harmless(&row.label), 28);
    let mut cells = vec![label, "on the wire".to_owned(), count(row.recorded), "-".to_owned()];
    cells.extend(values(row));
    cells
}

/// Minimum, quantiles and maximum.
fn values(row: &Row) -> Vec<String> {
    let us = |ns: Option<i64>| ns.map_or_else(|| "-".to_owned(), |ns| microseconds(ns as f64));
    let quantile = |name: &str| {
        let found = row.quantiles.iter().find(|quantile| quantile.level == name);
        latency::quantile(found.and_then(|quantile| quantile.value))
    };
    let mut cells = vec![us(row.min_ns)];
    cells.extend(["p50", "p99", "p99.9"].map(quantile));
    cells.push(us(row.max_ns));
    cells
}

fn cells(one: &Reaction, findings: &Findings, several: bool) -> Vec<String> {
    let span = format!("{} to {}", one.from.name(), one.to.name());
    let phase = findings.phases.get(one.phase).map_or("", |phase| phase.label.as_str());
    let whose = if several { format!("{}: {span}", short(&harmless(phase), 28)) } else { span };
    let place = if one.level == Level::Wire { "on the wire" } else { "inside" };
    let known = |value: Option<u64>| value.map_or_else(|| "unknown".to_owned(), count);
    let unanswered = one
        .row
        .missed
        .get()
        .zip(one.row.dropped.get())
        .map(|(missed, dropped)| missed.saturating_add(dropped));
    let mut cells = vec![whose, place.to_owned(), known(one.row.attempted.get()), known(unanswered)];
    cells.extend(values(&one.row));
    cells
}

/// What must be known of it.
pub(crate) fn notes(findings: &Findings) -> Vec<String> {
    let all = &findings.reactions;
    let mut notes = Vec::new();
    if all.is_empty() {
        return notes;
    }
    let of = |point: Point| all.iter().any(|one| one.from == point);
    if of(Point::Driven) {
        notes.push(
            "Driven is when tardy read the clock, right before it wrote the stimulus: what the interrupt itself was late is \
             in what begins there, and the writing as well."
                .to_owned(),
        );
    }
    if all.iter().any(|one| one.to == Point::Echoed) {
        notes.push(
            "Driven to echoed is what an oscilloscope on both pins would show, but for the interrupt of the edge that is \
             read back: its own latency is in it too."
                .to_owned(),
        );
    }
    if of(Point::Due) {
        notes.push(
            "Due to answered is what an oscilloscope on both pins would show; raised to answered leaves out what the \
             interrupt itself was late."
                .to_owned(),
        );
    } else if of(Point::Edge) && !of(Point::Driven) {
        notes.push(
            "An edge is the kernel's time stamp, taken in the interrupt's handler: what the interrupt itself was late is \
             in none of these spans, and only an instrument on the pins shows it."
                .to_owned(),
        );
    }
    let sees_none = |one: &Reaction| one.answer_by.is_some_and(|way| !way.sees_edges());
    if all.iter().any(|one| sees_none(one) && one.level != Level::Wire) {
        notes.push(
            "Only events carry the time of their edge: of the other ways the inside begins when the thread runs, and without \
             a stimulus of tardy's own the edges that it never saw are not known."
                .to_owned(),
        );
    }
    for one in all {
        let Some(agreement) = one.agreement.filter(|agreement| agreement.compared > 0) else { continue };
        notes.push(format!(
            "Thread and wire were compared at {} edges: {} of them agree to within {}, the largest difference is {}{}.",
            count(agreement.compared),
            if agreement.agreeing == agreement.compared { "all".to_owned() } else { count(agreement.agreeing) },
            with_unit(AGREEING_NS as f64),
            with_unit(agreement.highest_difference_ns as f64),
            match agreement.unmatched {
                0 => String::new(),
                unmatched => format!("; the wire's log has none of {} more", count(unmatched)),
            },
        ));
    }
    notes
}

/// How a phase answered: `gpiochip0:17 answered on gpiochip0:27, by events, SCHED_FIFO 90`.
pub(crate) fn title(run: &Run, phase: usize) -> Option<String> {
    let ProbePlan::Reaction(plan) = &run.plan.phases.get(phase)?.probe else { return None };
    let kind = run.series.iter().find(|series| series.phase == phase)?.reaction()?;
    let policy = kind.policy.name().to_uppercase();
    let priority = if kind.policy.has_priority() { format!(" {}", kind.priority) } else { String::new() };
    let by = plan.answer_by.name();
    let [input, output] = [&plan.input, &plan.output].map(|line| harmless(&line.place()));
    let stimulus = stimulus_in_words(plan);
    Some(format!("{input} answered on {output}, by {by}, SCHED_{policy}{priority}{stimulus}"))
}

fn stimulus_in_words(plan: &ReactionPlan) -> String {
    let Some(stimulus) = &plan.stimulus else { return String::new() };
    let place = harmless(&stimulus.source.place());
    let every = with_unit(stimulus.period_ns as f64);
    match &stimulus.source {
        StimulusSource::Line { cpu, .. } => {
            let dither = match stimulus.dither_ns {
                0 => String::new(),
                ns => format!(" and up to {}", with_unit(ns as f64)),
            };
            format!("; {place} driven every {every}{dither} from cpu {cpu}")
        }
        StimulusSource::Pwm { .. } => format!("; stimulus by PWM {place} every {every}"),
    }
}
