//! `tardy history`: where a series of runs changed.

use std::path::Path;

use anyhow::Result;
use tardy_compare::difference;
use tardy_compare::history::{self, Entry, History};
use tardy_present::history as shown;
use tardy_present::overview::remarks;

use super::runs_below;
use tardy_args::HistoryArgs;
use tardy_command::{Exit, identity, opened, output};

/// Prints the history of runs, and writes it as a page.
pub(crate) fn run(arguments: &HistoryArgs) -> Result<Exit> {
    let page = arguments
        .output
        .as_ref()
        .map(|path| output::claim(path, &arguments.runs, arguments.force))
        .transpose()?;
    let (entries, left_out) = runs_below::each(&arguments.runs, &arguments.query.query(), Entry::of)?;
    let mut history = history::of(entries, arguments.significance, arguments.least_change);
    explain(&mut history)?;
    if arguments.json {
        output::print_json(&history)?;
    } else {
        output::print(&shown::text(&history, output::width()))?;
    }
    remarks(&left_out).iter().for_each(|remark| output::report(remark));
    if let Some(page) = page {
        let place = runs_below::named(&arguments.runs);
        page.write(shown::html(&history, &place, identity::get()).as_bytes())?;
        output::report(&format!("history {}", page.path().display()));
    }
    Ok(if left_out.unreadable.is_empty() { Exit::Done } else { Exit::CouldNot })
}

/// Opens the runs on both sides of each change again, since their facts are too large to keep for every run.
fn explain(history: &mut History) -> Result<()> {
    history.explain(|before, after| {
        let [before, after] = [before, after].map(|run| opened::open(Path::new(&run.file)));
        anyhow::Ok(difference::between(&before?.run, &after?.run))
    })
}
