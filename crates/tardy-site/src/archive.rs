//! The site of an archive: its boards, a page for each board and each kernel, and the published results for reference.

#[cfg(feature = "served")]
mod alerts;
mod board;
mod kernel;
mod overview;
mod published;
mod search;

#[cfg(feature = "served")]
use tardy_alert::Alert;
use tardy_archive::{Address, Entry};
use tardy_compare::history::History;
use tardy_compare::overview::Standing;
use tardy_plot::numbers::{figure, harmless, short};
use tardy_present::page::{Cell, Link, PageRow, PageTable, paragraph};

use crate::{SiteFile, SitePage, file_name, links};

pub use overview::BoardSummary;
pub use search::{Asked, Found};

/// The name of machines of which nothing is known.
const UNKNOWN: &str = "unknown machine";
/// Longer names are shortened in tables.
const NAME_MAX: usize = 48;
/// Digits that distinguish the files of names that are the same without their unusual characters.
const DIGITS: usize = 8;

/// A run of an archive.
#[derive(Clone, Debug, PartialEq)]
pub struct KnownRun {
    /// Its address.
    pub address: Address,
    /// What the archive knows of it.
    pub entry: Entry,
    /// Whether the site has a report of it.
    pub has_report: bool,
    /// Whether the site has a comparison with the run before it on the same machine.
    pub has_comparison: bool,
}

/// The runs of one machine, the oldest first.
#[derive(Clone, Debug, PartialEq)]
pub struct Board {
    /// Its name, as in [`Entry::machine`].
    pub name: String,
    /// Its runs.
    pub runs: Vec<KnownRun>,
    /// Where they changed.
    pub history: History,
}

/// What pages say about themselves.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct About {
    /// The archive.
    pub archive: String,
    /// The command that makes the site.
    pub command: String,
    /// The program.
    pub made_by: String,
    /// What a server knows that sends the pages, answers searches, compares any two runs and has alerts; `None` for a static site.
    pub served: Option<Served>,
}

/// What a server knows besides the runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Served {
    /// How many alerts are open or acknowledged.
    pub pending_alerts: usize,
}

/// The page of a board.
pub fn board(board: &Board, about: &About) -> SiteFile {
    crate::page(board::page(board, about), &about.made_by)
}

/// The page of a kernel: its newest run on each machine.
pub fn kernel(release: &str, runs: &[&KnownRun], about: &About) -> SiteFile {
    crate::page(kernel::page(release, runs), &about.made_by)
}

/// The first page.
pub fn overview(boards: &[BoardSummary], kernels: &[String], runs: usize, about: &About) -> SiteFile {
    crate::page(overview::page(boards, kernels, runs, about), &about.made_by)
}

/// The page of the published results.
pub fn published(about: &About) -> SiteFile {
    crate::page(published::page(), &about.made_by)
}

/// The page of a search, of a site that is served.
pub fn search(asked: &Asked, found: &Found, about: &About) -> SiteFile {
    crate::page(search::page(asked, found), &about.made_by)
}

/// The page of all alerts, the newest first, of a site that is served. `rules` is how many rules there are, or what is wrong with them.
#[cfg(feature = "served")]
pub fn alerts(all: &[&Alert], rules: &Result<usize, String>, about: &About) -> SiteFile {
    crate::page(alerts::all(all, rules), &about.made_by)
}

/// The page of an alert.
#[cfg(feature = "served")]
pub fn alert(alert: &Alert, about: &About) -> SiteFile {
    crate::page(alerts::one(alert), &about.made_by)
}

/// A page that says why another one cannot be shown. `up` leads from it to the first page.
pub fn refusal(title: &str, reason: &str, up: &str, about: &About) -> SiteFile {
    let page = SitePage {
        path: String::new(),
        title: title.to_owned(),
        header: vec![paragraph("", reason), links(vec![link(&format!("{up}index.html"), "all boards")])],
        sections: Vec::new(),
        run_count: 0,
    };
    crate::page(page, &about.made_by)
}

/// The address of a comparison of two runs, of a site that is served.
pub fn comparison_of(base: &Address, candidate: &Address) -> String {
    format!("compare.html?base={base}&candidate={candidate}")
}

