//! The top: the kind of kernel and, before any number, whether the numbers may be used.

use std::collections::BTreeSet;

use tardy_analyse::name;
use tardy_analyse::row::Row;
use tardy_record::run::State;
use tardy_record::{Run, validity};

use super::flows;
use crate::lab;
use crate::page::{Element, Judgement, Page, Place, Tone, paragraph};
use crate::section::{Context, Part, Section, Text};
use crate::terminal_text::{Style, capitalised};
use tardy_plot::numbers::{harmless, highest_with_unit, short};
use tardy_plot::worst_cpus;

/// The top.
pub struct Headline;

impl Section for Headline {
    fn name(&self) -> &'static str {
        "headline"
    }

    fn text(&self, context: &Context<'_>, text: &mut Text) {
        let run = context.run;
        let mut block = text.block();
        match flows::headline(context.findings) {
            Some(verdict) => {
                block.paragraph(Style::Bold, &format!("{verdict}."));
                block.paragraph(Style::Plain, &harmless(&run.headline()));
            }
            None => block.paragraph(Style::Bold, &harmless(&run.headline())),
        }
        if let Some(cpus) = many_cpus(context) {
            block.paragraph(Style::Bold, &format!("{cpus}."));
        }
        for reason in invalid_because(run) {
            block.paragraph(Style::Bad, &format!("INVALID: {reason}"));
        }
        if let Some(why) = context.findings.meaningless_because {
            block.paragraph(Style::Bad, &format!("MEANINGLESS: {why}"));
        }
        if let Some(whose) = lab::whose(run) {
            block.paragraph(Style::Plain, &whose);
        }
        let (refusals, limits): (Vec<String>, Vec<String>) =
            limits(run).into_iter().partition(|limit| is_refusal(limit));
        for (index, limit) in limits.iter().enumerate() {
            let is_incomplete = index == 0 && run.progress.state != State::Complete;
            block.paragraph(if is_incomplete { Style::Bold } else { Style::Plain }, limit);
        }
        text.add(Part::Head, block);
        let mut advice = text.block();
        advice.paragraphs(Style::Plain, &refusals);
        text.add(Part::Background, advice);
    }

    fn page(&self, context: &Context<'_>, page: &mut Page) {
        let run = context.run;
        let spans = kicker(run).into_iter().map(|part| [String::new(), part]).collect();
        let kicker = Element::Spans { class: "kicker", spans };
        let verdict = flows::headline(context.findings);
        let kernel = verdict.is_some().then(|| paragraph("note", &harmless(&run.headline())));
        let text = verdict.unwrap_or_else(|| harmless(&run.headline()));
        let title = Element::Heading { level: 1, class: "", text };
        let cpus = many_cpus(context).map(|text| paragraph("lead", &format!("{text}.")));
        page.add(Place::Title, [kicker, title].into_iter().chain(kernel).chain(cpus));
        let reasons = invalid_because(run);
        if !reasons.is_empty() {
            page.add(Place::Alarm, [alarm("Invalid. These numbers must not be used.".to_owned(), reasons)]);
        }
        page.add(Place::Alarm, lab::alarm(run).map(|text| alarm(text, Vec::new())));
        page.add(Place::Limits, lab::whose(run).map(|text| paragraph("note", &text)));
        let limits = limits(run);
        if !limits.is_empty() {
            page.add(Place::Limits, [Element::List { class: "limits", items: limits }]);
        }
    }
}

/// Whether a remark reports that the kernel refused a request, with advice on permissions.
fn is_refusal(remark: &str) -> bool {
    [" was refused (", " could not be held ("].iter().any(|refusal| remark.contains(refusal))
}

/// A remark without the advice, which the summary shows after the numbers.
pub fn without_advice(remark: &str) -> &str {
    let fact = remark.split_once("; ").map(|(fact, _)| fact);
    fact.filter(|_| is_refusal(remark)).unwrap_or(remark)
}

/// The number of CPUs and the worst CPU: `64 CPUs, worst cpu 62: 163 us`; `None` if they are few.
fn many_cpus(context: &Context<'_>) -> Option<String> {
    let phases = context.findings.phases.iter().filter(|phase| worst_cpus::are_of_cpus(phase.readings));
    let rows: Vec<&Row> = phases.flat_map(|phase| &phase.rows).filter(|row| row.cpu.is_some()).collect();
    let cpus: BTreeSet<Option<u32>> = rows.iter().map(|row| row.cpu).collect();
    let worst = rows.iter().filter(|row| row.max_ns.is_some()).max_by_key(|row| row.max_ns)?;
    let max = highest_with_unit(worst.max_ns?, worst.max_at_least);
    (cpus.len() > worst_cpus::SHOWN_MAX)
        .then(|| format!("{} CPUs, worst {}: {max}", cpus.len(), short(&harmless(&worst.label), 40)))
}

fn alarm(strong: String, items: Vec<String>) -> Element {
    Element::Judgement(Judgement { tone: Tone::Broken, alert: true, strong, paragraphs: Vec::new(), items })
}

/// The reasons why a run's numbers must not be used; empty for a valid run.
fn invalid_because(run: &Run) -> Vec<String> {
    if run.validity.valid {
        return Vec::new();
    }
    let reasons: Vec<String> =
        run.validity.spoilt_by.iter().map(|reason| harmless(&reason.to_string())).collect();
    if reasons.is_empty() { vec!["the run does not state why".to_owned()] } else { reasons }
}

/// The last line of a summary of an invalid run; none for a valid one.
pub(crate) fn invalid_last(run: &Run) -> Vec<String> {
    let reasons = invalid_because(run);
    let more = match reasons.len() {
        0 => return Vec::new(),
        1 => String::new(),
        count => format!(", and {} more", count - 1),
    };
    vec![format!("INVALID: {}{more}", reasons[0])]
}

/// The limits of the conclusions. If the run is incomplete, that is the first.
fn limits(run: &Run) -> Vec<String> {
    let missing = validity::what_is_missing(run);
    let mut limits: Vec<&String> = run.validity.limits.iter().collect();
    limits.sort_by_key(|limit| missing.as_ref() != Some(*limit));
    // A name keeps its letters, also where a sentence begins with it.
    let begins_with_name = |limit: &str| {
        run.series.iter().any(|series| series.program().is_some() && limit.starts_with(&series.label))
    };
    let shown = |limit: &String| match begins_with_name(limit) {
        true => harmless(limit),
        false => capitalised(&harmless(limit)),
    };
    limits.into_iter().map(shown).collect()
}

/// The line above the title: the kernel of a run in the lab, host, board, distribution, date.
fn kicker(run: &Run) -> Vec<String> {
    let machine = &run.facts.machine;
    let known = [machine.board.get(), machine.distribution.get()];
    let date = run.origin.started_at.replace('T', " ").replace('Z', " UTC");
    let kernel = run.lab.as_ref().map(|_| name::of_run(run));
    let parts = [kernel.as_ref(), Some(&run.origin.host), known[0], known[1], Some(&date)];
    parts
        .into_iter()
        .flatten()
        .filter(|part| !part.is_empty())
        .map(|part| short(&harmless(part), 60))
        .collect()
}
