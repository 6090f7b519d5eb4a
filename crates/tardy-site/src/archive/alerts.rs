//! The pages of alerts.

use tardy_alert::{Alert, State};
use tardy_plot::numbers::{counted, harmless};
use tardy_present::page::{Cell, Choice, Element, Field, Form, PageTable, heading, paragraph};

use tardy_present::terminal_text::typographic;

use super::{alert_path, board_path, link, report_path, shown_name, table};
use crate::{SitePage, links};

pub(super) fn all(alerts: &[&Alert], rules: &Result<usize, String>) -> SitePage {
    let about = match rules {
        Ok(0) => "There is no rule: write rules into server/alerts.toml of the archive.".to_owned(),
        Ok(rules) => format!("{} decide what is an alert.", counted(*rules as u64, "rule", "rules")),
        Err(reason) => {
            format!(
                "No alerts are raised until this is mended, and then for all runs that arrived meanwhile: {}",
                harmless(reason)
            )
        }
    };
    let header = vec![
        links(vec![link("index.html", "all boards"), link("alerts.atom", "feed")]),
        paragraph("note", &about),
    ];
    let (pending, done): (Vec<&Alert>, Vec<&Alert>) =
        alerts.iter().copied().partition(|alert| alert.state.is_pending());
    let sections = [("Pending", pending), ("Invalid and fixed", done)];
    SitePage {
        path: "alerts.html".to_owned(),
        title: counted(alerts.len() as u64, "alert", "alerts"),
        header,
        sections: sections.into_iter().filter_map(|(title, alerts)| list(title, &alerts)).collect(),
        run_count: alerts.iter().map(|alert| alert.runs as usize).sum(),
    }
}

fn list(title: &str, alerts: &[&Alert]) -> Option<Vec<Element>> {
    let row = |alert: &&Alert| {
        vec![
            Cell::Link(link(&alert_path(&alert.id), &harmless(&alert.rule))),
            Cell::Link(link(&board_path(&alert.board), &shown_name(&alert.board))),
            Cell::Text(alert.state.name().to_owned()),
            Cell::Text(alert.raised_at.clone()),
            Cell::Text(typographic(&harmless(&alert.text))),
        ]
    };
    let rows: Vec<Vec<Cell>> = alerts.iter().map(row).collect();
    let heads = ["rule", "board", "state", "raised", "what was found"];
    let table = PageTable { class: "words-last", ..table(&heads, rows) };
    (!alerts.is_empty()).then(|| vec![heading(2, title), Element::Table(table)])
}

pub(super) fn one(alert: &Alert) -> SitePage {
    let board = link(&format!("../{}", board_path(&alert.board)), &shown_name(&alert.board));
    let header = vec![
        links(vec![link("../alerts.html", "all alerts"), board]),
        paragraph("lead", &harmless(&alert.text)),
        paragraph(
            "note",
            &format!(
                "State: {}. Raised {}; {} broke the rule.",
                alert.state.name(),
                alert.raised_at,
                counted(alert.runs, "run", "runs")
            ),
        ),
        links(vec![
            link(&format!("../{}", report_path(&alert.run)), "the first run"),
            link(&format!("../{}", report_path(&alert.last_run)), "the last run"),
        ]),
    ];
    let mut states = vec![
        heading(2, "State"),
        paragraph(
            "note",
            "A state is a note of people to each other. Verdicts are computed from the runs, whatever the state is.",
        ),
    ];
    let row = |note: &tardy_alert::Note| {
        vec![note.at.clone(), note.state.name().to_owned(), harmless(&note.by), harmless(&note.text)]
    };
    let rows: Vec<Vec<String>> = alert.notes.iter().map(row).collect();
    if !rows.is_empty() {
        states.push(Element::Table(PageTable::new("facts", &["when", "state", "by", "note"], rows)));
    }
    states.push(form(alert));
    SitePage {
        path: alert_path(&alert.id),
        title: format!("{}: {}", harmless(&alert.rule), shown_name(&alert.board)),
        header,
        sections: vec![states],
        run_count: alert.runs as usize,
    }
}

fn form(alert: &Alert) -> Element {
    let choice = |state: State| Choice { value: state.name().to_owned(), text: state.name().to_owned() };
    let field = |name, label, value: &str| Field {
        name,
        label,
        value: value.to_owned(),
        example: "",
        choices: Vec::new(),
    };
    Element::Form(Form {
        action: format!("{}.html", alert.id),
        changes: true,
        fields: vec![
            Field {
                choices: State::ALL.map(choice).to_vec(),
                ..field("state", "new state", alert.state.name())
            },
            field("note", "note", ""),
        ],
        button: "Set the state",
    })
}
