//! Prose and names without the phrases and metaphors that `docs/style.md` lists.
//!
//! The list is read from that document. It holds only what a program can recognise. The rest of the document is for writers.

use crate::prose::Prose;
use crate::rust_source::{code_only, line_of, words};
use crate::word_list::{NameRow, STYLE, WordList};
use crate::{Complaint, File, Repository};

/// What is checked: files, and directories with a `/` at the end.
const CHECKED: &[&str] = &[
    "ARCHITECTURE.md",
    "CHANGELOG.md",
    "Makefile",
    "README.md",
    "bench/",
    "crates/",
    "data/",
    "docs/",
    "examples/",
    "fuzz/",
    "kernel/",
    "recipes/",
    "scripts/",
    "xtask/",
];
/// Text that this project did not write, or that shows what others wrote.
const NOT_OURS: &[&str] = &["/fixtures/", "/snapshots/", "/kernels/"];
/// The words of Rust that define a name.
const DEFINING: &[&str] = &["fn", "struct", "enum", "trait", "type", "const", "static", "union", "mod"];

/// Looks for the phrases and names to avoid in everything that is checked.
pub fn check(repository: &Repository) -> Vec<Complaint> {
    check_in(repository, CHECKED)
}

/// Looks for them in `checked`: files, and directories with a `/` at the end.
pub fn check_in(repository: &Repository, checked: &[&str]) -> Vec<Complaint> {
    let list = match WordList::of(repository) {
        Ok(list) => list,
        Err(complaint) => return vec![complaint],
    };
    let mut complaints = Vec::new();
    for file in repository.files.iter().filter(|file| is_checked(&file.path, checked)) {
        complaints.extend(phrases_in(file, &list));
        complaints.extend(names_in(file, &list));
    }
    complaints
}

fn is_checked(path: &str, checked: &[&str]) -> bool {
    let is_listed =
        checked.iter().any(|part| if part.ends_with('/') { path.starts_with(part) } else { path == *part });
    is_listed && path != STYLE && !NOT_OURS.iter().any(|part| path.contains(part))
}

fn phrases_in(file: &File, list: &WordList) -> Vec<Complaint> {
    let Some(prose) = Prose::of(file) else { return Vec::new() };
    let mut found = Vec::new();
    for row in &list.phrases {
        let accepted: Vec<(usize, usize)> =
            row.accepted_in.iter().flat_map(|phrase| phrase.find_in(&prose.text)).collect();
        for phrase in &row.avoid {
            for (start, end) in phrase.find_in(&prose.text) {
                if accepted.iter().any(|(from, to)| *from < end && start < *to) {
                    continue;
                }
                let line = prose.line_of(start);
                let (path, avoid, write) = (&file.path, phrase.as_str(), &row.write);
                found.push((line, format!("{path}:{line}: \"{avoid}\" ({STYLE}). Write: {write}")));
            }
        }
    }
    found.sort();
    found.into_iter().map(|(_, complaint)| complaint).collect()
}

fn names_in(file: &File, list: &WordList) -> Vec<Complaint> {
    if !file.path.ends_with(".rs") {
        return Vec::new();
    }
    let name_of_file = file.path.trim_end_matches(".rs").rsplit('/').find(|part| *part != "mod");
    let mut complaints: Vec<Complaint> = name_of_file
        .and_then(|name| Some((name, row_against(list, name, true)?)))
        .map(|(name, row)| complaint(&file.path, "module", name, row))
        .into_iter()
        .collect();
    let code = code_only(&file.text);
    let words: Vec<(usize, &str)> = words(&code).collect();
    for pair in words.windows(2) {
        let [(at, keyword), (_, name)] = pair else { continue };
        if !DEFINING.contains(keyword) {
            continue;
        }
        if let Some(row) = row_against(list, name, *keyword == "mod") {
            let place = format!("{}:{}", file.path, line_of(&code, *at));
            complaints.push(complaint(&place, keyword, name, row));
        }
    }
    complaints
}

