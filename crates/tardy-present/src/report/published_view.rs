//! What the report shows of published results beside runs.

use serde::Serialize;
use tardy_analyse::findings::Findings;
use tardy_analyse::published::{Match, Ours, Placed, PlacedRow, Sameness};

use super::run_tables::TableView;
use crate::latency::{at_least, harmless, microseconds, short, three_digits, typeset};
use crate::{published, sentence};

/// Published results beside one run.
#[derive(Debug, Serialize)]
pub(super) struct PublishedView {
    placed: Option<PlacedView>,
    matches: Vec<MatchView>,
    left_out: Vec<String>,
}

/// The run among all of its kind.
#[derive(Debug, Serialize)]
struct PlacedView {
    sentence: String,
    rows: Vec<PlacedRowView>,
}

#[derive(Debug, Serialize)]
struct PlacedRowView {
    max: String,
    what: String,
    id: String,
    here: bool,
}

#[derive(Debug, Serialize)]
struct MatchView {
    /// The two numbers.
    heading: String,
    id: String,
    source: String,
    remarks: Vec<String>,
    nothing: bool,
    different: String,
    unknown: String,
    figures: Vec<[String; 3]>,
    circumstances: Vec<CircumstanceView>,
}

#[derive(Debug, Serialize)]
struct CircumstanceView {
    name: &'static str,
    published: String,
    ours: String,
    sameness: &'static str,
}

pub(super) fn of(findings: &Findings) -> Option<PublishedView> {
    let (beside, placed) = (findings.published.as_ref(), findings.placed.as_ref());
    (beside.is_some() || placed.is_some()).then(|| PublishedView {
        placed: placed.map(placed_view),
        matches: beside.iter().flat_map(|beside| &beside.matches).map(match_view).collect(),
        left_out: beside.map(published::left_out).unwrap_or_default(),
    })
}

fn placed_view(placed: &Placed) -> PlacedView {
    let row = |row: &PlacedRow| PlacedRowView {
        max: published::highest(&row.figures).unwrap_or_default(),
        what: harmless(&row.what),
        id: row.id.as_deref().map(harmless).unwrap_or_default(),
        here: row.id.is_none(),
    };
    PlacedView { sentence: published::placed(placed), rows: placed.rows.iter().map(row).collect() }
}

fn match_view(one: &Match) -> MatchView {
    let view = |row: &tardy_analyse::published::Circumstance| {
        let [published, ours] = published::sides(row);
        CircumstanceView { name: row.name, published, ours, sameness: row.sameness.name() }
    };
    MatchView {
        heading: heading(one),
        id: harmless(&one.id),
        source: harmless(&one.source),
        remarks: one.remarks.iter().map(|text| sentence::capitalised(&harmless(text))).collect(),
        nothing: one.ours.is_empty(),
        different: published::names(one, Sameness::Different).join(", "),
        unknown: published::names(one, Sameness::Unknown).join(", "),
        figures: figures(one),
        circumstances: one.circumstances.iter().map(view).collect(),
    }
}

/// `177 µs published, 32.1 µs here`.
fn heading(one: &Match) -> String {
    let published = published::highest(&one.published)
        .map_or_else(|| "No figure published".to_owned(), |text| format!("{text}\u{a0}µs published"));
    let place = |ours: &Ours| if one.ours.len() > 1 { format!(" ({})", label(ours)) } else { String::new() };
    let here = |ours: &Ours| Some(format!("{}{}", typeset(ours.max_ns? as f64), place(ours)));
    let here: Vec<String> = one.ours.iter().filter_map(here).collect();
    let heading = match here.as_slice() {
        [] => format!("{published}, nothing here"),
        here => format!("{published}, {} here", here.join(" and ")),
    };
    sentence::capitalised(&heading)
}

fn label(ours: &Ours) -> String {
    short(&harmless(&ours.label), 40)
}

/// Figures in µs: a name, the published one, what there is here.
fn figures(one: &Match) -> Vec<[String; 3]> {
    let us =
        |us: Option<f64>| us.map_or_else(|| "not given".to_owned(), |us| three_digits(us).replace('-', "−"));
    let figure = |ns: &dyn Fn(&Ours) -> Option<f64>, none: &str, is_tail: bool| {
        let text = |ours: &Ours| {
            let value = ns(ours).map_or_else(|| none.to_owned(), |ns| microseconds(ns).replace('-', "−"));
            let value = at_least(value, is_tail && ours.p9999_at_least);
            if one.ours.len() > 1 { format!("{value} ({})", label(ours)) } else { value }
        };
        one.ours.iter().map(text).collect::<Vec<_>>().join("; ")
    };
    let here = |ns: &dyn Fn(&Ours) -> Option<f64>, none: &str| figure(ns, none, false);
    let whole = |value: Option<i64>| value.map(|ns| ns as f64);
    let tail = figure(&|ours| whole(ours.p9999_ns), "n/a: too few", true);
    let max = published::highest(&one.published).unwrap_or_else(|| "not given".to_owned());
    vec![
        ["max".to_owned(), max, here(&|ours| whole(ours.max_ns), "–")],
        ["p99.99".to_owned(), "not given".to_owned(), tail],
        ["mean".to_owned(), us(one.published.avg_us), here(&|ours| ours.mean_ns, "–")],
        ["min".to_owned(), us(one.published.min_us), here(&|ours| whole(ours.min_ns), "–")],
    ]
}

/// Every published result beside every one of several runs, by their names; nothing where none has one.
pub(super) fn overview(runs: &[(&String, &Findings)]) -> Option<TableView> {
    let row = |name: &str, one: &Match| {
        let max = published::highest(&one.published).unwrap_or_else(|| "no figure".to_owned());
        let us =
            |ns: Option<i64>, none: &str| ns.map_or_else(|| none.to_owned(), |ns| microseconds(ns as f64));
        let differs = published::names(one, Sameness::Different).join(", ");
        let row = move |ours: &Ours| {
            let of = if one.ours.len() > 1 { format!(", {}", label(ours)) } else { String::new() };
            vec![
                harmless(&one.id),
                max.clone(),
                us(ours.max_ns, "–"),
                at_least(us(ours.p9999_ns, "n/a"), ours.p9999_at_least),
                format!("{name}{of}"),
                differs.clone(),
            ]
        };
        one.ours.iter().map(row).collect::<Vec<_>>()
    };
    let of_run = |(name, findings): &(&String, &Findings)| {
        let beside = findings.published.as_ref();
        beside.map_or_else(Vec::new, |beside| {
            beside.matches.iter().flat_map(|one| row(name, one)).collect::<Vec<_>>()
        })
    };
    let rows: Vec<Vec<String>> = runs.iter().flat_map(of_run).collect();
    let heads = vec!["max, µs", "published", "here", "p99.99 here", "measured on", "different"];
    (!rows.is_empty()).then_some(TableView { heads, rows })
}
