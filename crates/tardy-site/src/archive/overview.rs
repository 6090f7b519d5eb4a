//! The first page: every board with its newest run, and the kernels.

use serde::{Deserialize, Serialize};
use tardy_archive::Entry;
use tardy_plot::numbers::{counted, harmless};
use tardy_present::page::{Cell, Element, Link, PageTable, heading, paragraph};
use tardy_present::terminal_text::typographic;

use super::search::{self, Asked};
use super::{About, Served, board_path, cells, kernel_path, link, shown_name, table};
use crate::{SitePage, links};

/// What the first page shows of a board.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct BoardSummary {
    /// Its newest run.
    pub newest: Entry,
    /// How many runs it has.
    pub runs: usize,
    /// The newest change of its figures, as a sentence; `None` if there is none.
    pub change: Option<String>,
}

pub(super) fn page(boards: &[BoardSummary], kernels: &[String], runs: usize, about: &About) -> SitePage {
    let title = counted(boards.len() as u64, "board", "boards");
    let mut header = vec![
        paragraph(
            "",
            &format!(
                "{} on {}.",
                counted(runs as u64, "run", "runs"),
                counted(kernels.len() as u64, "kernel", "kernels")
            ),
        ),
        links(links_of(about)),
    ];
    header.push(match about.served {
        Some(_) => search::form(&Asked::default()),
        None => Element::Code { text: harmless(&about.command) },
    });
    let mut sections = vec![boards_table(boards)];
    sections.extend(changes(boards));
    sections.push(kernels_list(kernels));
    SitePage { path: "index.html".to_owned(), title, header, sections, run_count: runs }
}

fn links_of(about: &About) -> Vec<Link> {
    let published = link("published.html", "published results");
    match about.served {
        Some(Served { pending_alerts }) => vec![
            link("alerts.html", &format!("alerts: {pending_alerts} pending")),
            link("search.html", "all runs"),
            published,
            link("api/v1/boards", "all boards as JSON"),
            link("api/v1/openapi.json", "API"),
        ],
        None => vec![published, link("site.json", "all boards as JSON")],
    }
}

fn boards_table(boards: &[BoardSummary]) -> Vec<Element> {
    let heads =
        ["board", "runs", "newest", "kernel", "readings", "load", "worst, µs", "p99.9, µs", "verdict"];
    let row = |board: &BoardSummary| {
        let machine = &board.newest.machine;
        let mut row = vec![
            Cell::Link(link(&board_path(machine), &shown_name(machine))),
            Cell::Text(board.runs.to_string()),
        ];
        row.extend(cells(&board.newest, ""));
        row
    };
    vec![
        heading(2, "Boards"),
        paragraph("note", "With the newest run of each."),
        Element::Table(table(&heads, boards.iter().map(row).collect())),
    ]
}

/// The newest change of each board that has one.
fn changes(boards: &[BoardSummary]) -> Option<Vec<Element>> {
    let row = |board: &BoardSummary| {
        let machine = &board.newest.machine;
        let name = Cell::Link(link(&board_path(machine), &shown_name(machine)));
        Some(vec![name, Cell::Text(typographic(board.change.as_ref()?))])
    };
    let rows: Vec<Vec<Cell>> = boards.iter().filter_map(row).collect();
    let shown = || {
        vec![
            heading(2, "Newest changes"),
            Element::Table(PageTable { class: "facts", ..table(&["board", "change"], rows.clone()) }),
        ]
    };
    (!rows.is_empty()).then(shown)
}

fn kernels_list(kernels: &[String]) -> Vec<Element> {
    let all = kernels.iter().map(|release| link(&kernel_path(release), &harmless(release))).collect();
    vec![heading(2, "Kernels"), links(all)]
}
