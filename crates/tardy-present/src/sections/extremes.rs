//! Extreme values: the level that is exceeded once per day, or why the run does not support one.

use tardy_analyse::tail::{self, Estimate, Level, Method, Outcome, Tail};
use tardy_plot::extremes as plots;
use tardy_plot::numbers::{count, counted, harmless, three_digits, with_unit};
use tardy_record::Run;
use tardy_record::units::format_duration_ns;

use crate::figures::{self, Marks};
use crate::page::{Element, Page, PageTable, Place, figure, heading, paragraph};
use crate::section::{Context, Part, Section, Text};
use crate::table::Table;
use crate::terminal_text::{Style, capitalised, typographic};

/// The terminal states the levels of runs with at most this many phases.
pub const PHASE_MAX: usize = 3;
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
        Some(level) => level_sentence(tail, level),
        None => {
            tail.refusals.first().filter(|refusal| !SHORT.contains(&refusal.check))?;
            format!("{} ('tardy show --tail').", no_level(tail))
        }
    };
    Some(if labelled { format!("{}: {sentence}", harmless(&tail.label)) } else { sentence })
}

/// `No latency beyond this run is predicted: the tail is too heavy`.
fn no_level(tail: &Tail) -> String {
    let mut reasons: Vec<&str> = Vec::new();
    for refusal in &tail.refusals {
        if !reasons.contains(&refusal.reason.as_str()) {
            reasons.push(&refusal.reason);
        }
    }
    let last = reasons.pop().unwrap_or_default();
    let list =
        if reasons.is_empty() { last.to_owned() } else { format!("{}, and {last}", reasons.join(", ")) };
    format!("No latency beyond this run is predicted: {list}")
}

