//! `tardy share`: runs as a link whose fragment holds them.

use anyhow::{Result, anyhow};
use serde::Serialize;
use tardy_plot::numbers::counted;
use tardy_present::{markdown, report};
use tardy_record::Run;
use tardy_share::{ShareError, Shared, link, shared};

use tardy_args::{RedactionFlag, ShareArgs};
use tardy_command::{Exit, output};
use tardy_recipe::wrong;

/// The link as JSON.
#[derive(Serialize)]
struct Answer<'a> {
    #[serde(flatten)]
    shared: &'a Shared,
    /// The number of its characters.
    characters: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    markdown: Option<String>,
}

/// Prints the link. What it lacks goes to standard error.
pub(crate) fn run(arguments: &ShareArgs) -> Result<Exit> {
    // Names are taken out with everything else, so the files' names are given first.
    let runs = output::open_runs(&arguments.runs, RedactionFlag::default())?;
    let runs: Vec<&Run> = runs.iter().collect();
    let shared =
        shared(&runs, &arguments.keep, &arguments.base, &report::first_screen).map_err(
            |error| match error {
                ShareError::KeepsNothing { .. } => wrong("keep", error.to_string()).into(),
                error => anyhow!(error),
            },
        )?;
    let markdown = arguments.markdown.then(|| of_link(&shared.link)).transpose()?;
    if arguments.json {
        let characters = shared.link.len();
        output::print_json(&Answer { shared: &shared, characters, markdown })?;
    } else {
        output::print(&markdown.unwrap_or_else(|| format!("{}\n", shared.link)))?;
    }
    report_what_is_missing(&shared);
    Ok(Exit::Done)
}

/// Markdown of the runs as the link has them, so that it has nothing that was taken out.
fn of_link(text: &str) -> Result<String> {
    let runs = link::runs(text)?;
    Ok(markdown::of(&runs.iter().collect::<Vec<_>>(), text))
}

fn report_what_is_missing(shared: &Shared) {
    let length = counted(shared.link.len() as u64, "character", "characters");
    output::report(&format!("the link has {length}"));
    if !shared.left_out.is_empty() {
        output::report(&format!("left out: {}", shared.left_out.join("; ")));
    }
    if !shared.redacted.is_empty() {
        let groups = shared.redacted_groups();
        let fields = groups.iter().map(|(field, count)| format!("{field}: {count}"));
        let fields = fields.collect::<Vec<_>>().join(", ");
        output::report(&format!("redacted unless --keep names it: {fields}"));
    }
}
