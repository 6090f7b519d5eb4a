//! Extreme values: the level that is exceeded once per day, or why the run does not support one.

use tardy_analyse::tail::{Checked, Estimate, Level, Method, Outcome, Refusal, Tail};
use tardy_plot::extremes as plots;
use tardy_plot::numbers::{count, harmless, rounded, three_digits, with_unit};
use tardy_record::units::format_duration_ns;

use crate::figures::{self, Marks};
use crate::page::{Element, Page, PageTable, Place, figure, folded_table, heading, paragraph};
use crate::section::{Context, Part, Section, Text};
use crate::table::Table;
use crate::terminal_text::{Style, capitalised, typographic};

/// The terminal states the levels of runs with at most this many phases.
const PHASE_MAX: usize = 3;
/// A refusal for one of these reasons is stated in the terminal only if the tail is requested: the run is just short.
const SHORT: [&str; 3] = ["count", "distinct bins", "fit"];
/// From this multiple of the measured time on, a level has a remark.
const FAR: f64 = 10.0;

const CAVEAT: &str =
    "A level holds for what happened in this run: an event that did not occur in it is in no level.";

/// Extreme values.
pub struct Extremes;

impl Section for Extremes {
    fn name(&self) -> &'static str {
        "extremes"
    }

    fn text(&self, context: &Context<'_>, text: &mut Text) {
        let tails = &context.findings.tails;
        if tails.len() > PHASE_MAX {
            return;
        }
        let mut block = text.block();
        for tail in tails {
            block.paragraph(Style::Plain, &brief(tail, tails.len() > 1).unwrap_or_default());
        }
        if tails.iter().any(|tail| brief(tail, false).is_some()) {
            text.add(Part::Conclusion, block);
        }
    }

    fn page(&self, context: &Context<'_>, page: &mut Page) {
        let tails = &context.findings.tails;
        if tails.is_empty() {
            return;
        }
        let mut elements = vec![heading(2, "Extreme values")];
        for tail in tails {
            if tails.len() > 1 {
                elements.push(heading(3, harmless(&tail.label)));
            }
            elements.extend(of_page(tail, page));
        }
        page.add(Place::After, elements);
    }
}

/// The level of a tail in one sentence, or why there is none; `None` if the run is just too short.
fn brief(tail: &Tail, labelled: bool) -> Option<String> {
    let sentence = match &tail.next {
        Some(level) => format!("{} 'tardy show --tail' has the checks.", level_sentence(tail, level)),
        None => {
            let refusal = tail.refusals.first().filter(|refusal| !SHORT.contains(&refusal.check))?;
            let more = match tail.refusals.len() - 1 {
                0 => String::new(),
                1 => ", and one more check refuses".to_owned(),
                n => format!(", and {n} more checks refuse"),
            };
            format!("No level beyond this run is estimated: {}{more} ('tardy show --tail').", refusal.found)
        }
    };
    Some(if labelled { format!("{}: {sentence}", harmless(&tail.label)) } else { sentence })
}

/// `One wake-up per day is expected to be later than 71 us (58 us to 103 us with 95 % confidence), ….`
fn level_sentence(tail: &Tail, level: &Level) -> String {
    let one = tail.readings.one();
    let remark = if level.extrapolation > FAR {
        format!(", {} times as long as the run", three_digits(level.extrapolation.round()))
    } else {
        String::new()
    };
    format!(
        "Extrapolated, a {one} later than {} ({} with 95 % confidence) comes once per {}{remark}, if everything stays as in this \
         run.",
        with_unit(level.level_ns as f64),
        interval(level),
        format_duration_ns(level.once_per_ns),
    )
}

fn interval(level: &Level) -> String {
    let us = |ns: i64| with_unit(ns as f64);
    match (level.lower_ns, level.upper_ns) {
        (Some(lower), Some(upper)) => format!("{} to {}", us(lower), us(upper)),
        (Some(lower), None) => format!("{} or more", us(lower)),
        (None, Some(upper)) => format!("at most {}", us(upper)),
        (None, None) => "no interval".to_owned(),
    }
}

/// Why no level is stated, and what would help: one sentence or two.
pub fn refusal_sentence(refusal: &Refusal) -> String {
    let help = refusal.help.map_or_else(String::new, |help| format!(" {}.", capitalised(help)));
    format!("{}.{help}", refusal.found)
}

/// The whole of the tails for the terminal, `width` columns wide: levels by both methods, and every check.
pub fn whole(tails: &[Tail], width: usize, colour: bool) -> String {
    let mut text = Text::new(width);
    if tails.is_empty() {
        let none = "There is no tail to extrapolate: the run is invalid, has no latencies, or its duration is unknown.";
        text.add_paragraph(Part::Results, Style::Plain, none);
    }
    for tail in tails {
        let mut block = text.block();
        if tails.len() > 1 {
            block.paragraph(Style::Bold, &format!("Phase {}: {}", tail.phase + 1, harmless(&tail.label)));
        }
        for sentence in conclusion(tail) {
            block.paragraph(if tail.supported { Style::Bold } else { Style::Plain }, &sentence);
        }
        text.add(Part::Results, block);
        for estimate in estimates(tail) {
            let mut block = text.block();
            block.paragraph(Style::Plain, &method(estimate));
            if let Some(fit) = fit(estimate) {
                block.paragraph(Style::Plain, &fit);
            }
            let levels = levels_table(estimate);
            if !levels.is_empty() {
                block.line(Style::Plain, "");
                block.table(&levels);
            }
            text.add(Part::Results, block);
            let mut block = text.block();
            block.table(&checks_table(estimate));
            text.add(Part::Results, block);
        }
    }
    if !tails.is_empty() {
        text.add_paragraph(Part::Conclusion, Style::Faint, CAVEAT);
    }
    text.finish(colour).unwrap_or_default()
}

