//! What the report's page shows, ready to be filled in.

use serde::Serialize;
use tardy_analyse::{compare, findings};
use tardy_record::Run;

use super::comparison_view::{self, ComparisonView};
use super::run_view::{self, RunView};
use super::{SCRIPT, SCRIPT_HASH, STYLE, STYLE_HASH};
use crate::latency::harmless;

/// The page.
#[derive(Debug, Serialize)]
pub(super) struct PageView {
    title: String,
    style: &'static str,
    script: &'static str,
    style_hash: &'static str,
    script_hash: &'static str,
    comparison: Option<ComparisonView>,
    runs: Vec<RunView>,
    made_by: String,
}

pub(super) fn of(runs: &[&Run], options: &findings::Options) -> PageView {
    let views: Vec<RunView> = runs
        .iter()
        .enumerate()
        .map(|(index, run)| run_view::of(run, &findings::of(run, options), index))
        .collect();
    let title = match runs {
        [run] => harmless(&run.facts.headline()),
        runs => format!("{} runs compared", runs.len()),
    };
    let version = runs.first().map_or("", |run| run.facts.tardy.version.as_str());
    PageView {
        title,
        style: STYLE,
        script: SCRIPT,
        style_hash: STYLE_HASH.trim(),
        script_hash: SCRIPT_HASH.trim(),
        comparison: compare::of(runs).map(|comparison| comparison_view::of(runs, &comparison, options)),
        runs: views,
        made_by: format!("tardy {}", harmless(version)),
    }
}
