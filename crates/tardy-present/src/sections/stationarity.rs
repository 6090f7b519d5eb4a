//! Whether the distribution was the same throughout each phase.

use tardy_analyse::stationarity::{Change, Stationarity as Found};
use tardy_plot::numbers::{count, harmless, rounded, with_unit};

use crate::page::{Element, Page, Place, paragraph};
use crate::section::{Context, Part, Section, Text};
use crate::terminal_text::Style;

/// Whether a run was stationary.
pub struct Stationarity;

impl Section for Stationarity {
    fn name(&self) -> &'static str {
        "stationarity"
    }

    fn text(&self, context: &Context<'_>, text: &mut Text) {
        let changed = context.findings.stationarity.iter().filter_map(|found| changed(context, found));
        changed.for_each(|sentence| text.add_paragraph(Part::Conclusion, Style::Plain, &sentence));
    }

    fn page(&self, context: &Context<'_>, page: &mut Page) {
        let found = &context.findings.stationarity;
        page.add(
            Place::Limits,
            found.iter().filter_map(|one| changed(context, one)).map(|text| paragraph("", &text)),
        );
        let notes: Vec<Element> = found
            .iter()
            .filter_map(|one| steady(context, one))
            .map(|text| paragraph("note", &text))
            .collect();
        page.add(Place::Notes, notes);
    }
}

/// The subject of a sentence about a phase.
fn subject(context: &Context<'_>, found: &Found) -> String {
    match context.run.phases.get(found.phase).filter(|_| context.run.phases.len() > 1) {
        Some(phase) => format!("The phase {}", harmless(&phase.label)),
        None => "The run".to_owned(),
    }
}

/// The changes of a phase; `None` if there are none.
fn changed(context: &Context<'_>, found: &Found) -> Option<String> {
    let largest = found.changes.first()?;
    let Change { level, before_ns, after_ns, at_ns, label, .. } = largest;
    let verb = if after_ns > before_ns { "rose" } else { "fell" };
    let more = match found.changes.len() - 1 {
        0 => String::new(),
        n => format!(", the largest of {} changes", count(n as u64 + 1)),
    };
    Some(format!(
        "{} was not stationary: {level} of {} {verb} from {} to {} after {}{more}. Its numbers mix different conditions.",
        subject(context, found),
        harmless(label),
        with_unit(*before_ns),
        with_unit(*after_ns),
        rounded(*at_ns)
    ))
}

/// That a phase was stationary, or that it is unknown; `None` if it was not.
fn steady(context: &Context<'_>, found: &Found) -> Option<String> {
    let (slices, length) = (count(found.slices as u64), rounded(found.slice_ns));
    match found.stationary {
        Some(true) => Some(format!(
            "{} was stationary: quantiles show no change over {slices} slices of {length}.",
            subject(context, found)
        )),
        Some(false) => None,
        None => Some(format!(
            "Whether {} was stationary is unknown: it has too few readings or too few slices of time ({slices}).",
            subject(context, found).replacen('T', "t", 1)
        )),
    }
}
