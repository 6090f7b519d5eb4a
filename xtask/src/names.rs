//! No crate or module has a name that does not describe its contents, such as `utils`.

use crate::rust_source::{code_only, line_of, words};
use crate::{Complaint, Repository};

const EMPTY_NAMES: &[&str] = &["common", "core", "utils", "util", "helpers"];

/// Looks at the names of crates and of modules: directories, files and inline modules.
pub fn check(repository: &Repository) -> Vec<Complaint> {
    let mut complaints = Vec::new();
    let mut place = |place: &str, name: &str| {
        let complaint = format!(
            "{place}: the name {name} does not describe the contents of a crate or module. Name it after its purpose"
        );
        if !complaints.contains(&complaint) {
            complaints.push(complaint);
        }
    };
    for file in &repository.files {
        if file.path.starts_with("crates/") || file.path.starts_with("xtask/") {
            for (at, part) in parts(&file.path) {
                if let Some(name) = empty_name(part) {
                    place(&file.path[..at + part.len()], name);
                }
            }
        }
    }
    for file in repository.rust_files() {
        let code = code_only(&file.text);
        let words: Vec<(usize, &str)> = words(&code).collect();
        for pair in words.windows(2) {
            if let [(at, "mod"), (_, name)] = pair
                && EMPTY_NAMES.contains(name)
            {
                place(&format!("{}:{}", file.path, line_of(&code, *at)), name);
            }
        }
    }
    complaints
}

/// The parts of a path, each with its first byte.
fn parts(path: &str) -> impl Iterator<Item = (usize, &str)> {
    path.split('/').scan(0, |at, part| {
        let start = *at;
        *at += part.len() + 1;
        Some((start, part))
    })
}

fn empty_name(part: &str) -> Option<&'static str> {
    let stem = part.strip_suffix(".rs").unwrap_or(part);
    let stem = stem.strip_prefix("tardy-").unwrap_or(stem);
    EMPTY_NAMES.iter().find(|name| **name == stem).copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn empty_names_of_crates_files_directories_and_modules_are_reported() {
        let complaints = check(&Repository::of(&[
            ("crates/tardy-core/src/lib.rs", ""),
            ("crates/tardy/src/utils.rs", ""),
            ("crates/tardy/tests/common/mod.rs", ""),
            ("crates/tardy/src/main.rs", "mod helpers { }\nmod core_scheduling;"),
            ("docs/common.md", ""),
        ]));
        let places: Vec<&str> = complaints.iter().filter_map(|text| text.split(": ").next()).collect();
        assert_eq!(
            places,
            [
                "crates/tardy-core",
                "crates/tardy/src/utils.rs",
                "crates/tardy/tests/common",
                "crates/tardy/src/main.rs:1"
            ]
        );
    }
}