/// The level to quote, or every refusal with what would help.
fn conclusion(tail: &Tail) -> Vec<String> {
    match &tail.next {
        Some(level) => vec![level_sentence(tail, level)],
        None => {
            let why = tail.refusals.iter().map(refusal_sentence).map(|sentence| capitalised(&sentence));
            let sentence = "No level beyond this run is estimated.".to_owned();
            std::iter::once(sentence).chain(why).collect()
        }
    }
}

fn estimates(tail: &Tail) -> impl Iterator<Item = &Estimate> {
    tail.maxima.iter().chain([&tail.excesses])
}

fn method(estimate: &Estimate) -> String {
    match estimate.method {
        Method::BlockMaxima { block_ns, blocks } => format!(
            "From the maxima of {} blocks of {}, the highest of all CPUs:",
            count(blocks),
            format_duration_ns(block_ns)
        ),
        Method::Excesses { threshold_ns, over, of, extremal_index } => format!(
            "From the {} highest of {} values, those above {}{}:",
            count(over),
            count(of),
            with_unit(threshold_ns as f64),
            match extremal_index {
                index if index < 0.995 =>
                    format!(", of which {} % begin a cluster", three_digits((index * 100.0).round())),
                _ => String::new(),
            }
        ),
    }
}

/// The parameters of the fit.
fn fit(estimate: &Estimate) -> Option<String> {
    let fit = estimate.fit?;
    let end = |shape: Option<f64>| shape.map_or_else(|| "unknown".to_owned(), |shape| format!("{shape:.2}"));
    let bounded = fit.upper_end_ns.map_or_else(String::new, |ns| format!(", bounded at {}", with_unit(ns)));
    Some(format!(
        "location {}, scale {}, shape {:.2} ({} to {}){bounded}",
        with_unit(fit.location_ns),
        with_unit(fit.scale_ns),
        fit.shape,
        end(fit.shape_lower),
        end(fit.shape_upper)
    ))
}

fn levels_table(estimate: &Estimate) -> Table {
    let mut table = Table::new(&["exceeded once per", "level", "95 % from", "to", "run lengths"]);
    let us = |ns: Option<i64>| ns.map_or_else(|| "unknown".to_owned(), |ns| with_unit(ns as f64));
    for level in &estimate.levels {
        table.push(vec![
            format_duration_ns(level.once_per_ns),
            with_unit(level.level_ns as f64),
            us(level.lower_ns),
            us(level.upper_ns),
            three_digits(level.extrapolation),
        ]);
    }
    table
}

fn checks_table(estimate: &Estimate) -> Table {
    let mut table = Table::of_words(&["check", "", "found"]);
    for one in &estimate.checks {
        table.push(vec![one.check.to_owned(), outcome(one).to_owned(), one.found.clone()]);
    }
    table
}

fn outcome(one: &Checked) -> &'static str {
    match one.outcome {
        Outcome::Passes => "passes",
        Outcome::Flags => "remark",
        Outcome::Refuses => "refuses",
        Outcome::NotComputed => "not computed",
    }
}

fn of_page(tail: &Tail, page: &Page) -> Vec<Element> {
    let strong =
        |text: &String| Element::Paragraph { class: "", strong: tail.supported, text: typographic(text) };
    let mut elements: Vec<Element> = conclusion(tail).iter().map(strong).collect();
    elements.push(paragraph("note", CAVEAT));
    let (marks, id) = (page.marks(), |name: &str| page.plot_id(&format!("{name}-{}", tail.phase)));
    elements.extend(figure(
        figures::both(&id("levels"), marks, |id, options| plots::levels(id, tail, options)),
        "The level that is exceeded once per time, and its 95 % band. Dots are observed block maxima. Right of the dotted line the \
         level is extrapolated.",
    ));
    for estimate in estimates(tail) {
        elements.push(paragraph("", method(estimate).trim_end_matches(':')));
        elements.extend(fit(estimate).map(|fit| paragraph("note", &capitalised(&fit))));
        let levels = levels_table(estimate);
        if !levels.is_empty() {
            elements
                .push(Element::Table(PageTable { named: true, ..PageTable::typeset("stacked", &levels) }));
        }
        elements.push(diagnosis(estimate, marks, &id));
    }
    elements
}

/// The diagnostic plots and the checks of an estimate, expanded if they are the reason for a refusal.
fn diagnosis(estimate: &Estimate, marks: Marks, id: &dyn Fn(&str) -> String) -> Element {
    let which = match estimate.method {
        Method::BlockMaxima { .. } => "maxima",
        Method::Excesses { .. } => "excesses",
    };
    let quantiles = figures::both(&id(&format!("fit-{which}")), marks, |id, options| {
        plots::quantiles(id, estimate, options)
    });
    let shapes = figures::both(&id(&format!("shape-{which}")), marks, |id, options| {
        plots::shapes(id, estimate, options)
    });
    let refusing = estimate.refusing().count();
    let result = match refusing {
        0 => "no check refuses".to_owned(),
        1 => "1 check refuses".to_owned(),
        n => format!("{n} checks refuse"),
    };
    let mut elements: Vec<Element> = Vec::new();
    elements.extend(figure(
        quantiles,
        "If the values follow the fitted distribution, the points are near the diagonal.",
    ));
    elements.extend(figure(shapes, "If there is one tail, a horizontal line passes through all intervals."));
    let table = PageTable::typeset("stacked", &checks_table(estimate));
    elements.push(Element::Table(PageTable { named: true, ..table }));
    Element::Fold { summary: format!("Diagnostics: {result}"), open: false, elements }
}
