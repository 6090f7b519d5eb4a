//! The page of a kernel: its newest run on each machine and under each load.

use std::collections::BTreeMap;

use tardy_plot::numbers::{counted, harmless};
use tardy_present::page::{Cell, Element, heading, paragraph};

use super::{
    KnownRun, board_path, day, kernel_name, link, loads, p999, report_path, shown_name, table, verdict, worst,
};
use crate::{SitePage, links};

pub(super) fn page(release: &str, runs: &[&KnownRun]) -> SitePage {
    // Later runs replace earlier ones: `runs` has the oldest first.
    let newest: BTreeMap<(&str, &[String]), &KnownRun> =
        runs.iter().map(|run| ((run.entry.machine.as_str(), run.entry.loads.as_slice()), *run)).collect();
    let title = runs.last().map_or_else(|| harmless(release), |run| kernel_name(&run.entry));
    let heads = ["board", "readings", "load", "started", "worst, µs", "p99.9, µs", "verdict"];
    let rows = newest.values().map(|run| row(run)).collect();
    let sections = vec![vec![
        heading(2, "Boards"),
        paragraph("note", "The newest run of each board under each load."),
        Element::Table(table(&heads, rows)),
    ]];
    let header = vec![
        links(vec![link("../index.html", "all boards")]),
        paragraph("", &format!("{} on this kernel.", counted(runs.len() as u64, "run", "runs"))),
    ];
    SitePage { path: super::kernel_path(release), title, header, sections, run_count: runs.len() }
}

fn row(run: &KnownRun) -> Vec<Cell> {
    let entry = &run.entry;
    let day = match run.has_report {
        true => Cell::Link(link(&format!("../{}", report_path(&run.address)), &day(entry))),
        false => Cell::Text(day(entry)),
    };
    vec![
        Cell::Link(link(&format!("../{}", board_path(&entry.machine)), &shown_name(&entry.machine))),
        Cell::Text(entry.row.readings.name().to_owned()),
        Cell::Text(loads(entry)),
        day,
        Cell::Text(worst(entry)),
        Cell::Text(p999(entry)),
        Cell::Text(verdict(entry)),
    ]
}