/// `If everything stays as it was in this run, a wake-up is later than 71 us (95 %: 58 us to 103 us) once per 1d.`
fn level_sentence(tail: &Tail, level: &Level) -> String {
    let one = tail.readings.one();
    let remark = match level.extrapolation {
        far if far > FAR => format!(", {} times the run's duration", three_digits(far.round())),
        _ => String::new(),
    };
    format!(
        "If everything stays as it was in this run, a {one} is later than {} (95 %: {}) once per {}{remark}.",
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

/// Why no level is supported, and what would help, in one paragraph.
pub fn refusal(tail: &Tail) -> String {
    let mut helps: Vec<&str> = Vec::new();
    for help in tail.refusals.iter().filter_map(|refusal| refusal.help) {
        // "measure for longer" is a part of "measure for longer; if …".
        if !helps.iter().any(|known| known.starts_with(help)) {
            helps.retain(|known| !help.starts_with(*known));
            helps.push(help);
        }
    }
    let helps: Vec<String> = helps.iter().map(|help| format!(" {}.", capitalised(help))).collect();
    format!("{}.{}", no_level(tail), helps.concat())
}

/// The whole of the tails of `run` for the terminal, `width` columns wide: levels by both methods, and every check.
pub fn whole(run: &Run, tails: &[Tail], width: usize, colour: bool) -> String {
    let mut text = Text::new(width);
    if tails.is_empty() {
        let why = tail::none_because(run).map_or_else(String::new, |why| format!(": {}", harmless(&why)));
        let none = format!("There is no tail to extrapolate{why}.");
        text.add_paragraph(Part::Results, Style::Plain, &none);
    }
    for tail in tails {
        let mut block = text.block();
        if tails.len() > 1 {
            block.paragraph(Style::Bold, &format!("Phase {}: {}", tail.phase + 1, harmless(&tail.label)));
        }
        block.paragraph(Style::Bold, &conclusion(tail));
        text.add(Part::Results, block);
        estimates(tail).for_each(|estimate| add_estimate(tail, estimate, &mut text));
    }
    if !tails.is_empty() {
        text.add_paragraph(Part::Conclusion, Style::Faint, CAVEAT);
    }
    text.finish(colour).unwrap_or_default()
}

fn add_estimate(tail: &Tail, estimate: &Estimate, text: &mut Text) {
    let mut block = text.block();
    block.paragraph(Style::Plain, &format!("{}:", method(tail, estimate)));
    block.paragraph(Style::Plain, &fit(estimate).unwrap_or_default());
    let levels = levels_table(estimate);
    if !levels.is_empty() {
        block.line(Style::Plain, "");
        block.table(&levels);
        block.line(Style::Plain, "");
    }
    let Checks { failed, others } = checks(estimate);
    failed.iter().for_each(|item| block.paragraph(Style::Plain, &format!("- {item}")));
    others.iter().for_each(|item| block.paragraph(Style::Faint, &format!("- {item}")));
    text.add(Part::Results, block);
}

/// The level to quote, or why there is none and what would help.
fn conclusion(tail: &Tail) -> String {
    tail.next.as_ref().map_or_else(|| refusal(tail), |level| level_sentence(tail, level))
}

fn estimates(tail: &Tail) -> impl Iterator<Item = &Estimate> {
    tail.maxima.iter().chain(&tail.excesses)
}

fn method(tail: &Tail, estimate: &Estimate) -> String {
    let joint = match tail.series {
        1 => String::new(),
        n => format!(", each the highest of {n} CPUs"),
    };
    match estimate.method {
        Method::BlockMaxima { block_ns, blocks } => {
            format!("From the maxima of {} blocks of {}{joint}", count(blocks), format_duration_ns(block_ns))
        }
        Method::Excesses { threshold_ns, over, of, extremal_index } => format!(
            "From the {} highest of {} values, those above {}{}",
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
    let mut table = Table::new(&["exceeded once per", "level", "95 % from", "to", "times the run"]);
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

/// The checks of an estimate, a sentence each, or one for all of the same result.
struct Checks {
    /// Those that do not pass, with what they found.
    failed: Vec<String>,
    /// The names of the others.
    others: Vec<String>,
}

fn checks(estimate: &Estimate) -> Checks {
    let with = |outcome: Outcome| estimate.checks.iter().filter(move |one| one.outcome == outcome);
    let failed = [(Outcome::Refuses, "refuses"), (Outcome::Flags, "remarks")].into_iter().flat_map(
        |(outcome, verb)| with(outcome).map(move |one| format!("{} {verb}: {}.", one.check, one.found)),
    );
    let named = |(outcome, word): (Outcome, &str)| {
        let names: Vec<&str> = with(outcome).map(|one| one.check).collect();
        (!names.is_empty()).then(|| format!("{word}: {}.", names.join(", ")))
    };
    let others =
        [(Outcome::Passes, "passed"), (Outcome::NotComputed, "not computed")].into_iter().filter_map(named);
    Checks { failed: failed.collect(), others: others.collect() }
}

fn of_page(tail: &Tail, page: &Page) -> Vec<Element> {
    let text = typographic(&conclusion(tail));
    let mut elements = vec![Element::Paragraph { class: "", strong: tail.supported, text }];
    let (marks, id) = (page.marks(), |name: &str| page.plot_id(&format!("{name}-{}", tail.phase)));
    if tail.supported {
        elements.push(paragraph("note", CAVEAT));
        elements.extend(figure(
            figures::both(&id("levels"), marks, |id, options| plots::levels(id, tail, options)),
            "The latency that is exceeded once per time, with its 95 % band. Dots are observed values. Right of the dotted \
             line the curve is extrapolated.",
        ));
        elements.extend(tail.deciding().map(|estimate| stacked(&levels_table(estimate))));
    }
    let details = estimates(tail).flat_map(|estimate| details(tail, estimate, marks, &id)).collect();
    let refusing = tail.refusals.len() as u64;
    let summary = match refusing {
        0 => "Checks and diagnostic plots".to_owned(),
        n => format!("Checks and diagnostic plots: {}", counted(n, "check refuses", "checks refuse")),
    };
    elements.push(Element::Fold { summary, open: false, elements: details });
    elements
}

/// The sample, the fit, the diagnostic plots and the checks of an estimate.
fn details(tail: &Tail, estimate: &Estimate, marks: Marks, id: &dyn Fn(&str) -> String) -> Vec<Element> {
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
    let mut elements = vec![paragraph("", &format!("{}:", method(tail, estimate)))];
    elements.extend(fit(estimate).map(|fit| paragraph("note", &capitalised(&fit))));
    let is_other = tail.deciding().is_some_and(|deciding| !std::ptr::eq(estimate, deciding));
    let levels = levels_table(estimate);
    elements.extend((is_other && !levels.is_empty()).then(|| stacked(&levels)));
    elements
        .extend(figure(quantiles, "Points near the diagonal: the values follow the fitted distribution."));
    elements.extend(figure(shapes, "A horizontal line through all intervals: the values have one tail."));
    let Checks { failed, others } = checks(estimate);
    let items = failed.iter().chain(&others).map(|item| typographic(&capitalised(item))).collect();
    elements.push(Element::List { class: "", items });
    elements
}

fn stacked(table: &Table) -> Element {
    Element::Table(PageTable { named: true, ..PageTable::typeset("stacked", table) })
}
