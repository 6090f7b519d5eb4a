//! The machine: the guest for a run in the lab, and every fact with its source.

use tardy_record::{Run, facts};

use crate::lab;
use crate::page::{Element, Page, PageRow, PageTable, Place, heading};
use crate::section::{Context, Part, Section, Text};
use crate::terminal_text::Style;
use tardy_plot::numbers::{harmless, short};

/// Longer names are shortened.
const NAME_MAX: usize = 40;

/// The machine.
pub struct Machine;

impl Section for Machine {
    fn name(&self) -> &'static str {
        "machine"
    }

    fn text(&self, context: &Context<'_>, text: &mut Text) {
        let mut block = text.block();
        block.paragraphs(Style::Plain, &lab::lines(context.run));
        text.add(Part::Background, block);
    }

    fn page(&self, context: &Context<'_>, page: &mut Page) {
        let mut elements = vec![heading(2, "The machine")];
        if let Some(lab) = &context.run.lab {
            let rows = lab::rows(lab).into_iter().map(Vec::from).collect();
            elements.extend([heading(3, "The lab"), Element::Table(PageTable::new("facts", &[], rows))]);
        }
        elements.extend(facts(context.run).into_iter().enumerate().map(|(index, (section, rows))| {
            let table = PageTable { bodies: vec![rows], ..PageTable::new("facts", &[], Vec::new()) };
            let elements = vec![Element::Table(table)];
            Element::Fold { summary: section.to_owned(), open: index == 0, elements }
        }));
        page.add(Place::After, elements);
    }
}

/// Facts by section.
fn facts(run: &Run) -> Vec<(&'static str, Vec<PageRow>)> {
    let mut sections: Vec<(&'static str, Vec<PageRow>)> = Vec::new();
    for facts::Row { section, name, value, how } in run.facts.rows() {
        let class = if value == "unknown" { "unknown" } else { "" };
        let row = PageRow { class, ..PageRow::from(vec![name.to_owned(), harmless(&value), harmless(&how)]) };
        match sections.last_mut() {
            Some((last, rows)) if *last == section => rows.push(row),
            _ => sections.push((section, vec![row])),
        }
    }
    sections
}

/// The hypervisor of this machine, if it can take the CPU away without a trace in the guest. The lab's emulator cannot.
pub(super) fn hypervisor(run: &Run) -> Option<String> {
    let name = run.facts.cpu.hypervisor.get().filter(|name| *name != "none")?;
    run.lab.is_none().then(|| format!("the hypervisor ({})", short(&harmless(name), NAME_MAX)))
}
