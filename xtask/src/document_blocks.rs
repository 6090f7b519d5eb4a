//! Every code block of README.md and docs/ is fenced and has a mark that says whether a test runs it.
//!
//! `docs/style.md` has the table of marks, the only copy of it. `crates/tardy/tests/cli/documents.rs` runs the blocks.

use crate::marked_block::MarkedBlock;
use crate::word_list::STYLE;
use crate::{Complaint, File, Repository};

const BLOCK: MarkedBlock = MarkedBlock {
    begin: "<!-- marks: read by xtask/src/document_blocks.rs -->",
    end: "<!-- end of marks -->",
};

/// Looks for blocks without a mark of the table, and for indented blocks, which can have no mark.
pub fn check(repository: &Repository) -> Vec<Complaint> {
    let style = repository.files.iter().find(|file| file.path == STYLE);
    let Some(marks) = style.and_then(|file| marks(&file.text)) else {
        return vec![format!("{STYLE}: no table between {} and {}. Restore it", BLOCK.begin, BLOCK.end)];
    };
    let documents = repository.files.iter().filter(|file| is_document(&file.path));
    documents.flat_map(|file| unmarked(file, &marks)).collect()
}

fn is_document(path: &str) -> bool {
    path == "README.md"
        || path.strip_prefix("docs/").is_some_and(|rest| rest.ends_with(".md") && !rest.contains('/'))
}

/// The marks in the first column of the table. `FILE` in a mark stands for any name.
fn marks(style: &str) -> Option<Vec<&str>> {
    let marks: Vec<&str> =
        BLOCK.content(style)?.lines().filter(|line| line.starts_with("| `")).flat_map(names).collect();
    (!marks.is_empty()).then_some(marks)
}

/// The names in backquotes in the first cell of a row.
fn names(row: &str) -> impl Iterator<Item = &str> {
    let cell = row.trim_start_matches("| ").split(" | ").next().unwrap_or_default();
    cell.split('`').skip(1).step_by(2)
}

fn is_known(mark: &str, marks: &[&str]) -> bool {
    marks.iter().any(|known| match known.strip_suffix("FILE") {
        Some(before) => mark.strip_prefix(before).is_some_and(|name| !name.is_empty() && !name.contains(' ')),
        None => *known == mark,
    })
}

fn unmarked(file: &File, marks: &[&str]) -> Vec<Complaint> {
    let mut complaints = Vec::new();
    let mut in_block = false;
    let mut before = "";
    for (number, line) in file.text.lines().enumerate() {
        let place = format!("{}:{}", file.path, number + 1);
        if let Some(mark) = line.trim_start().strip_prefix("```") {
            in_block = !in_block;
            if line.starts_with(' ') || (in_block && !is_known(mark, marks)) {
                complaints.push(format!(
                    "{place}: a block begins with `{}`. Use ``` at the beginning of the line and a mark of {STYLE}",
                    line.trim_end()
                ));
            }
        } else if !in_block && line.starts_with("    ") && before.is_empty() {
            complaints.push(format!("{place}: an indented block. Fence it with ``` and a mark of {STYLE}"));
        }
        before = line.trim_end();
    }
    complaints
}

#[cfg(test)]
mod tests {
    use super::*;

    fn complaints(text: &str) -> Vec<Complaint> {
        let style = format!(
            "{}\n\n| mark | why |\n|---|---|\n| `sh` | a |\n| `sh lab` | b |\n| `toml FILE` | c |\n\n{}\n",
            BLOCK.begin, BLOCK.end
        );
        check(&Repository::of(&[(STYLE, &style), ("docs/a.md", text), ("docs/adr/1.md", "```\n```\n")]))
    }

    #[test]
    fn a_block_with_a_mark_of_the_table_passes() {
        let text = "```sh\na\n\n    b\n```\n\n```sh lab\n```\n\n```toml my/a.toml\n```\n- c\n    d\n";
        assert_eq!(complaints(text), Vec::<String>::new());
    }

    #[test]
    fn a_block_without_a_mark_of_the_table_is_reported() {
        for block in
            ["```\n```\n", "```sh later\n```\n", "```toml \n```\n", "a\n\n    tardy run\n", " ```sh\n ```\n"]
        {
            let found = complaints(block);
            assert!(
                found.iter().any(|complaint| complaint.starts_with("docs/a.md:")),
                "{block:?}: {found:?}"
            );
        }
    }

    #[test]
    fn a_missing_table_is_reported() {
        assert_eq!(check(&Repository::of(&[(STYLE, "no marks")])).len(), 1);
    }
}
