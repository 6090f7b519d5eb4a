//! Explanations as a page.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use tardy_plot::icicle;
use tardy_plot::numbers::{count, harmless, per_cent, with_unit};
use tardy_plot::terms::part_name;
use tardy_record::explanation::{Call, ExplainedWakeup, Explanations, KindOfParts};

use super::{boot, census, coverage, headline, held_off, names};
use tardy_present::figures::{self, Marks};
use tardy_present::page::{Element, PageTable, RunPage, figure, folded_table, heading, paragraph};
use tardy_present::report;

/// Functions in the table of those with the most instructions of their own.
const LONGEST: usize = 20;

/// The page. `made_by` names the program.
pub(super) fn html(explanations: &Explanations, made_by: &str) -> String {
    let title = format!("Late wake-ups of {}, explained", harmless(&explanations.run));
    let about = format!(
        "Kernel {}. The guest was run again and every instruction was counted; it measured the same numbers, to the byte. An \
         instruction takes {} ns of the guest's time, which is not a board's time.",
        harmless(&explanations.kernel),
        explanations.ns_per_instruction
    );
    let header = vec![heading(1, title.clone()), paragraph("", &about)];
    let wakeups = explanations.wakeups.iter().enumerate();
    let mut sections: Vec<_> =
        wakeups.map(|(number, wakeup)| section(explanations, wakeup, number)).collect();
    let ns = explanations.ns_per_instruction;
    sections.extend(explanations.census.iter().map(|census| census::elements(census, ns)));
    sections.extend(explanations.coverage.iter().map(coverage::elements));
    sections.extend(explanations.boot.iter().map(|boot| boot::elements(boot, ns)));
    let page = RunPage { id: "explanation".to_owned(), header, sections, data: String::new() };
    report::html_with(report::EXPLANATION, title, page, 1, made_by)
}

fn section(explanations: &Explanations, wakeup: &ExplainedWakeup, number: usize) -> Vec<Element> {
    let ns = explanations.ns_per_instruction;
    let ExplainedWakeup { phase, series, explanation, .. } = wakeup;
    let title = format!("{}, {}", harmless(phase), harmless(series));
    let mut elements = vec![heading(2, title.clone()), paragraph("", &headline(explanations, wakeup))];
    let held = explanation.held_off.as_ref();
    elements.extend(held.map(|held| paragraph("", &format!("Interrupts were {}.", held_off(held, ns)))));
    let plot = figures::both(&format!("icicle-{number}"), Marks::default(), |id, options| {
        Some(icicle::draw(id, &title, explanation, ns, options))
    });
    let caption = "A box is an execution of a function, below the function that called it; the strip above shows the parts. Click a \
                   box to magnify it, and outside of the boxes to go back. Of more than 4,000 executions, the longest are drawn.";
    elements.extend(figure(plot, caption));
    let heads = ["part", "time", "instructions", "share"];
    elements.push(Element::Table(PageTable::new("", &heads, parts(wakeup, ns))));
    let heads = ["function", "calls", "own time", "instructions", "share"];
    let table = PageTable::new("", &heads, functions(wakeup, ns));
    elements.extend(folded_table("Functions by their own instructions", table));
    elements
}

fn parts(wakeup: &ExplainedWakeup, ns: u64) -> Vec<Vec<String>> {
    let name = |part: &KindOfParts<'_>| match part.named.is_empty() {
        true => part_name(part.kind).to_owned(),
        false => format!("{} ({})", part_name(part.kind), names(part, ns)),
    };
    let parts = wakeup.explanation.kinds();
    parts.iter().map(|part| row(vec![name(part)], part.instructions, wakeup, ns)).collect()
}

/// The functions with the most instructions of their own, wherever they were called.
fn functions(wakeup: &ExplainedWakeup, ns: u64) -> Vec<Vec<String>> {
    let mut all = BTreeMap::new();
    wakeup.explanation.calls.iter().for_each(|call| add(&mut all, call));
    let mut all: Vec<(&str, (u64, u64))> = all.into_iter().collect();
    all.sort_by_key(|(_, (_, own))| Reverse(*own));
    let longest = all.into_iter().take(LONGEST);
    longest.map(|(name, (calls, own))| row(vec![harmless(name), count(calls)], own, wakeup, ns)).collect()
}

fn row(mut cells: Vec<String>, instructions: u64, wakeup: &ExplainedWakeup, ns: u64) -> Vec<String> {
    let share = instructions as f64 / wakeup.explanation.instructions.max(1) as f64;
    cells.extend([with_unit((instructions * ns) as f64), count(instructions), per_cent(share)]);
    cells
}

fn add<'a>(all: &mut BTreeMap<&'a str, (u64, u64)>, call: &'a Call) {
    let sums = all.entry(&call.name).or_default();
    sums.0 += call.count;
    sums.1 += call.own;
    call.calls.iter().for_each(|inner| add(all, inner));
}
