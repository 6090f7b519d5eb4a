//! The report's page as data for its templates.

use serde::Serialize;
use tardy_analyse::findings;
use tardy_analyse::findings::Findings;
use tardy_analyse::tail::Depth;
use tardy_compare::side_by_side;
use tardy_record::Run;

use super::comparison_view::{self, ComparisonView};
use super::contents_view::{self, ContentsView, EntryView, Measured};
use super::run_page;
use super::{Assets, Chapter, REPORT};
use crate::page::{Element, RunPage};
use crate::section::Section;
use crate::sections::{self, flows};
use tardy_plot::curve;
use tardy_plot::numbers::harmless;

/// The page.
#[derive(Debug, Serialize)]
pub(super) struct PageView {
    title: String,
    #[serde(flatten)]
    assets: Assets,
    /// The contents; `None` on the page of one experiment.
    contents: Option<ContentsView>,
    chapters: Vec<ChapterView>,
    run_count: usize,
    made_by: String,
}

/// Runs of one experiment.
#[derive(Debug, Serialize)]
struct ChapterView {
    id: String,
    title: String,
    about: String,
    comparison: Option<ComparisonView>,
    runs: Vec<RunPage>,
}

/// The page of one experiment.
pub(super) fn of(sections: &[&dyn Section], runs: &[&Run], options: &findings::Options<'_>) -> PageView {
    let found = found(runs, options);
    let title = match (runs, &found[..]) {
        ([run], [findings, ..]) => flows::headline(findings).unwrap_or_else(|| harmless(&run.headline())),
        (runs, _) => format!("{} runs compared", runs.len()),
    };
    let chapter = ChapterView {
        id: String::new(),
        title: title.clone(),
        about: String::new(),
        comparison: comparison(sections, runs, &found, options, ""),
        runs: run_pages(sections, runs, &found, ""),
    };
    page(title, None, vec![chapter], runs)
}

/// The elements of the report of `runs`, section by section: those of the comparison, then of each run.
pub(super) fn sections_of(runs: &[&Run], options: &findings::Options<'_>) -> Vec<Vec<Element>> {
    let found = found(runs, options);
    let comparison = comparison(sections::ALL, runs, &found, options, "");
    let pages = run_pages(sections::ALL, runs, &found, "");
    let of_runs = pages.into_iter().flat_map(|page| std::iter::once(page.header).chain(page.sections));
    comparison.into_iter().flat_map(|comparison| comparison.sections).chain(of_runs).collect()
}

/// The page of several experiments, with a chapter for each.
pub(super) fn of_chapters(
    sections: &[&dyn Section],
    chapters: &[Chapter<'_>],
    options: &findings::Options<'_>,
) -> PageView {
    let mut entries: Vec<EntryView> = Vec::new();
    let mut views = Vec::new();
    for (number, chapter) in (1..).zip(chapters) {
        let (id, prefix) = (format!("chapter{number}"), format!("chapter{number}-"));
        let found = found(&chapter.runs, options);
        let runs = run_pages(sections, &chapter.runs, &found, &prefix);
        let names = curve::names(&chapter.runs);
        let measured: Vec<Measured<'_>> = chapter
            .runs
            .iter()
            .zip(names)
            .zip(found.iter().zip(&runs))
            .map(|((run, name), (findings, view))| Measured { run, name, anchor: view.id.clone(), findings })
            .collect();
        entries.push(contents_view::entry(id.clone(), &chapter.title, &chapter.about, &measured));
        views.push(ChapterView {
            id,
            title: harmless(&chapter.title),
            about: harmless(&chapter.about),
            comparison: comparison(sections, &chapter.runs, &found, options, &prefix),
            runs,
        });
    }
    let runs: Vec<&Run> = chapters.iter().flat_map(|chapter| chapter.runs.iter().copied()).collect();
    let experiments = if chapters.len() == 1 { "experiment" } else { "experiments" };
    let place = if !runs.is_empty() && runs.iter().all(|run| run.lab.is_some()) { " in the lab" } else { "" };
    let title = format!("{} {experiments}{place}", chapters.len());
    let published = entries.iter().any(EntryView::has_published);
    page(title, Some(ContentsView { chapters: entries, published }), views, &runs)
}

/// A page of these elements alone.
pub(super) fn of_page(
    assets: Assets,
    title: String,
    page: RunPage,
    run_count: usize,
    made_by: &str,
) -> PageView {
    let chapter = ChapterView {
        id: String::new(),
        title: title.clone(),
        about: String::new(),
        comparison: None,
        runs: vec![page],
    };
    let made_by = format!("tardy {}", harmless(made_by));
    PageView { assets, run_count, made_by, ..self::page(title, None, vec![chapter], &[]) }
}

fn page(
    title: String,
    contents: Option<ContentsView>,
    chapters: Vec<ChapterView>,
    runs: &[&Run],
) -> PageView {
    let version = runs.first().map_or("", |run| run.facts.tardy.version.as_str());
    PageView {
        title,
        assets: REPORT,
        contents,
        chapters,
        run_count: runs.len(),
        made_by: format!("tardy {}", harmless(version)),
    }
}

fn found(runs: &[&Run], options: &findings::Options<'_>) -> Vec<Findings> {
    // The diagnostic plots of many runs would be most of the page.
    let tails = if runs.len() == 1 { Depth::Diagnostics } else { Depth::Levels };
    let options = findings::Options { tails, ..*options };
    runs.iter().map(|run| findings::of(run, &options)).collect()
}

fn run_pages(sections: &[&dyn Section], runs: &[&Run], found: &[Findings], prefix: &str) -> Vec<RunPage> {
    let numbered = (1..).zip(runs.iter().zip(found));
    let page = |(number, (run, found)): (usize, (&&Run, &Findings))| {
        run_page::of(sections, run, found, format!("{prefix}run{number}"))
    };
    numbered.map(page).collect()
}

fn comparison(
    sections: &[&dyn Section],
    runs: &[&Run],
    found: &[Findings],
    options: &findings::Options<'_>,
    prefix: &str,
) -> Option<ComparisonView> {
    side_by_side::of(runs)
        .map(|comparison| comparison_view::of(sections, runs, found, &comparison, options, prefix))
}
