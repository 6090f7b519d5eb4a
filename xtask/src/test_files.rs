//! Every file of tests belongs to a program: a crate without automatic tests (`autotests = false`) names it in its
//! `tests/all.rs`, or gives it a program of its own in Cargo.toml. Else its tests would never run, and nobody would notice.
//! For the same reason documentation has no code: `make test` does not look for it, since the search compiles each crate again.

use crate::{Complaint, File, Repository};

/// Looks at the Rust files directly in the `tests` directory of each crate that has a `tests/all.rs`, and at the blocks of all
/// documentation.
pub fn check(repository: &Repository) -> Vec<Complaint> {
    let mut complaints = files_without_program(repository);
    complaints.extend(repository.rust_files().flat_map(code_in_documentation));
    complaints
}

/// Blocks in comments of documentation that rustdoc would compile and run.
fn code_in_documentation(file: &File) -> Vec<Complaint> {
    let mut in_block = false;
    let mut complaints = Vec::new();
    for (number, line) in file.text.lines().enumerate() {
        let line = line.trim_start();
        let Some(text) = line.strip_prefix("///").or_else(|| line.strip_prefix("//!")) else { continue };
        let Some(mark) = text.trim_start().strip_prefix("```") else { continue };
        in_block = !in_block;
        if in_block && mark != "text" {
            complaints.push(format!(
                "{}:{}: `make test` runs no code in documentation. Write a test, or mark the block as `text`",
                file.path,
                number + 1
            ));
        }
    }
    complaints
}

fn files_without_program(repository: &Repository) -> Vec<Complaint> {
    let programs = repository.rust_files().filter(|file| file.path.ends_with("/tests/all.rs"));
    programs
        .flat_map(|program| {
            let tests = program.path.strip_suffix("all.rs").expect("the filter above");
            let manifest = tests.strip_suffix("tests/").map(|krate| format!("{krate}Cargo.toml"));
            let manifest = repository.files.iter().find(|file| Some(&file.path) == manifest.as_ref());
            let manifest = manifest.map_or("", |file| file.text.as_str());
            let files = repository.rust_files().filter_map(move |file| file.path.strip_prefix(tests));
            let modules =
                files.filter_map(|file| file.strip_suffix(".rs").filter(|name| !name.contains('/')));
            modules
                .filter(move |name| {
                    *name != "all"
                        && !program.text.lines().any(|line| line == format!("mod {name};"))
                        && !manifest.contains(&format!("path = \"tests/{name}.rs\""))
                })
                .map(move |name| {
                    format!(
                        "{tests}{name}.rs: no program has these tests. Add `mod {name};` to {}",
                        program.path
                    )
                })
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_no_program_names_is_found() {
        let repository = Repository::of(&[
            ("crates/a/Cargo.toml", "[[test]]\npath = \"tests/memory.rs\"\n"),
            ("crates/a/tests/all.rs", "mod seen;\n"),
            ("crates/a/tests/seen.rs", ""),
            ("crates/a/tests/memory.rs", ""),
            ("crates/a/tests/seen/part.rs", ""),
            ("crates/a/tests/forgotten.rs", ""),
            ("crates/b/tests/own.rs", ""),
        ]);
        let complaints = check(&repository);
        assert_eq!(complaints.len(), 1, "{complaints:?}");
        assert!(complaints[0].starts_with("crates/a/tests/forgotten.rs: no program"), "{complaints:?}");
    }
    #[test]
    fn code_in_documentation_is_found() {
        let text = "//! ```text\n//! a\n//! ```\n\n/// ```\n/// b();\n/// ```\nfn c() {}\n    /// ```rust\n    /// ```\n";
        let complaints = check(&Repository::of(&[("crates/a/src/lib.rs", text)]));
        assert_eq!(complaints.len(), 2, "{complaints:?}");
        assert!(complaints[0].starts_with("crates/a/src/lib.rs:5: "), "{complaints:?}");
        assert!(complaints[1].starts_with("crates/a/src/lib.rs:9: "), "{complaints:?}");
    }
}
