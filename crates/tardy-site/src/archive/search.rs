//! The page of a search: what was asked, and the runs that were found.

use tardy_analyse::judgement::Judgement;
use tardy_archive::{Address, Entry};
use tardy_plot::numbers::{counted, harmless, short_inside};
use tardy_present::page::{Cell, Choice, Element, Field, Form, Judgement as Shown, Tone, paragraph};

use super::{NAME_MAX, board_path, cells, link, report_path, shown_name, table};
use crate::{SitePage, links};

/// The fields of a search as they were entered. An empty field asks for nothing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Asked {
    /// Part of the machine's name or board.
    pub board: String,
    /// Versions of the kernel.
    pub kernel: String,
    /// The preemption model.
    pub preemption: String,
    /// Options of the kernel's configuration, separated by spaces.
    pub config: String,
    /// The load.
    pub load: String,
    /// The first day.
    pub since: String,
    /// The last day.
    pub until: String,
    /// The verdict.
    pub verdict: String,
    /// The declared limit.
    pub limit: String,
    /// Part of a cause of late wake-ups.
    pub cause: String,
}

/// What was found.
#[derive(Clone, Debug, PartialEq)]
pub struct Found {
    /// What is wrong with a field; `None` if nothing is.
    pub problem: Option<String>,
    /// How many runs the whole archive has for this search.
    pub total: u64,
    /// Those of this page, the newest first.
    pub runs: Vec<(Address, Entry)>,
    /// The address of the next page; `None` if this is the last one.
    pub next: Option<String>,
}

pub(super) fn page(asked: &Asked, found: &Found) -> SitePage {
    let mut header = vec![links(vec![link("index.html", "all boards")]), form(asked)];
    header.extend(found.problem.as_ref().map(|problem| refused(problem)));
    let mut elements = vec![paragraph("note", &format!("{}, the newest first.", runs(found.total)))];
    let rows = found.runs.iter().map(row).collect();
    elements.push(Element::Table(table(
        &["run", "board", "started", "kernel", "readings", "load", "worst, µs", "p99.9, µs", "verdict"],
        rows,
    )));
    elements.extend(found.next.as_ref().map(|next| links(vec![link(next, "older runs")])));
    let sections = if found.problem.is_some() { Vec::new() } else { vec![elements] };
    SitePage {
        path: "search.html".to_owned(),
        title: "Runs".to_owned(),
        header,
        sections,
        run_count: found.total as usize,
    }
}

fn runs(total: u64) -> String {
    counted(total, "run", "runs")
}

fn refused(problem: &str) -> Element {
    Element::Judgement(Shown {
        tone: Tone::Neutral,
        alert: true,
        strong: harmless(problem),
        paragraphs: Vec::new(),
        items: Vec::new(),
    })
}

/// The form of a search.
pub(super) fn form(asked: &Asked) -> Element {
    let text = |name, label, value: &String, example| Field {
        name,
        label,
        value: harmless(value),
        example,
        choices: Vec::new(),
    };
    let choices = |names: &[&str]| {
        let choice = |name: &&str| Choice { value: (*name).to_owned(), text: name.replace('-', " ") };
        std::iter::once(Choice { value: String::new(), text: "any".to_owned() })
            .chain(names.iter().map(choice))
            .collect()
    };
    let choice = |name, label, value: &String, names: &[&str]| Field {
        choices: choices(names),
        ..text(name, label, value, "")
    };
    Element::Form(Form {
        action: "search.html".to_owned(),
        changes: false,
        fields: vec![
            text("board", "board", &asked.board, "rack3"),
            text("kernel", "kernel", &asked.kernel, "6.1..6.12"),
            choice(
                "preemption",
                "preemption",
                &asked.preemption,
                &["rt", "full", "lazy", "voluntary", "none"],
            ),
            text("config", "configuration", &asked.config, "HZ=1000"),
            text("load", "load", &asked.load, "doload"),
            text("since", "since", &asked.since, "2026-11-01"),
            text("until", "until", &asked.until, "2026-11-30"),
            choice("verdict", "verdict", &asked.verdict, &Judgement::ALL.map(Judgement::name)),
            text("limit", "declared limit", &asked.limit, "100us"),
            text("cause", "cause", &asked.cause, "irq/39"),
        ],
        button: "Find runs",
    })
}

fn row((address, entry): &(Address, Entry)) -> Vec<Cell> {
    let mut row = vec![
        Cell::Link(link(&report_path(address), &short_inside(&harmless(&entry.row.name), NAME_MAX))),
        Cell::Link(link(&board_path(&entry.machine), &shown_name(&entry.machine))),
    ];
    row.extend(cells(entry, ""));
    row
}
