//! A path that exists on one machine only helps nobody on another.

use crate::{Complaint, Repository};

// Put together here, so that this file is not what it looks for.
const MACHINE_PATHS: &[&str] = &[concat!("/wo", "rk/"), concat!("/wo", "rk`")];

/// Looks for paths of the machines that tardy is written on.
pub fn check(repository: &Repository) -> Vec<Complaint> {
    let mut complaints = Vec::new();
    for file in &repository.files {
        for (number, line) in file.text.lines().enumerate() {
            for path in MACHINE_PATHS.iter().filter(|path| has_absolute_path(line, path)) {
                complaints.push(format!(
                    "{}:{}: names {path}, which is on one machine only. Say it from the repository's root, or leave it out",
                    file.path,
                    number + 1
                ));
            }
        }
    }
    complaints
}

/// Whether `path` stands in `line` as the beginning of a path, not in the middle of one.
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
    fn only_the_beginning_of_a_path_counts() {
        let path = MACHINE_PATHS[0];
        let text = format!("see {path}x\n`{path}x`\nhttps://example.org{path}x\n$TMP{path}x\n\"{path}x\"");
        let complaints = check(&Repository::of(&[("a.md", &text)]));
        let lines: Vec<&str> = complaints.iter().filter_map(|text| text.split(": ").next()).collect();
        assert_eq!(lines, ["a.md:1", "a.md:2", "a.md:5"]);
    }
}
