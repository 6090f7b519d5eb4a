//! Functions that turn interrupts or preemption off and that did not run: as text, and for the page.

use std::fmt::Write;

use tardy_plot::numbers::{count, harmless};
use tardy_record::census::Coverage;

use crate::page::{Element, PageTable, folded_table, heading, paragraph};
use crate::terminal_text::folded;

/// The functions of one run, for the terminal.
pub(super) fn text(coverage: &Coverage, width: usize) -> String {
    let mut text = format!("\n{}\n", folded(&sentence(coverage), width).join("\n"));
    let _ = writeln!(text, "\nNever ran:\n{}", listed(&coverage.never, width));
    text
}

/// What one of two runs executed and the other did not. `sides` are A and B.
pub(super) fn difference_text(sides: [&Coverage; 2], width: usize) -> String {
    let mut text = String::new();
    for (name, own, other) in [("A", sides[0], sides[1]), ("B", sides[1], sides[0])] {
        let only: Vec<String> =
            own.ran.iter().filter(|function| other.ran.binary_search(function).is_err()).cloned().collect();
        let (ran, all) = (own.ran.len() as u64, (own.ran.len() + own.never.len()) as u64);
        let _ = writeln!(
            text,
            "\n{name} ran {} of {} functions that turn interrupts or preemption off; {} in {name} only:\n{}",
            count(ran),
            count(all),
            count(only.len() as u64),
            listed(&only, width)
        );
    }
    text
}

/// The functions for the page.
pub(super) fn elements(coverage: &Coverage) -> Vec<Element> {
    let rows = |functions: &[String]| functions.iter().map(|name| vec![harmless(name)]).collect();
    let mut elements = vec![heading(2, "What did not run"), paragraph("", &sentence(coverage))];
    elements.extend(folded_table("Never ran", PageTable::new("", &["function"], rows(&coverage.never))));
    elements.extend(folded_table("Ran", PageTable::new("", &["function"], rows(&coverage.ran))));
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