fn complaint(place: &str, keyword: &str, name: &str, row: &NameRow) -> Complaint {
    format!("{place}: the name of {keyword} {name} is a metaphor ({STYLE}). Write: {}", row.write)
}

/// The row that forbids `name`.
fn row_against<'list>(list: &'list WordList, name: &str, is_module: bool) -> Option<&'list NameRow> {
    let parts = parts_of(name);
    list.names.iter().filter(|row| is_module || !row.modules_only).find(|row| {
        row.avoid.iter().any(|avoid| parts.windows(avoid.len()).any(|window| window == avoid.as_slice()))
    })
}

/// The words of a name in snake case or camel case, in lower case.
fn parts_of(name: &str) -> Vec<String> {
    let mut parts = Vec::new();
    let mut part = String::new();
    let mut previous_is_lower = false;
    for c in name.chars() {
        if c == '_' || (c.is_uppercase() && previous_is_lower) {
            parts.push(std::mem::take(&mut part));
        }
        if c != '_' {
            part.push(c.to_ascii_lowercase());
        }
        previous_is_lower = c.is_lowercase() || c.is_numeric();
    }
    parts.push(part);
    parts.retain(|part| !part.is_empty());
    parts
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIST: &str = "\
<!-- phrases: test -->
| avoid | write | accepted in |
|---|---|---|
| `a frob` | a widget | `half a frob` |
| `frobs …` | turns | |
<!-- end of phrases -->
<!-- names: test -->
| avoid | write | where |
|---|---|---|
| `frob` | widget | name |
| `foo` | bar | module |
<!-- end of names -->
";

    fn complaints(path: &str, text: &str) -> Vec<Complaint> {
        check_in(&Repository::of(&[(STYLE, LIST), (path, text)]), &["crates/", "docs/", "Makefile"])
    }

    #[test]
    fn a_phrase_is_reported_with_its_line_and_its_replacement() {
        let found = complaints("crates/a/src/b.rs", "//! Not code.\n\n/// It is a\n/// frob.\nfn f() {}\n");
        assert_eq!(found, ["crates/a/src/b.rs:3: \"a frob\" (docs/style.md). Write: a widget"]);
    }

    #[test]
    fn comments_strings_documents_and_scripts_are_read() {
        let text = "f(\"a frob\"); // a frob\n";
        assert_eq!(complaints("crates/a/src/b.rs", text).len(), 2);
        assert_eq!(complaints("docs/a.md", "| a frob | it frobs you |\n").len(), 2);
        assert_eq!(complaints("Makefile", "# it is\n# a frob\n").len(), 1);
    }

    #[test]
    fn code_and_accepted_phrases_are_not_reported() {
        assert!(complaints("crates/a/src/b.rs", "let a = frobs; a + frob; // half a frob\n").is_empty());
        assert!(complaints("docs/a.md", "half a frob, a frobnicator, it frobs.\n").is_empty());
    }

    #[test]
    fn names_are_checked_where_they_are_defined() {
        let text = "struct FrobLine;\nfn set_frob() {}\nfn foo() { frob() }\nmod foo {}\n";
        let found = complaints("crates/a/src/b.rs", text);
        let places: Vec<&str> = found.iter().filter_map(|text| text.split(" (").next()).collect();
        assert_eq!(
            places,
            [
                "crates/a/src/b.rs:1: the name of struct FrobLine is a metaphor",
                "crates/a/src/b.rs:2: the name of fn set_frob is a metaphor",
                "crates/a/src/b.rs:4: the name of mod foo is a metaphor",
            ]
        );
        assert_eq!(complaints("crates/a/src/foo/mod.rs", "").len(), 1);
    }

    #[test]
    fn only_listed_directories_are_checked() {
        assert!(complaints("bench/a.md", "a frob").is_empty());
        assert!(complaints("crates/a/tests/fixtures/a.md", "a frob").is_empty());
    }

    #[test]
    fn names_are_split_into_words() {
        assert_eq!(parts_of("LoadBook2_of"), ["load", "book2", "of"]);
        assert_eq!(parts_of("IN_WORDS"), ["in", "words"]);
    }
}
