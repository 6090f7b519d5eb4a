//! A table in Markdown, for the comment of a pull request.

use tardy_plot::numbers::harmless;

use super::{Judged, outcome};

/// A heading with the outcome, and a row for each judgement.
pub(super) fn text(judged: &[Judged]) -> String {
    let mut out = format!("### Latency: {}\n\n", outcome(judged).name());
    out.push_str("| outcome | requirement | run | because |\n|---|---|---|---|\n");
    for one in judged {
        let cells = [
            one.outcome().name().to_owned(),
            format!("`{}`", one.demand()),
            cell(&one.run),
            cell(&one.because()),
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
