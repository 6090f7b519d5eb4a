//! Programs that tardy chooses are found by `tardy_sys::programs` alone, which searches fixed directories for root.
//!
//! The rule reports `Command::new` outside of tests with a name without a slash: a literal, or a constant of the same crate.
//! It does not detect a name that reaches the call through a variable or a function.

use std::collections::BTreeMap;

use crate::rust_items::test_items;
use crate::rust_source::{code_only, line_of, words};
use crate::{Complaint, File, Repository};

/// The one module that may search for a program.
const THE_MODULE: &str = "crates/tardy-sys/src/programs.rs";
const CALL: &str = "Command::new(";
/// A type of clap with the same name.
const OF_CLAP: &str = "clap::";

/// Looks for programs that are started by a name without a directory.
pub fn check(repository: &Repository) -> Vec<Complaint> {
    let files: Vec<(&str, &File)> = repository.rust_files().filter_map(of_a_product).collect();
    let mut constants: BTreeMap<(&str, String), String> = BTreeMap::new();
    for (krate, file) in &files {
        constants.extend(constants_in(&file.text).map(|(name, value)| ((*krate, name), value)));
    }
    let mut complaints = Vec::new();
    for (krate, file) in &files {
        for (line, argument) in calls(&file.text) {
            let literal =
                argument.strip_prefix('"').and_then(|rest| rest.split_once('"')).map(|(value, _)| value);
            let name = words(&argument).map(|(_, word)| word).last().unwrap_or_default();
            let constant = constants.get(&(*krate, name.to_owned())).map(String::as_str);
            if let Some(program) = literal.or(constant).filter(|program| !program.contains('/')) {
                complaints.push(format!(
                    "{}:{line}: searches PATH for {program}. Use tardy_sys::programs, which for root searches fixed directories",
                    file.path
                ));
            }
        }
    }
    complaints
}

/// The file with its crate, unless it belongs to tests.
fn of_a_product(file: &File) -> Option<(&str, &File)> {
    file.product_crate().filter(|_| file.path != THE_MODULE).map(|krate| (krate, file))
}

/// The constants of a file that are strings, with their values.
fn constants_in(text: &str) -> impl Iterator<Item = (String, String)> {
    text.lines().filter_map(|line| {
        let (_, rest) = line.split_once("const ")?;
        let (name, rest) = rest.split_once(": &str = \"")?;
        let (value, _) = rest.split_once('"')?;
        Some((name.to_owned(), value.to_owned()))
    })
}

/// The line and the argument of each call outside of tests.
fn calls(text: &str) -> Vec<(usize, String)> {
    let code = code_only(text);
    let tests = test_items(&code);
    let mut found = Vec::new();
    for (at, _) in code.match_indices(CALL) {
        let is_of_a_test = tests.iter().any(|test| test.contains(&at));
        if is_of_a_test || code[..at].ends_with(OF_CLAP) {
            continue;
        }
        // Code has one character for each of the text.
        let start = code[..at + CALL.len()].chars().count();
        let argument: String = text.chars().skip(start).take_while(|c| !matches!(c, ')' | ';')).collect();
        found.push((line_of(&code, at), argument.trim().to_owned()));
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn places(path: &str, text: &str) -> Vec<String> {
        Repository::complaints_about(check, (path, text), ". Use")
    }

    const PATH: &str = "crates/x/src/a.rs";

    #[test]
    fn a_name_without_a_directory_is_reported() {
        let text = "const NFT: &str = \"nft\";\nfn é() { Command::new(\"tc\");\n std::process::Command::new(super::NFT) }";
        assert_eq!(
            places(PATH, text),
            ["crates/x/src/a.rs:2: searches PATH for tc", "crates/x/src/a.rs:3: searches PATH for nft"]
        );
    }

    #[test]
    fn paths_variables_and_tests_are_not_reported() {
        let text = "const OWN: &str = \"/proc/self/exe\";\nfn f() { Command::new(OWN); Command::new(\"/bin/sh\"); \
                    Command::new(program); clap::Command::new(\"run\") }\n\
                    #[cfg(test)]\nmod tests { fn f() { Command::new(\"sh\") } }";
        assert!(places(PATH, text).is_empty());
        let text = "fn f() { Command::new(\"sh\") }";
        assert!(places("crates/x/src/tests.rs", text).is_empty());
        assert!(places("crates/x/tests/a.rs", text).is_empty());
        assert!(places("crates/x/build.rs", text).is_empty());
        assert!(places(THE_MODULE, text).is_empty());
    }
}
