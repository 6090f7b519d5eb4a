//! Files and directories are created, replaced and moved by `tardy_sys::files` alone, whose rules another user of the machine
//! cannot bend (ADR 20).
//!
//! The rule reports names of the standard library outside of tests. In tardy-sys, kernel files may be opened for writing, but
//! nothing may be created.

use crate::rust_items::test_items;
use crate::rust_source::{code_only, words};
use crate::{Complaint, File, Repository};

/// The module with the rules, a file and a directory.
const THE_MODULE: [&str; 2] = ["crates/tardy-sys/src/files.rs", "crates/tardy-sys/src/files/"];
/// The only other crate that may use [`OPENERS`].
const KERNEL_FILES: &str = "crates/tardy-sys/";
/// Each creates, replaces or moves a file or a directory, or names a directory that every user can write.
const CREATORS: &[&str] = &[
    "fs::write",
    "fs::copy",
    "fs::rename",
    "fs::create_dir_all",
    "fs::hard_link",
    "File::create",
    "File::create_new",
    "env::temp_dir",
];
/// Each can open a file for writing.
const OPENERS: &[&str] = &["OpenOptions", "File::options"];

/// Looks for calls of the standard library that create or change files.
pub fn check(repository: &Repository) -> Vec<Complaint> {
    repository.rust_files().filter(|file| is_checked(file)).flat_map(of_file).collect()
}

/// Whether the file is part of a product's crate and not of its tests.
fn is_checked(file: &File) -> bool {
    file.product_crate().is_some() && !THE_MODULE.iter().any(|module| file.path.starts_with(module))
}

fn of_file(file: &File) -> Vec<Complaint> {
    let code = code_only(&file.text);
    let tests = test_items(&code);
    let may_open = file.path.starts_with(KERNEL_FILES);
    let openers = if may_open { [].as_slice() } else { OPENERS };
    let found = |(at, _): (usize, &str)| {
        let is_forbidden = |name: &&&str| {
            let rest = code[at..].strip_prefix(**name);
            rest.is_some_and(|rest| !rest.starts_with(|c: char| c.is_alphanumeric() || c == '_'))
        };
        let name = CREATORS.iter().chain(openers).find(is_forbidden)?;
        let is_of_a_test = tests.iter().any(|test| test.contains(&at));
        let is_of_tardy_sys = code[..at].ends_with("tardy_sys::");
        (!is_of_a_test && !is_of_tardy_sys).then(|| {
            let line = code[..at].matches('\n').count() + 1;
            format!(
                "{}:{line}: {name}. Use tardy_sys::files, which does not follow another user's links",
                file.path
            )
        })
    };
    words(&code).filter_map(found).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(path: &str, text: &str) -> Vec<String> {
        Repository::complaints_about(check, (path, text), ". Use")
    }

    #[test]
    fn creating_a_file_is_reported() {
        let text = "use std::fs::{self, File, OpenOptions};\nfn f() { std::fs::write(path, text); }\n\
                    fn g() {\n    File::create(path);\n    std::env::temp_dir(); fs::rename(a, b); }";
        let expected =
            [":1: OpenOptions", ":2: fs::write", ":4: File::create", ":5: env::temp_dir", ":5: fs::rename"];
        assert_eq!(lines("crates/x/src/a.rs", text), expected.map(|end| format!("crates/x/src/a.rs{end}")));
    }

    #[test]
    fn tests_the_module_itself_and_other_calls_are_not_reported() {
        let text = "fn f() { fs::write(path, text) }";
        for path in [
            "crates/tardy-sys/src/files.rs",
            "crates/tardy-sys/src/files/own.rs",
            "crates/x/src/a/tests.rs",
            "xtask/src/a.rs",
        ] {
            assert_eq!(lines(path, text), [] as [String; 0], "{path}");
        }
        let text = "fn f() { fs::read(path); files::rename_own(a, b); fs::write_text(a); }\n// fs::write\n\
                    #[cfg(test)]\nmod tests { fn f() { fs::write(path) } }";
        assert!(lines("crates/x/src/a.rs", text).is_empty());
    }

    #[test]
    fn tardy_sys_opens_kernel_files_but_creates_none() {
        let text = "fn f() { OpenOptions::new().write(true).open(path); File::create(path); }";
        assert_eq!(lines("crates/tardy-sys/src/a.rs", text), ["crates/tardy-sys/src/a.rs:1: File::create"]);
    }
}
