//! Reactions on pins: the time of each span from the edge to the answer.

use tardy_analyse::findings::Findings;
use tardy_analyse::name::Readings;
use tardy_analyse::phases::PhaseFindings;
use tardy_analyse::reactions::{Overlay, Reaction, overlays};
use tardy_analyse::row::Row;
use tardy_record::Run;
use tardy_record::pins::{AGREEING_NS, Point, ReactionPlan, StimulusSource};
use tardy_record::plan::{PhasePlan, ProbeKind, ProbePlan};
use tardy_record::series::Level;

use super::phase_terms::{PhaseWords, scheduling};
use crate::figures::{self, Figure};
use crate::page::{Element, Page, PageTable, Place, heading, paragraphs};
use crate::section::{Context, Measurement, Part, Planned, Section, Text};
use crate::table::Table;
use crate::terminal_text::Style;
use tardy_plot::numbers::{self, count, counted, harmless, microseconds, short, with_unit};
use tardy_plot::scope;
use tardy_plot::terms::{LATENCY, Terms};

/// The largest number of phases whose reactions are drawn.
const SCOPES_MAX: usize = 6;

/// Heads of the table.
const HEADS: [&str; 9] = ["span, us", "seen", "edges", "unanswered", "min", "p50", "p99", "p99.9", "max"];

const SCOPE_CAPTION: &str = "As on an oscilloscope with a long persistence: every answer on top of the others, triggered on \
                             the edge, darker where there are more of them; the worst is drawn separately. Below: the \
                             number of answers over time, with counts on a logarithmic axis.";
const DRIVEN: &str = "Driven: the time that tardy read from the clock immediately before it wrote the stimulus. Spans that begin \
                      there include the latency of the interrupt and of the write.";
const ECHOED: &str = "Driven to echoed is what an oscilloscope on both pins would show, plus the interrupt latency of the \
                      edge that is read back.";
const DUE: &str = "Due to answered is what an oscilloscope on both pins would show; raised to answered excludes the latency of \
                   the interrupt.";
const EDGE: &str = "Edge: the kernel's time stamp of the edge, taken in the interrupt handler. No span includes the interrupt \
                    latency; only an instrument on the pins shows it.";
const UNSEEN: &str = "Only the method 'events' reports the time of each edge. With the other methods, spans inside begin when the \
                      thread runs, and the number of missed edges is unknown unless tardy drives the stimulus.";

/// Terms for reactions.
const WORDS: Terms = Terms { pooled: "all reactions", ..LATENCY };

/// Reactions on pins.
pub struct Reactions;

impl Section for Reactions {
    fn name(&self) -> &'static str {
        "reactions"
    }

    fn text(&self, context: &Context<'_>, text: &mut Text) {
        if context.findings.reactions.is_empty() {
            return;
        }
        let mut block = text.block();
        block.titled_table("From the edge to the answer, span by span", &table(context.findings));
        block.paragraphs(Style::Faint, &notes(&context.findings.reactions));
        text.add(Part::Details, block);
    }

    fn page(&self, context: &Context<'_>, page: &mut Page) {
        if !context.findings.reactions.is_empty() {
            let table = Element::Table(PageTable::typeset("", &table(context.findings)));
            page.add(Place::Breakdown, [heading(3, "From the edge to the answer"), table]);
            page.add(Place::Breakdown, paragraphs("note", &notes(&context.findings.reactions)));
        }
        let scopes = scopes(context, page);
        let last = scopes.len().saturating_sub(1);
        let figure = |(index, plot): (usize, Figure)| {
            let caption = if index == last { SCOPE_CAPTION } else { "" };
            Element::Figure { plot, caption: caption.to_owned() }
        };
        page.add(Place::Breakdown, scopes.into_iter().enumerate().map(figure));
    }

    fn measurement(&self) -> Option<&dyn Measurement> {
        Some(self)
    }
}

impl Measurement for Reactions {
    fn is_made_by(&self, probe: ProbeKind) -> bool {
        probe == ProbeKind::Reaction
    }

    fn describes(&self, readings: Readings) -> bool {
        readings == Readings::Reactions
    }

    fn words(&self) -> &'static Terms {
        &WORDS
    }

    /// The pins, the method and the scheduling: `gpiochip0:17 answered on gpiochip0:27, by events, SCHED_FIFO 90`.
    fn method(&self, run: &Run, phase: &PhaseFindings, _labelled: bool) -> Option<String> {
        let ProbePlan::Reaction(plan) = &run.plan.phases.get(phase.phase)?.probe else { return None };
        let kind = run.series.iter().find(|series| series.phase == phase.phase)?.reaction()?;
        let by = plan.answer_by.name();
        let [input, output] = [&plan.input, &plan.output].map(|line| harmless(&line.place()));
        let (scheduling, stimulus) = (scheduling(kind.policy, kind.priority), describe_stimulus(plan));
        Some(format!("{input} answered on {output}, by {by}, {scheduling}{stimulus}"))
    }

    fn sentence(&self, phase: &PhaseFindings) -> Option<String> {
        let words = PhaseWords::of(phase, "thread")?;
        if is_captured(phase) {
            return Some(captured_sentence(&words));
        }
        let most = words
            .thousandth()
            .map_or_else(String::new, |(share, value)| format!("; all but {share} took less than {value}"));
        let unanswered = match unanswered(words.all) {
            None | Some(0) => String::new(),
            Some(n) => format!("; {} went unanswered", counted(n, "edge", "edges")),
        };
        let PhaseWords { max, readings, over, under, .. } = words;
        Some(format!("In {readings}{over} {under}, the slowest took {max}{most}{unanswered}."))
    }

    /// An analyser that captures edges has no schedule.
    fn may_have_schedule(&self, phase: &PhaseFindings) -> bool {
        !is_captured(phase)
    }

    fn planned(&self, plan: &PhasePlan) -> Planned {
        let mut planned = Planned { wake: plan.probe.name().to_owned(), ..Planned::default() };
        if let ProbePlan::Reaction(reaction) = &plan.probe {
            planned.policy = reaction.policy.name();
            planned.priorities = vec![u64::from(reaction.priority)];
        }
        planned
    }
}

