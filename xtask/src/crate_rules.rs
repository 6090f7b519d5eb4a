//! Crates do not re-export modules of other crates.

use std::collections::BTreeMap;

use crate::rust_modules::{Modules, crates_of};
use crate::rust_source::{code_only, line_of};
use crate::use_tree::{Import, imports};
use crate::{Complaint, File, Repository};

/// Looks at what each crate re-exports.
pub fn check(repository: &Repository) -> Vec<Complaint> {
    let mut complaints = Vec::new();
    let crates = crates_of(repository);
    for file in repository.rust_files().filter(|file| file.path.contains("/src/")) {
        complaints.extend(re_exports(file, &crates));
    }
    complaints
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
