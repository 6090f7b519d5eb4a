//! A table in Markdown, for the comment of a pull request.

use tardy_plot::numbers::harmless;

use super::{Judged, outcome};
use crate::sentence;

/// A heading with the outcome, and a row for each judgement.
pub(super) fn text(judged: &[Judged]) -> String {
    let mut out = format!("### Latency: {}\n\n", outcome(judged).name());
    out.push_str("| outcome | requirement | run | because |\n|---|---|---|---|\n");
    for one in judged {
        let cells = [
            one.judgement.outcome.name().to_owned(),
            format!("`{}`", one.judgement.requirement),
            cell(&one.run),
            cell(&sentence::of(&one.judgement)),
        ];
        out.push_str(&format!("| {} |\n", cells.join(" | ")));
    }
    out
}

/// Text that Markdown neither formats nor takes for the end of a cell.
fn cell(text: &str) -> String {
    let special =
        |c: char| matches!(c, '\\' | '|' | '*' | '_' | '`' | '<' | '>' | '[' | ']' | '~' | '#' | '@');
    harmless(text).chars().flat_map(|c| special(c).then_some('\\').into_iter().chain([c])).collect()
}
