//! Two runs' explained wake-ups against each other, as a page.

use tardy_compare::explanations::{Difference, FunctionDifference, WakeupDifference};
use tardy_plot::icicle_difference;
use tardy_plot::numbers::{count, harmless};
use tardy_plot::terms::explained;
use tardy_record::explanation::Explanations;

use super::coverage;
use super::difference::{calls, headline, named, signed};
use tardy_present::figures::{self, Marks};
use tardy_present::page::{Element, PageTable, RunPage, figure, folded_table, heading, paragraph};
use tardy_present::report;

/// Functions in the table.
const SHOWN: usize = 100;

/// The page. `made_by` names the program.
pub(super) fn html(difference: &Difference, sides: [&Explanations; 2], made_by: &str) -> String {
    let [a, b] = sides.map(|side| format!("{} ({})", harmless(&side.run), harmless(&side.kernel)));
    let title = "What one kernel executes and the other does not".to_owned();
    let header = vec![
        heading(1, title.clone()),
        paragraph(
            "",
            &format!("A is {a}, B is {b}. Both guests were run again and every instruction was counted."),
        ),
    ];
    let mut sections: Vec<Vec<Element>> =
        difference.wakeups.iter().enumerate().map(|(number, one)| section(one, number)).collect();
    sections.extend(difference.coverage.iter().map(coverage::difference_elements));
    let page = RunPage { id: "difference".to_owned(), header, sections, data: String::new() };
    report::html_with(report::EXPLANATION, title, page, 2, made_by)
}

fn section(difference: &WakeupDifference, number: usize) -> Vec<Element> {
    let which = explained(difference.which, difference.extent);
    let title = format!("{}, {}: {which}", harmless(&difference.phase), harmless(&difference.series));
    let mut elements = vec![heading(2, title.clone()), paragraph("", &headline(difference))];
    let plot = figures::both(&format!("difference-{number}"), Marks::default(), |id, options| {
        Some(icicle_difference::draw(id, &title, &difference.merged, options))
    });
    let caption = "A box is a function below the one that called it. Blue: A has more instructions in it, orange: B has; strong colours: only \
                   one of them executes it. Click a box to magnify it, and outside of the boxes to go back.";
    elements.extend(figure(plot, caption));
    let heads = ["function", "change", "A", "B", "calls"];
    let rows = difference.functions.iter().take(SHOWN).map(row).collect();
    elements.extend(folded_table("Functions by their change", PageTable::new("", &heads, rows)));
    elements
}

fn row(function: &FunctionDifference) -> Vec<String> {
    let [a, b] = function.own.map(count);
    vec![named(function), signed(function.change()), a, b, calls(function)]
}
