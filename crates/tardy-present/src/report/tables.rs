//! The tables of a report as CSV.

use tardy_analyse::findings;
use tardy_record::Run;
use tardy_record::csv::cell;

use super::page_view;
use crate::page::{Cell, Element, PageRow, PageTable};

/// A table of a report.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReportTable {
    /// The heading above it.
    pub title: String,
    /// Its rows as CSV, with a line of heads if it has some.
    pub csv: String,
}

/// Every table of the report of `runs`, in its order.
///
/// # Panics
/// As [`super::html`].
pub fn tables(runs: &[&Run], options: &findings::Options<'_>) -> Vec<ReportTable> {
    let mut found = Found { title: String::new(), tables: Vec::new() };
    for section in page_view::sections_of(runs, options) {
        section.iter().for_each(|element| found.element(element));
    }
    found.tables
}

struct Found {
    title: String,
    tables: Vec<ReportTable>,
}

impl Found {
    fn element(&mut self, element: &Element) {
        match element {
            Element::Heading { text, .. } => self.title.clone_from(text),
            Element::Table(table) => {
                self.tables.push(ReportTable { title: self.title.clone(), csv: csv(table) });
            }
            Element::Fold { summary, elements, .. } | Element::Rest { summary, elements } => {
                let outside = std::mem::replace(&mut self.title, summary.clone());
                elements.iter().for_each(|element| self.element(element));
                self.title = outside;
            }
            _ => {}
        }
    }
}

fn csv(table: &PageTable) -> String {
    let heads = (!table.heads.is_empty()).then(|| line(table.heads.iter().map(String::as_str)));
    let of_row = |row: &PageRow| {
        let cells: Vec<String> = row.cells.iter().map(text).collect();
        line(cells.iter().map(String::as_str))
    };
    heads.into_iter().chain(table.bodies.iter().flatten().chain(&table.foot).map(of_row)).collect()
}

fn text(cell: &Cell) -> String {
    match cell {
        Cell::Text(text) => text.clone(),
        Cell::Lines(lines) => lines.join("; "),
        Cell::Link(link) => link.text.clone(),
    }
}

fn line<'a>(cells: impl Iterator<Item = &'a str>) -> String {
    cells.map(|text| cell(text).to_string()).collect::<Vec<_>>().join(",") + "\n"
}