/// Whether the reactions of `phase` are from the imported capture of a logic analyser.
fn is_captured(phase: &PhaseFindings) -> bool {
    phase.probe == Some(ProbeKind::Foreign)
}

fn captured_sentence(words: &PhaseWords<'_>) -> String {
    let edges =
        words.all.attempted.get().map_or_else(|| "the edges".to_owned(), |n| counted(n, "edge", "edges"));
    let body = words
        .body()
        .map_or_else(String::new, |(share, value)| format!("; all but {share} were answered within {value}"));
    let answered = count(words.all.recorded);
    let PhaseWords { max, over, under, .. } = words;
    format!("Of {edges}{over} {under}, {answered} were answered, the latest after {max}{body}.")
}

/// The number of edges without a known answer; `None` if neither missed nor dropped edges were counted.
fn unanswered(row: &Row) -> Option<u64> {
    match (row.missed.get(), row.dropped.get()) {
        (None, None) => None,
        (missed, dropped) => Some(missed.into_iter().chain(dropped).fold(0, u64::saturating_add)),
    }
}

/// All reactions of each phase, as on an oscilloscope.
fn scopes(context: &Context<'_>, page: &Page) -> Vec<Figure> {
    let draw = |overlay: &Overlay| {
        let series = &context.run.series[overlay.series];
        let phase = context.findings.phases.get(series.phase)?;
        let reactions = scope::Reactions {
            histogram: &series.measured,
            max_ns: series.max_ns?,
            from: &harmless(&overlay.from),
            to: &harmless(&overlay.to),
            title: &phase.label,
        };
        figures::scope(&page.plot_id(&format!("scope-{}", series.phase + 1)), &reactions, page.marks())
    };
    overlays(context.run).iter().take(SCOPES_MAX).filter_map(draw).collect()
}

/// A row for each span, and for each channel of a capture.
fn table(findings: &Findings) -> Table {
    let several = findings.reactions.windows(2).any(|pair| pair[0].phase != pair[1].phase);
    let mut table = Table::new(&HEADS);
    findings.reactions.iter().for_each(|one| table.push(cells(one, findings, several)));
    let channels = findings.captures.iter().flat_map(|one| &one.rows);
    channels.for_each(|row| table.push(interval_cells(row)));
    table
}

/// A row for the intervals of one channel of a capture.
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
        numbers::quantile(found.and_then(|quantile| quantile.value))
    };
    let mut cells = vec![us(row.min_ns)];
    cells.extend(["p50", "p99", "p99.9"].map(quantile));
    cells.push(tardy_plot::numbers::highest(row.max_ns, row.max_at_least, "-"));
    cells
}

fn cells(one: &Reaction, findings: &Findings, several: bool) -> Vec<String> {
    let span = format!("{} to {}", one.from.name(), one.to.name());
    let whose = match findings.phases.get(one.phase).filter(|_| several) {
        Some(phase) => format!("{}: {span}", short(&harmless(&phase.label), 28)),
        None => span,
    };
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

/// Notes to the table.
fn notes(all: &[Reaction]) -> Vec<String> {
    let begins_at = |point: Point| all.iter().any(|one| one.from == point);
    let sees_no_edges = |one: &Reaction| one.answer_by.is_some_and(|way| !way.sees_edges());
    let candidates = [
        (begins_at(Point::Driven), DRIVEN),
        (all.iter().any(|one| one.to == Point::Echoed), ECHOED),
        (begins_at(Point::Due), DUE),
        (begins_at(Point::Edge) && !begins_at(Point::Driven) && !begins_at(Point::Due), EDGE),
        (all.iter().any(|one| sees_no_edges(one) && one.level != Level::Wire), UNSEEN),
    ];
    let mut notes: Vec<String> =
        candidates.into_iter().filter(|(applies, _)| *applies).map(|(_, note)| note.to_owned()).collect();
    for one in all {
        let Some(agreement) = one.agreement.filter(|agreement| agreement.compared > 0) else { continue };
        notes.push(format!(
            "Thread and wire were compared at {} edges: {} of them agree to within {}; the largest difference is {}{}.",
            count(agreement.compared),
            if agreement.agreeing == agreement.compared { "all".to_owned() } else { count(agreement.agreeing) },
            with_unit(AGREEING_NS as f64),
            with_unit(agreement.highest_difference_ns as f64),
            match agreement.unmatched {
                0 => String::new(),
                unmatched => format!("; {} more edges are not in the log of the wire", count(unmatched)),
            },
        ));
    }
    notes
}

fn describe_stimulus(plan: &ReactionPlan) -> String {
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
