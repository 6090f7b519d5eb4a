//! A table that compares wake methods.

use super::distribution::{page_table, table};
use crate::page::{Element, Page, Place, heading, paragraph};
use crate::section::{Context, Part, Section, Text};

/// Longer labels are shortened in the terminal.
const LABEL_MAX: usize = 28;

/// Wake methods.
pub struct Wakes;

impl Section for Wakes {
    fn name(&self) -> &'static str {
        "wakes"
    }

    fn text(&self, context: &Context<'_>, text: &mut Text) {
        let wakes = &context.findings.wakes;
        if wakes.is_empty() {
            return;
        }
        let mut block = text.block();
        let table = table(wakes.iter().map(|wake| &wake.row), LABEL_MAX);
        block.titled_table("Wake methods, all CPUs and rounds", &table);
        text.add(Part::Details, block);
    }

    fn page(&self, context: &Context<'_>, page: &mut Page) {
        let wakes = &context.findings.wakes;
        if wakes.is_empty() {
            return;
        }
        let table = Element::Table(page_table(wakes.iter().map(|wake| &wake.row), None));
        let note = paragraph("note", "All CPUs and rounds of each method.");
        page.add(Place::Breakdown, [heading(3, "Wake methods"), table, note]);
    }
}
