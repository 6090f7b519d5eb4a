//! Applies every rule to this repository. `cargo xtask tidy` prints all of it at once.

use xtask::{Complaint, Repository, dependency_rules, document_links, names, paths, source_rules};

fn here() -> Repository {
    Repository::here().expect("the repository's files can be listed")
}

#[track_caller]
fn assert_none(complaints: &[Complaint]) {
    assert!(complaints.is_empty(), "\n{}\n", complaints.join("\n"));
}

#[test]
fn crates_depend_only_on_what_they_may() {
    let crates = dependency_rules::workspace_crates(&here()).expect("cargo metadata answers");
    assert!(crates.iter().any(|krate| krate.name == "xtask"), "cargo metadata did not even list xtask");
    assert_none(&dependency_rules::check(&crates));
}

#[test]
fn source_is_short_and_unsafe_is_in_tardy_sys_alone() {
    assert!(here().rust_files().count() > 5, "hardly any Rust files were found");
    assert_none(&source_rules::check(&here()));
}

#[test]
fn nothing_is_called_common_core_utils_or_helpers() {
    assert_none(&names::check(&here()));
}

#[test]
fn links_in_documents_lead_to_files() {
    assert_none(&document_links::check(&here()));
}

#[test]
fn no_file_names_a_path_of_one_machine() {
    assert_none(&paths::check(&here()));
}
