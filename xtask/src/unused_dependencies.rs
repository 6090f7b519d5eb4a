//! A Cargo.toml names only what the crate's code names: everything else is compiled for nothing.

use std::collections::BTreeSet;

use crate::dependency_rules::{Crate, Kind};
use crate::rust_source::code_only;
use crate::{Complaint, Repository};

/// Dependencies of crates that none of their files names, and those of the workspace that no crate has.
pub fn check(repository: &Repository, crates: &[Crate]) -> Vec<Complaint> {
    let mut complaints = Vec::new();
    for krate in crates {
        let named = NamesByKind::of(repository, &krate.directory);
        for dependency in &krate.dependencies {
            if !named.contains(dependency.kind, &dependency.name.replace('-', "_")) {
                complaints.push(format!(
                    "{}/Cargo.toml: no file of the crate names {}. Remove it",
                    krate.directory, dependency.name
                ));
            }
        }
    }
    let used: BTreeSet<&str> = crates
        .iter()
        .flat_map(|krate| krate.dependencies.iter().map(|dependency| dependency.name.as_str()))
        .collect();
    let manifest = repository.files.iter().find(|file| file.path == "Cargo.toml");
    let all = manifest.map(|manifest| of_workspace(&manifest.text)).into_iter().flatten();
    let unused = all.filter(|name| !used.contains(name));
    complaints.extend(unused.map(|name| {
        format!("Cargo.toml: no crate depends on {name}. Remove it from workspace.dependencies")
    }));
    complaints
}

/// The words in the files of a crate.
struct NamesByKind {
    source: BTreeSet<String>,
    tests: BTreeSet<String>,
    build_script: BTreeSet<String>,
}

impl NamesByKind {
    fn of(repository: &Repository, directory: &str) -> Self {
        let words_below = |place: &str| {
            let begin = format!("{directory}/{place}");
            repository
                .rust_files()
                .filter(|file| file.path.starts_with(&begin))
                .flat_map(|file| words(&file.text))
                .collect()
        };
        let mut tests: BTreeSet<String> = words_below("src/");
        for place in ["tests/", "benches/", "examples/"] {
            tests.extend(words_below(place));
        }
        Self { source: words_below("src/"), tests, build_script: words_below("build.rs") }
    }

    fn contains(&self, kind: Kind, name: &str) -> bool {
        match kind {
            Kind::Normal => &self.source,
            Kind::Tests => &self.tests,
            Kind::BuildScript => &self.build_script,
        }
        .contains(name)
    }
}

fn words(text: &str) -> Vec<String> {
    let is_of_word = |letter: char| letter.is_alphanumeric() || letter == '_';
    code_only(text)
        .split(|letter| !is_of_word(letter))
        .filter(|word| !word.is_empty())
        .map(str::to_owned)
        .collect()
}

/// The names in `[workspace.dependencies]`.
fn of_workspace(manifest: &str) -> impl Iterator<Item = &str> {
    let section = manifest.split("[workspace.dependencies]\n").nth(1).unwrap_or_default();
    section
        .lines()
        .take_while(|line| !line.starts_with('['))
        .filter_map(|line| Some(line.split_once('=')?.0.trim()))
        .filter(|name| !name.starts_with('#'))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dependency_rules::Dependency;

    #[test]
    fn what_no_file_names_is_reported() {
        let repository = Repository::of(&[
            ("crates/a/src/lib.rs", "use serde::Serialize;\n// toml\nfn f() { regex_lite::new() }"),
            ("crates/a/tests/t.rs", "use tempfile::TempDir;"),
            ("crates/ab/src/lib.rs", "use toml;"),
            (
                "Cargo.toml",
                "[workspace.dependencies]\nserde = \"1\"\n# why\nhidden = \"2\"\n\n[profile.dev]\nx = 1\n",
            ),
        ]);
        let of = |name: &str, kind| Dependency { name: name.to_owned(), kind, is_ours: false };
        let all = [
            of("serde", Kind::Normal),
            of("regex-lite", Kind::Normal),
            of("toml", Kind::Normal),
            of("tempfile", Kind::Normal),
            of("tempfile", Kind::Tests),
            of("serde", Kind::Tests),
            of("cc", Kind::BuildScript),
        ];
        let krate =
            Crate { name: "a".to_owned(), directory: "crates/a".to_owned(), dependencies: all.into() };
        let complaints = check(&repository, &[krate]);
        let expected = ["names toml", "names tempfile", "names cc", "depends on hidden"];
        assert_eq!(complaints.len(), expected.len(), "{complaints:?}");
        for (complaint, expected) in complaints.iter().zip(expected) {
            assert!(complaint.contains(expected), "{complaint}");
        }
    }
}
