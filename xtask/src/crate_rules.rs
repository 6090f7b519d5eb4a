//! Crates are small, and do not re-export modules of other crates.

use std::collections::BTreeMap;

use crate::rust_modules::{Modules, crates_of};
use crate::rust_source::{code_only, line_of};
use crate::use_tree::{Import, imports};
use crate::{Complaint, File, Repository};

/// The most lines that a crate may have in `src/`.
const MOST_LINES: usize = 12_000;

/// Looks at the size of each crate and at what it re-exports.
pub fn check(repository: &Repository) -> Vec<Complaint> {
    let mut complaints = sizes(repository);
    let crates = crates_of(repository);
    for file in repository.rust_files().filter(|file| file.path.contains("/src/")) {
        complaints.extend(re_exports(file, &crates));
    }
    complaints
}

fn sizes(repository: &Repository) -> Vec<Complaint> {
    let mut lines: BTreeMap<&str, usize> = BTreeMap::new();
    for file in repository.rust_files() {
        if let Some((krate, _)) = file.path.split_once("/src/") {
            *lines.entry(krate).or_default() += file.text.lines().count();
        }
    }
    lines
        .into_iter()
        .filter(|(_, lines)| *lines > MOST_LINES)
        .map(|(krate, lines)| {
            format!("{krate}/src: has {lines} lines and may have {MOST_LINES}. Move a part with a purpose to its own crate")
        })
        .collect()
}

fn re_exports(file: &File, crates: &BTreeMap<String, Modules>) -> Vec<Complaint> {
    let code = code_only(&file.text);
    imports(&code)
        .iter()
        .filter(|import| import.is_public && exports_a_module(import, crates))
        .map(|import| {
            format!(
                "{}:{}: re-exports a module of another crate: {}. Let the users of the module depend on its crate",
                file.path,
                line_of(&code, import.at),
                import.path.join("::")
            )
        })
        .collect()
}

/// Whether a `pub use` makes a whole crate of ours, a module of it or everything in either visible here.
fn exports_a_module(import: &Import, crates: &BTreeMap<String, Modules>) -> bool {
    let Some((krate, path)) = import.path.split_first().filter(|(krate, _)| krate.starts_with("tardy_"))
    else {
        return false;
    };
    let modules = crates.get(&format!("crates/{}", krate.replace('_', "-")));
    import.name.is_none() || path.is_empty() || modules.is_some_and(|modules| modules.has(path))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_large_crate_is_reported() {
        let half = "\n".repeat(MOST_LINES / 2);
        let repository = |last: &str| {
            let files =
                [("crates/x/src/lib.rs", &*half), ("crates/x/src/a.rs", &*half), ("crates/x/src/b.rs", last)];
            check(&Repository::of(&files))
        };
        assert!(repository("").is_empty());
        assert!(repository("\n")[0].starts_with("crates/x/src: has 12001 lines and may have 12000"));
    }

    #[test]
    fn a_re_exported_module_is_reported() {
        let complaints = check(&Repository::of(&[
            ("crates/tardy-x/src/a.rs", ""),
            ("crates/tardy-x/src/a/b.rs", ""),
            (
                "crates/y/src/lib.rs",
                "pub use tardy_x::a::{T, f};\nuse tardy_x::a;\npub(crate) use tardy_x::a::b;\npub use std::fs;\n\
                 pub use tardy_x::a as c;\npub use tardy_x::a::{\n    b,\n};\npub use tardy_x::*;\npub use tardy_x;",
            ),
        ]));
        let places: Vec<&str> = complaints.iter().filter_map(|text| text.split(": ").next()).collect();
        assert_eq!(
            places,
            [
                "crates/y/src/lib.rs:5",
                "crates/y/src/lib.rs:7",
                "crates/y/src/lib.rs:9",
                "crates/y/src/lib.rs:10"
            ]
        );
    }
}
