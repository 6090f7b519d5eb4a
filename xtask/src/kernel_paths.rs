//! Files under /proc, /sys and /dev are opened through tardy-sys alone, which tests point at their own directory.
//!
//! The rule reports statements outside of tests that contain `fs::`, `File::` or `OpenOptions`, and either a literal
//! that begins with one of these paths or a constant of the same crate with such a value. It does not detect a path
//! that reaches the call through a variable or a function.

use std::collections::BTreeSet;

use crate::rust_items::test_items;
use crate::rust_source::{code_only, end_of_non_code, words};
use crate::{Complaint, File, Repository};

const KERNEL_ROOTS: &[&str] = &["/proc/", "/sys/", "/dev/"];
/// The only crate that may open them.
const THE_CRATE: &str = "crates/tardy-sys/";

/// Looks for calls of the standard library that open such a file.
pub fn check(repository: &Repository) -> Vec<Complaint> {
    let sources: Vec<Source<'_>> = repository.rust_files().filter_map(Source::of).collect();
    let mut constants: BTreeSet<(&str, &str)> = BTreeSet::new();
    for source in &sources {
        let with_path = source.statements.iter().filter(|statement| statement.kernel_path.is_some());
        constants
            .extend(with_path.filter_map(|statement| Some((source.krate, constant_in(&statement.code)?))));
    }
    let mut complaints = Vec::new();
    for source in &sources {
        for statement in source.statements.iter().filter(|statement| opens_a_file(&statement.code)) {
            let mut names = words(&statement.code).map(|(_, name)| name);
            let constant = names.find(|name| constants.contains(&(source.krate, *name)));
            if let Some(path) = statement.kernel_path.as_deref().or(constant) {
                complaints.push(format!(
                    "{}:{}: opens {path} through the standard library. Use tardy-sys, where a test can replace the root",
                    source.path, statement.line
                ));
            }
        }
    }
    complaints
}

/// A source file, without its tests.
struct Source<'file> {
    path: &'file str,
    krate: &'file str,
    statements: Vec<Statement>,
}

impl<'file> Source<'file> {
    fn of(file: &'file File) -> Option<Self> {
        let (krate, _) = file.path.split_once("/src/").filter(|_| !file.path.starts_with(THE_CRATE))?;
        Some(Self { path: &file.path, krate, statements: statements(&file.text) })
    }
}

/// The code between two of `;`, `{` and `}`.
#[derive(Default)]
struct Statement {
    /// The line of its first word.
    line: usize,
    code: String,
    /// The first literal in it that begins with one of the roots.
    kernel_path: Option<String>,
}

/// The statements of a Rust file outside of tests.
fn statements(text: &str) -> Vec<Statement> {
    let chars: Vec<char> = text.chars().collect();
    let code = code_only(text);
    let tests = test_items(&code);
    let mut found = Vec::new();
    let mut statement = Statement::default();
    let mut line = 1;
    let mut literal_end = 0;
    // Code has one character for each of the text.
    for (index, (at, c)) in code.char_indices().enumerate() {
        if c == '\n' {
            line += 1;
        }
        if tests.iter().any(|test| test.contains(&at)) {
            continue;
        }
        if index >= literal_end {
            literal_end = end_of_non_code(&chars, index);
            statement.kernel_path = statement.kernel_path.or_else(|| kernel_path(&chars[index..literal_end]));
        }
        if statement.line == 0 && !c.is_whitespace() {
            statement.line = line;
        }
        if matches!(c, ';' | '{' | '}') {
            found.push(std::mem::take(&mut statement));
        } else {
            statement.code.push(c);
        }
    }
    found
}

/// The path under one of the roots with which a literal begins.
fn kernel_path(literal: &[char]) -> Option<String> {
    let text: String = literal.iter().collect();
    let value = text.trim_start_matches(['r', '#']).strip_prefix('"')?.trim_end_matches(['#', '"']);
    KERNEL_ROOTS.iter().any(|root| value.starts_with(root)).then(|| value.to_owned())
}

/// The name of the constant that a statement defines.
fn constant_in(code: &str) -> Option<&str> {
    let mut words = words(code).map(|(_, word)| word).skip_while(|word| !matches!(*word, "const" | "static"));
    words.nth(1).filter(|name| name.chars().all(|c| c.is_uppercase() || c.is_numeric() || c == '_'))
}

fn opens_a_file(code: &str) -> bool {
    code.contains("OpenOptions")
        || words(code).any(|(at, word)| {
            matches!(word, "fs" | "File")
                && code[at + word.len()..].starts_with("::")
                && !is_of_tardy_sys(&code[..at])
        })
}

/// Whether `before` ends with the beginning of a path into tardy-sys.
fn is_of_tardy_sys(before: &str) -> bool {
    before.ends_with("tardy_sys::")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn places(path: &str, text: &str) -> Vec<String> {
        Repository::complaints_about(check, (path, text), " through")
    }

    const PATH: &str = "crates/x/src/a.rs";

    #[test]
    fn opening_a_kernel_file_is_reported() {
        let text = "fn f() {\n    g();\n    let é = \"é\";\n    std::fs::read(\n        format!(\"/proc/{pid}/stat\"))\n}\n\
                    fn h() { File::open(\"/dev/null\"); OpenOptions::new().open(r\"/sys/x\"); }";
        assert_eq!(
            places(PATH, text),
            [
                "crates/x/src/a.rs:4: opens /proc/{pid}/stat",
                "crates/x/src/a.rs:7: opens /dev/null",
                "crates/x/src/a.rs:7: opens /sys/x"
            ]
        );
    }

    #[test]
    fn a_constant_stands_for_its_path() {
        let text = "const COMM: &str = \"/proc/self/comm\";\nfn f() { fs::write(COMM, name) }";
        assert_eq!(places(PATH, text), ["crates/x/src/a.rs:2: opens COMM"]);
    }

    #[test]
    fn other_uses_of_such_paths_are_not_reported() {
        let text = "/// See fs::read(\"/proc/stat\").\nfn f() { tardy_sys::fs::read(\"/proc/stat\"); show(\"/dev/null\"); \
                    fs::read(path) }\n#[cfg(test)]\nmod tests { fn f() { fs::read(\"/proc/stat\") } }";
        assert!(places(PATH, text).is_empty());
        let text = "fn f() { fs::read(\"/proc/stat\") }";
        assert!(places("crates/tardy-sys/src/a.rs", text).is_empty());
        assert!(places("crates/x/tests/a.rs", text).is_empty());
    }
}
