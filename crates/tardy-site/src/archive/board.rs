//! The page of a board: where its runs changed, their figures and distributions over time, and every run.

use tardy_plot::numbers::{counted, harmless, short_inside};
use tardy_present::history as shown;
use tardy_present::page::{Cell, Choice, Element, Field, Form, heading, paragraph};

use super::{
    About, Board, KnownRun, NAME_MAX, cells, comparison_path, day, link, report_path, run_path, shown_name,
    table,
};
use crate::{SitePage, links};

pub(super) fn page(board: &Board, about: &About) -> SitePage {
    let mut header = vec![links(vec![link("../index.html", "all boards")])];
    header.extend(shown::summary(&board.history));
    let mut sections = shown::sections(&board.history);
    sections.push(runs(board, about));
    SitePage {
        path: super::board_path(&board.name),
        title: shown_name(&board.name),
        header,
        sections,
        run_count: board.runs.len(),
    }
}

fn runs(board: &Board, about: &About) -> Vec<Element> {
    let heads = [
        "run",
        "started",
        "kernel",
        "readings",
        "load",
        "worst, µs",
        "p99.9, µs",
        "verdict",
        "before",
        "file",
    ];
    let rows = (1..).zip(&board.runs).map(row);
    let mut rows: Vec<Vec<Cell>> = rows.collect();
    rows.reverse();
    let newest = board.runs.iter().rev().take(2).map(|run| run.address.path().display().to_string());
    let paths: Vec<String> = newest.map(|path| format!("{}/{path}", harmless(&about.archive))).collect();
    let mut elements = vec![
        heading(2, counted(board.runs.len() as u64, "run", "runs")),
        paragraph("note", "The newest first. \"Before\" compares a run with the one before it."),
        Element::Table(table(&heads, rows)),
    ];
    if about.served.is_some() && board.runs.len() > 1 {
        elements.push(paragraph("note", "Any two runs of this board are compared:"));
        elements.push(comparison_form(board));
    } else if let [newest, before] = &paths[..] {
        elements.push(paragraph("note", "Any two runs are compared by:"));
        elements.push(Element::Code { text: format!("tardy report {before} {newest} -o both.html") });
    }
    elements
}

fn comparison_form(board: &Board) -> Element {
    let choice = |(number, run): (usize, &KnownRun)| Choice {
        value: run.address.to_string(),
        text: format!("{} {}", run_name(number, run), day(&run.entry)),
    };
    let mut choices: Vec<Choice> = (1..).zip(&board.runs).map(choice).collect();
    choices.reverse();
    let field = |name, at: usize| Field {
        name,
        label: name,
        value: choices[at].value.clone(),
        example: "",
        choices: choices.clone(),
    };
    Element::Form(Form {
        action: "../compare.html".to_owned(),
        changes: false,
        fields: vec![field("base", 1), field("candidate", 0)],
        button: "Compare",
    })
}

/// The number of a run among those of the board, and its name.
fn run_name(number: usize, run: &KnownRun) -> String {
    format!("{number} {}", short_inside(&harmless(&run.entry.row.name), NAME_MAX))
}

fn row((number, run): (usize, &KnownRun)) -> Vec<Cell> {
    let KnownRun { address, entry, has_report, has_comparison } = run;
    let name = run_name(number, run);
    let below = |is_there: bool, path: String, text: &str| match is_there {
        true => Cell::Link(link(&format!("../{path}"), text)),
        false => Cell::Text(String::new()),
    };
    let mut row = vec![if *has_report { below(true, report_path(address), &name) } else { Cell::Text(name) }];
    row.extend(cells(entry, "../"));
    row.push(below(*has_comparison, comparison_path(address), "compared"));
    row.push(below(*has_report, run_path(address), "file"));
    row
}
