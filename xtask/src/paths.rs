//! No file contains a path that exists on one machine only.

use crate::{Complaint, Repository};

// In two parts, so that this file does not contain them.
const MACHINE_PATHS: &[&str] = &[concat!("/wo", "rk/"), concat!("/wo", "rk`")];

/// Looks for paths of the machines on which tardy is developed.
pub fn check(repository: &Repository) -> Vec<Complaint> {
    let mut complaints = Vec::new();
    for file in &repository.files {
        for (number, line) in file.text.lines().enumerate() {
            for path in MACHINE_PATHS.iter().filter(|path| has_absolute_path(line, path)) {
                complaints.push(format!(
                    "{}:{}: contains {path}, which exists on one machine only. Use a path from the repository's root",
                    file.path,
                    number + 1
                ));
            }
        }
    }
    complaints
}

/// Whether a path in `line` begins with `path`.
fn has_absolute_path(line: &str, path: &str) -> bool {
    line.match_indices(path).any(|(at, _)| {
        let before = line[..at].chars().next_back();
        !before.is_some_and(|c| c.is_alphanumeric() || matches!(c, '_' | '-' | '.' | '}' | ')'))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_machine_path_is_reported_at_the_beginning_of_a_path_only() {
        let path = MACHINE_PATHS[0];
        let text = format!("see {path}x\n`{path}x`\nhttps://example.org{path}x\n$TMP{path}x\n\"{path}x\"");
        let complaints = check(&Repository::of(&[("a.md", &text)]));
        let lines: Vec<&str> = complaints.iter().filter_map(|text| text.split(": ").next()).collect();
        assert_eq!(lines, ["a.md:1", "a.md:2", "a.md:5"]);
    }
}
