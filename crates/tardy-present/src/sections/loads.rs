//! The work and the deaths of the loads.

use tardy_analyse::loads::{LoadFindings, PartFindings};
use tardy_record::load::LoadResult;

use crate::page::{Element, Page, Place, heading, paragraph};
use crate::section::{Context, Part, Section, Text};
use crate::terminal_text::Style;
use tardy_plot::numbers::{harmless, per_second, rounded};

/// Loads.
pub struct Loads;

impl Section for Loads {
    fn name(&self) -> &'static str {
        "loads"
    }

    fn text(&self, context: &Context<'_>, text: &mut Text) {
        let mut block = text.block();
        for load in &context.findings.loads {
            let parts: Vec<String> = load.parts.iter().map(describe).collect();
            block.paragraph(Style::Plain, &format!("Load {}: {}", harmless(&load.spec), parts.join("; ")));
        }
        text.add(Part::Background, block);
    }

    fn page(&self, context: &Context<'_>, page: &mut Page) {
        let loads = context.findings.loads.iter().zip(&context.run.loads);
        let mut elements = vec![heading(2, "Loads")];
        elements.extend(loads.flat_map(|(found, load)| load_elements(found, load)));
        if elements.len() == 1 {
            elements.push(paragraph("", "None."));
        }
        page.add(Place::After, elements);
    }
}

fn load_elements(found: &LoadFindings, load: &LoadResult) -> Vec<Element> {
    let spec = Element::Heading { level: 3, class: "as-written", text: harmless(&load.spec) };
    let parts = Element::List { class: "parts", items: found.parts.iter().map(describe).collect() };
    let deaths = load.parts.iter().flat_map(|part| {
        part.deaths.iter().map(|death| {
            let (name, how) = (harmless(&part.name), harmless(&death.how));
            paragraph("alarm", &format!("{name} died after {}: {how}", rounded(death.at_ns)))
        })
    });
    let remarks = found.remarks.iter().map(|remark| paragraph("note", &harmless(remark)));
    [spec, parts].into_iter().chain(deaths).chain(remarks).collect()
}

/// The rate of work of a part of a load: `scheduler 45.3k messages/s`.
fn describe(part: &PartFindings) -> String {
    let name = harmless(&part.name);
    let died = if part.deaths > 0 { ", died" } else { "" };
    match part.per_second {
        Some(rate) => format!("{name} {}{died}", per_second(rate, &harmless(&part.unit))),
        None => format!("{name} (nothing to count){died}"),
    }
}
