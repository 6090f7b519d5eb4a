//! What Rust source here must be: short, and safe outside tardy-sys.

use crate::rust_source::{code_only, functions, line_of, words};
use crate::{Complaint, File, Repository};

/// Over this, a file does more than one thing.
const LONGEST_FILE: usize = 700;
/// Over this, a function no longer reads like a table of contents.
const LONGEST_FUNCTION: usize = 120;
/// The one crate that may contain `unsafe`.
const UNSAFE_CRATE: &str = "crates/tardy-sys/";

/// Holds every Rust file, and the lint settings of every crate, against the rules.
pub fn check(repository: &Repository) -> Vec<Complaint> {
    let mut complaints = Vec::new();
    for file in repository.rust_files() {
        complaints.extend(length_of_file(file));
        let code = code_only(&file.text);
        complaints.extend(length_of_functions(file, &code));
        complaints.extend(unsafe_code(file, &code));
    }
    for file in &repository.files {
        if file.path.ends_with("/Cargo.toml") {
            complaints.extend(lint_settings(file));
        }
    }
    complaints
}

fn length_of_file(file: &File) -> Option<Complaint> {
    let lines = file.text.lines().count();
    (lines > LONGEST_FILE).then(|| {
        format!(
            "{}: has {lines} lines and may have {LONGEST_FILE}. Move what stands on its own into a module named for it",
            file.path
        )
    })
}

fn length_of_functions(file: &File, code: &str) -> Vec<Complaint> {
    functions(code)
        .into_iter()
        .filter(|function| function.lines > LONGEST_FUNCTION)
        .map(|function| {
            format!(
                "{}:{}: function {} has {} lines and may have {LONGEST_FUNCTION}. Give its parts names: make each a function",
                file.path, function.first_line, function.name, function.lines
            )
        })
        .collect()
}

fn unsafe_code(file: &File, code: &str) -> Vec<Complaint> {
    if file.path.starts_with(UNSAFE_CRATE) {
        return Vec::new();
    }
    words(code)
        .filter(|(_, word)| *word == "unsafe")
        .map(|(at, _)| {
            format!(
                "{}:{}: contains unsafe, which only {UNSAFE_CRATE} may. Put a safe function around it there, and call that",
                file.path,
                line_of(code, at)
            )
        })
        .collect()
}

/// Lints are the workspace's, where unsafe is forbidden; tardy-sys cannot take them over, and has its own.
fn lint_settings(manifest: &File) -> Option<Complaint> {
    if !manifest.text.lines().any(|line| line.trim() == "[package]") {
        return None;
    }
    let own_lints = manifest.text.lines().any(|line| line.trim().starts_with("[lints."));
    if manifest.path.starts_with(UNSAFE_CRATE) {
        let complaint = "has no lints of its own, and inherits none. Add a [lints.rust] table like the workspace's, \
                         with unsafe_code allowed";
        return (!own_lints).then(|| format!("{}: {complaint}", manifest.path));
    }
    let mut lines = manifest.text.lines().map(str::trim).skip_while(|line| *line != "[lints]").skip(1);
    let inherits = lines
        .by_ref()
        .take_while(|line| !line.starts_with('['))
        .any(|line| line.replace(' ', "").starts_with("workspace=true"));
    (!inherits).then(|| {
        format!(
            "{}: does not take over the workspace's lints, which forbid unsafe. Add the lines `[lints]` and \
             `workspace = true`",
            manifest.path
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn complaints(path: &str, text: &str) -> Vec<Complaint> {
        check(&Repository::of(&[(path, text)]))
    }

    #[test]
    fn a_long_file_is_named() {
        assert!(complaints("crates/a/src/b.rs", &"\n".repeat(LONGEST_FILE)).is_empty());
        let over = complaints("crates/a/src/b.rs", &"\n".repeat(LONGEST_FILE + 1));
        assert!(over[0].starts_with("crates/a/src/b.rs: has 701 lines"), "{over:?}");
    }

    #[test]
    fn a_long_function_is_named() {
        let function = |lines: usize| format!("// one\nfn f() {{{}}}\n", "\n".repeat(lines - 1));
        assert!(complaints("a.rs", &function(LONGEST_FUNCTION)).is_empty());
        let over = complaints("a.rs", &function(LONGEST_FUNCTION + 1));
        assert!(over[0].starts_with("a.rs:2: function f has 121 lines"), "{over:?}");
    }

    #[test]
    fn unsafe_is_for_tardy_sys() {
        let text = "fn f() { unsafe { g() } }";
        assert!(complaints("crates/tardy-sys/src/lib.rs", text).is_empty());
        assert!(
            complaints("crates/tardy/src/main.rs", text)[0]
                .starts_with("crates/tardy/src/main.rs:1: contains")
        );
        assert!(complaints("crates/tardy/src/main.rs", "#![forbid(unsafe_code)] // unsafe").is_empty());
    }

    #[test]
    fn lints_are_inherited() {
        let inherits = "[package]\nname = \"a\"\n[lints]\nworkspace = true\n";
        let own = "[package]\nname = \"a\"\n[lints.rust]\nunsafe_code = \"allow\"\n";
        let path = "crates/tardy/Cargo.toml";
        let sys = "crates/tardy-sys/Cargo.toml";
        assert!(complaints(path, inherits).is_empty());
        assert_eq!(complaints(path, own).len(), 1);
        assert_eq!(complaints(path, "[package]\nname = \"a\"\n").len(), 1);
        assert!(complaints(sys, own).is_empty());
        assert_eq!(complaints(sys, "[package]\nname = \"a\"\n").len(), 1);
    }
}
