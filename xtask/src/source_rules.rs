//! Files and functions are short. Only tardy-sys contains `unsafe`, except for the names that a browser calls, and 64-bit atomics, which
//! ARMv5TE lacks.

use crate::rust_source::{code_only, functions, line_of, words};
use crate::{Complaint, File, Repository};

/// The most lines that a file may have.
const LONGEST_FILE: usize = 700;
/// The most lines that a function may have.
const LONGEST_FUNCTION: usize = 120;
/// The one crate that may contain `unsafe`.
const UNSAFE_CRATE: &str = "crates/tardy-sys/";
/// The crate whose functions a browser calls, and the one file of it that may declare names and functions for the linker. It must
/// not have an unsafe block, function or implementation.
const LINKED_CRATE: &str = "crates/tardy-web/";
const LINKED_FILE: &str = "crates/tardy-web/src/abi.rs";
/// The crate whose macros generate unsafe code, so that its lints deny instead of forbid it. Its own files contain none.
const GENERATED_CRATE: &str = "crates/tardy-python/";

/// Atomics that boards without 64-bit instructions lack.
const ATOMICS: [&str; 2] = ["AtomicU64", "AtomicI64"];
/// The one file that may use them, and has a substitute.
const ATOMICS_FILE: &str = "crates/tardy-sys/src/cell64.rs";

/// Looks at every Rust file, and at the lint settings of every crate.
pub fn check(repository: &Repository) -> Vec<Complaint> {
    let mut complaints = Vec::new();
    for file in repository.rust_files() {
        complaints.extend(length_of_file(file));
        let code = code_only(&file.text);
        complaints.extend(length_of_functions(file, &code));
        complaints.extend(unsafe_code(file, &code));
        complaints.extend(atomics(file, &code));
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
            "{}: has {lines} lines and may have {LONGEST_FILE}. Move a self-contained part to a module",
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
                "{}:{}: function {} has {} lines and may have {LONGEST_FUNCTION}. Make its parts functions",
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
        .filter(|(at, _)| file.path != LINKED_FILE || !is_declaration(&code[at + "unsafe".len()..]))
        .map(|(at, _)| {
            format!(
                "{}:{}: contains unsafe, which is allowed in {UNSAFE_CRATE} only. Write a safe function there, and call that",
                file.path,
                line_of(code, at)
            )
        })
        .collect()
}

/// What compiles here and not for a board.
fn atomics(file: &File, code: &str) -> Vec<Complaint> {
    if file.path == ATOMICS_FILE || !file.path.contains("/src/") {
        return Vec::new();
    }
    words(code)
        .filter(|(_, word)| ATOMICS.contains(word))
        .map(|(at, word)| {
            format!(
                "{}:{}: uses {word}, which ARMv5TE lacks. Use AtomicUsize, or the cell of {ATOMICS_FILE}",
                file.path,
                line_of(code, at)
            )
        })
        .collect()
}

/// Whether what follows `unsafe` makes it part of an attribute, or of a block of foreign functions.
fn is_declaration(rest: &str) -> bool {
    rest.starts_with("(no_mangle)") || rest.trim_start().starts_with("extern")
}

/// Crates inherit the workspace's lints, which forbid `unsafe`. tardy-sys, tardy-web and tardy-python cannot, and have
/// their own.
fn lint_settings(manifest: &File) -> Option<Complaint> {
    if !manifest.text.lines().any(|line| line.trim() == "[package]") {
        return None;
    }
    let own_lints = manifest.text.lines().any(|line| line.trim().starts_with("[lints."));
    if [UNSAFE_CRATE, LINKED_CRATE, GENERATED_CRATE].iter().any(|path| manifest.path.starts_with(path)) {
        let complaint =
            "has no lints. Add a [lints.rust] table like the workspace's, with unsafe_code allowed";
        return (!own_lints).then(|| format!("{}: {complaint}", manifest.path));
    }
    let mut lines = manifest.text.lines().map(str::trim).skip_while(|line| *line != "[lints]").skip(1);
    let inherits = lines
        .by_ref()
        .take_while(|line| !line.starts_with('['))
        .any(|line| line.replace(' ', "").starts_with("workspace=true"));
    (!inherits).then(|| {
        format!(
            "{}: does not inherit the workspace's lints, which forbid unsafe. Add the lines `[lints]` and \
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
    fn a_long_file_is_reported() {
        assert!(complaints("crates/a/src/b.rs", &"\n".repeat(LONGEST_FILE)).is_empty());
        let over = complaints("crates/a/src/b.rs", &"\n".repeat(LONGEST_FILE + 1));
        assert!(over[0].starts_with("crates/a/src/b.rs: has 701 lines"), "{over:?}");
    }

    #[test]
    fn a_long_function_is_reported() {
        let function = |lines: usize| format!("// one\nfn f() {{{}}}\n", "\n".repeat(lines - 1));
        assert!(complaints("a.rs", &function(LONGEST_FUNCTION)).is_empty());
        let over = complaints("a.rs", &function(LONGEST_FUNCTION + 1));
        assert!(over[0].starts_with("a.rs:2: function f has 121 lines"), "{over:?}");
    }

    #[test]
    fn unsafe_is_allowed_in_tardy_sys_only() {
        let text = "fn f() { unsafe { g() } }";
        assert!(complaints("crates/tardy-sys/src/lib.rs", text).is_empty());
        assert!(
            complaints("crates/tardy/src/main.rs", text)[0]
                .starts_with("crates/tardy/src/main.rs:1: contains")
        );
        assert!(complaints("crates/tardy/src/main.rs", "#![forbid(unsafe_code)] // unsafe").is_empty());
    }

    #[test]
    fn atomics_that_a_board_lacks_are_reported() {
        let text = "use std::sync::atomic::{AtomicU64, AtomicUsize};";
        let found = complaints("crates/tardy-round-trip/src/wait.rs", text);
        assert!(found[0].starts_with("crates/tardy-round-trip/src/wait.rs:1: uses AtomicU64"), "{found:?}");
        assert!(complaints(ATOMICS_FILE, text).is_empty());
        assert!(complaints("crates/tardy/tests/cli/run.rs", text).is_empty());
    }

    #[test]
    fn the_file_for_the_linker_has_declarations_and_no_unsafe_code() {
        let declared =
            "unsafe extern \"C\" { safe fn f(); }\n#[unsafe(no_mangle)]\npub extern \"C\" fn g() {}";
        assert_eq!(complaints(LINKED_FILE, declared), Vec::<String>::new());
        assert_eq!(complaints("crates/tardy-web/src/lib.rs", declared).len(), 2);
        for text in ["fn f() { unsafe { g() } }", "unsafe fn f() {}", "unsafe impl Send for A {}"] {
            assert_eq!(complaints(LINKED_FILE, text).len(), 1, "{text}");
        }
    }

    #[test]
    fn a_crate_without_lints_is_reported() {
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
