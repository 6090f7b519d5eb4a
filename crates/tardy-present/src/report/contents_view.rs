//! The top of a report of several chapters: their subjects, and a table of all results.

use serde::Serialize;
use tardy_analyse::findings::Findings;
use tardy_analyse::outcome::{self, Key, Outcome};
use tardy_analyse::published::{Match, Ours};
use tardy_record::Run;

use crate::published;
use tardy_plot::numbers::{harmless, quantile, short};

/// The top.
#[derive(Debug, Serialize)]
pub(super) struct ContentsView {
    pub(super) chapters: Vec<EntryView>,
    /// Whether any row has a published figure.
    pub(super) published: bool,
}

/// One chapter.
#[derive(Debug, Serialize)]
pub(super) struct EntryView {
    pub(super) anchor: String,
    pub(super) title: String,
    pub(super) about: String,
    rows: Vec<RowView>,
}

/// The results of one measurement on one kernel.
#[derive(Debug, Serialize)]
struct RowView {
    /// What was measured; empty if it is the same as in the row above.
    what: String,
    kernel: String,
    anchor: String,
    p50: String,
    p99: String,
    max: String,
    published: String,
    /// `invalid` or `meaningless` if the numbers must not be used; else empty.
    alarm: &'static str,
}

impl EntryView {
    pub(super) fn has_published(&self) -> bool {
        self.rows.iter().any(|row| !row.published.is_empty())
    }
}

/// One run of a chapter.
pub(super) struct Measured<'a> {
    pub(super) run: &'a Run,
    pub(super) name: String,
    pub(super) anchor: String,
    pub(super) findings: &'a Findings,
}

pub(super) fn entry(anchor: String, title: &str, about: &str, runs: &[Measured<'_>]) -> EntryView {
    let outcomes: Vec<Vec<Outcome>> = runs.iter().map(|one| outcome::of(one.run)).collect();
    let mut keys: Vec<&Key> = Vec::new();
    for one in outcomes.iter().flatten() {
        if !keys.contains(&&one.key) {
            keys.push(&one.key);
        }
    }
    let mut rows = Vec::new();
    for (key, label) in keys.iter().zip(outcome::labels(&keys)) {
        let mut what = short(&harmless(&label), 60);
        for (measured, outcomes) in runs.iter().zip(&outcomes) {
            if let Some(index) = outcomes.iter().position(|one| one.key == **key) {
                rows.push(row(std::mem::take(&mut what), measured, &outcomes[index], index));
            }
        }
    }
    for measured in runs.iter().zip(&outcomes).filter(|(_, outcomes)| outcomes.is_empty()).map(|(run, _)| run)
    {
        rows.push(RowView {
            what: "no latency was measured".to_owned(),
            kernel: measured.name.clone(),
            anchor: measured.anchor.clone(),
            p50: String::new(),
            p99: String::new(),
            max: String::new(),
            published: String::new(),
            alarm: alarm(measured.findings),
        });
    }
    EntryView { anchor, title: harmless(title), about: harmless(about), rows }
}

fn row(what: String, measured: &Measured<'_>, outcome: &Outcome, index: usize) -> RowView {
    let is_of_it = |ours: &Ours| ours.outcome == index;
    let matches = measured.findings.published.iter().flat_map(|compared| &compared.matches);
    let of_it = matches.filter(|one| one.ours.iter().any(is_of_it));
    let mut published: Vec<String> =
        of_it.filter_map(|one: &Match| published::highest(&one.published)).collect();
    published.dedup();
    RowView {
        what,
        kernel: measured.name.clone(),
        anchor: measured.anchor.clone(),
        p50: quantile(outcome.quantile("p50")).replace('-', "−"),
        p99: quantile(outcome.quantile("p99")).replace('-', "−"),
        max: tardy_plot::numbers::highest(outcome.row.max_ns, outcome.row.max_at_least, "–")
            .replace('-', "−"),
        published: published.join(" / "),
        alarm: alarm(measured.findings),
    }
}

fn alarm(findings: &Findings) -> &'static str {
    match findings.meaningless_because {
        _ if !findings.validity.valid => "invalid",
        Some(_) => "meaningless",
        None => "",
    }
}
