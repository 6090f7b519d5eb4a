//! Repeated phases: how much the maxima of the rounds differ, and which wake method to use.

use tardy_analyse::rounds::Rounds as Found;
use tardy_compare::recommend;
use tardy_record::Run;

use crate::page::{Element, Page, PageTable, Place, heading, paragraph};
use crate::section::{Context, Part, Section, Text};
use crate::table::Table;
use crate::terminal_text::Style;
use crate::versus;
use tardy_plot::numbers::{harmless, microseconds, short};

/// Longer labels are shortened.
const LABEL_MAX: usize = 40;
const HEADS: [&str; 6] = ["maxima of repeated phases, us", "rounds", "lowest", "median", "highest", "ratio"];

/// Repeated phases.
pub struct Rounds;

impl Section for Rounds {
    fn name(&self) -> &'static str {
        "rounds"
    }

    fn text(&self, context: &Context<'_>, text: &mut Text) {
        let table = table(&context.findings.rounds);
        if !table.is_empty() {
            let mut block = text.block();
            block.table(&table);
            text.add(Part::Details, block);
        }
        for sentence in recommendations(context.run) {
            let mut block = text.block();
            block.paragraph(Style::Plain, &sentence);
            text.add(Part::Details, block);
        }
    }

    fn page(&self, context: &Context<'_>, page: &mut Page) {
        let table = table(&context.findings.rounds);
        if !table.is_empty() {
            let note = paragraph(
                "note",
                "The ratio of the highest to the lowest maximum shows how much the rounds differ.",
            );
            let table = Element::Table(PageTable::typeset("", &table));
            page.add(Place::Breakdown, [heading(3, "Maxima of the rounds"), table, note]);
        }
        page.add(Place::Breakdown, recommendations(context.run).iter().map(|text| paragraph("", text)));
    }
}

/// A sentence for each load, if the run measured several ways in interleaved rounds.
fn recommendations(run: &Run) -> Vec<String> {
    recommend::of_run(run).iter().map(versus::recommendation).collect()
}

fn table(rounds: &[Found]) -> Table {
    let mut table = Table::new(&HEADS);
    for rounds in rounds {
        table.push(vec![
            short(&harmless(&rounds.label), LABEL_MAX),
            rounds.maxima_ns.len().to_string(),
            microseconds(rounds.lowest_ns as f64),
            microseconds(rounds.median_ns as f64),
            microseconds(rounds.highest_ns as f64),
            format!("{:.2}", rounds.highest_ns as f64 / rounds.lowest_ns.max(1) as f64),
        ]);
    }
    table
}