/// The file of an alert's page.
pub fn alert_path(id: &str) -> String {
    format!("alerts/{id}.html")
}

/// The file of a board's page.
pub fn board_path(name: &str) -> String {
    format!("boards/{}.html", distinct(name))
}

/// The file of a kernel's page.
pub fn kernel_path(release: &str) -> String {
    format!("kernels/{}.html", distinct(release))
}

/// The file of a run's report.
pub fn report_path(address: &Address) -> String {
    format!("runs/{address}.html")
}

/// The file of a run itself.
pub fn run_path(address: &Address) -> String {
    format!("runs/{address}.run.json.gz")
}

/// The file of the comparison of a run with the one before it.
pub fn comparison_path(address: &Address) -> String {
    format!("runs/{address}-before.html")
}

/// A name for a file that no other text has.
fn distinct(name: &str) -> String {
    let safe = file_name(name);
    match safe == name && !safe.is_empty() {
        true => safe,
        false => format!("{}-{}", short_ascii(&safe), &Address::of(name.as_bytes()).as_str()[..DIGITS]),
    }
}

/// File systems limit names to 255 bytes.
fn short_ascii(name: &str) -> &str {
    &name[..name.len().min(100)]
}

fn shown_name(machine: &str) -> String {
    if machine.is_empty() { UNKNOWN.to_owned() } else { harmless(machine) }
}

fn day(entry: &Entry) -> String {
    entry.day().unwrap_or("unknown").to_owned()
}

fn loads(entry: &Entry) -> String {
    harmless(&short(&entry.loads.join(", "), NAME_MAX))
}

fn kernel_cell(entry: &Entry, up: &str) -> Cell {
    match &entry.row.kernel {
        Some(release) => Cell::Link(link(&format!("{up}{}", kernel_path(release)), &kernel_name(entry))),
        None => Cell::Text("unknown".to_owned()),
    }
}

fn kernel_name(entry: &Entry) -> String {
    let release = entry.row.kernel.as_deref().map_or_else(|| "unknown".to_owned(), harmless);
    if entry.row.real_time == Some(true) { format!("{release}, RT") } else { release }
}

fn link(href: &str, text: &str) -> Link {
    Link { href: href.to_owned(), text: text.to_owned() }
}

fn worst(entry: &Entry) -> String {
    figure(entry.row.worst_ns.map(|ns| ns as f64), entry.row.worst_at_least)
}

fn p999(entry: &Entry) -> String {
    figure(entry.row.p999_ns.map(|ns| ns as f64), entry.row.p999_at_least)
}

/// What most tables show of a run: its day, kernel, readings, loads, worst value, 99.9 % quantile and verdict. `up` leads to the first
/// page's directory.
fn cells(entry: &Entry, up: &str) -> [Cell; 7] {
    [
        Cell::Text(day(entry)),
        kernel_cell(entry, up),
        Cell::Text(entry.row.readings.name().to_owned()),
        Cell::Text(loads(entry)),
        Cell::Text(worst(entry)),
        Cell::Text(p999(entry)),
        Cell::Text(verdict(entry)),
    ]
}

/// The verdict, or why the numbers must not be used.
fn verdict(entry: &Entry) -> String {
    match entry.row.standing {
        Standing::Valid => entry.judgement.name().replace('-', " "),
        standing => standing.name().to_owned(),
    }
}

fn table(heads: &[&str], rows: Vec<Vec<Cell>>) -> PageTable {
    let row = |cells| PageRow { class: "", cells };
    PageTable {
        heads: heads.iter().map(|head| (*head).to_owned()).collect(),
        bodies: vec![rows.into_iter().map(row).collect()],
        ..PageTable::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn different_names_have_different_files() {
        assert_eq!(kernel_path("6.12.118-rt-amd64"), "kernels/6.12.118-rt-amd64.html");
        let all = ["rack 3", "rack/3", "rack-3", "", "../3"].map(board_path);
        for (at, one) in all.iter().enumerate() {
            assert!(!one.contains("..") && one.matches('/').count() == 1, "{one}");
            assert!(all[at + 1..].iter().all(|other| other != one), "{one}");
        }
        assert!(board_path(&"ü".repeat(500)).len() < 200);
    }
}
