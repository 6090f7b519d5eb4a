//! Functions that turn interrupts or preemption off and that did not run: as text, and for the page.

use std::fmt::Write;

use tardy_compare::explanations::CoverageDifference;
use tardy_plot::numbers::{count, harmless};
use tardy_record::census::Coverage;

use tardy_present::page::{Element, PageTable, folded_table, heading, paragraph};
use tardy_present::terminal_text::folded;

/// Functions that the terminal lists.
const SHOWN: usize = 60;

/// The functions of one run, for the terminal.
pub(super) fn text(coverage: &Coverage, width: usize) -> String {
    let mut text = format!("\n{}\n", folded(&sentence(coverage), width).join("\n"));
    let shown = &coverage.never[..coverage.never.len().min(SHOWN)];
    let _ = writeln!(text, "\nNever ran:\n{}", listed(shown, width));
    if coverage.never.len() > SHOWN {
        let others = count((coverage.never.len() - SHOWN) as u64);
        let _ = writeln!(text, "  and {others} others, which a page (-o NAME.html) and --json list");
    }
    text
}

/// What one of two runs executed and the other did not.
pub(super) fn difference_text(difference: &CoverageDifference, width: usize) -> String {
    let sides = sentences(difference).into_iter().zip(&difference.only);
    sides.map(|(sentence, only)| format!("\n{sentence}:\n{}\n", listed(only, width))).collect()
}

/// The same for the page.
pub(super) fn difference_elements(difference: &CoverageDifference) -> Vec<Element> {
    let mut elements = vec![heading(2, "What only one of them ran")];
    for (sentence, only) in sentences(difference).into_iter().zip(&difference.only) {
        elements.push(paragraph("", &format!("{sentence}.")));
        elements.extend(folded_table("Functions", table(only)));
    }
    elements
}

fn sentences(difference: &CoverageDifference) -> [String; 2] {
    [("A", 0), ("B", 1)].map(|(name, side)| {
        let numbers = [difference.ran[side], difference.all[side], difference.only[side].len()];
        let [ran, all, only] = numbers.map(|number| count(number as u64));
        format!("{name} ran {ran} of {all} functions that turn interrupts or preemption off; {only} functions ran in {name} only")
    })
}

fn table(functions: &[String]) -> PageTable {
    PageTable::new("", &["function"], functions.iter().map(|name| vec![harmless(name)]).collect())
}

/// The functions for the page.
pub(super) fn elements(coverage: &Coverage) -> Vec<Element> {
    let mut elements = vec![heading(2, "What did not run"), paragraph("", &sentence(coverage))];
    elements.extend(folded_table("Never ran", table(&coverage.never)));
    elements.extend(folded_table("Ran", table(&coverage.ran)));
    elements
}

fn sentence(coverage: &Coverage) -> String {
    let (ran, never) = (coverage.ran.len() as u64, coverage.never.len() as u64);
    format!(
        "{} functions of the kernel and its modules turn interrupts or preemption off. {} of them ran between the first measured wake-up \
         and the last, {} never did: nothing here says how long those are.",
        count(ran + never),
        count(ran),
        count(never)
    )
}

fn listed(functions: &[String], width: usize) -> String {
    let names: Vec<String> = functions.iter().map(|name| harmless(name)).collect();
    let lines = folded(&names.join(" "), width.saturating_sub(2));
    lines.into_iter().map(|line| format!("  {line}")).collect::<Vec<_>>().join("\n")
}
