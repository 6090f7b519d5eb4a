//! Applies every rule to this repository. `cargo xtask tidy` prints all of it at once.

use xtask::{
    Complaint, Repository, budgets, crate_rules, dependency_rules, document_blocks, document_links, english,
    file_creation, independent_checker, kernel_paths, module_circles, names, paths, program_lookup,
    source_rules, test_files, unused_dependencies,
};

fn here() -> Repository {
    Repository::here().expect("the repository's files can be listed")
}

#[track_caller]
fn assert_none(complaints: &[Complaint]) {
    assert!(complaints.is_empty(), "\n{}\n", complaints.join("\n"));
}

#[test]
fn every_crate_depends_on_allowed_crates_only() {
    let crates = dependency_rules::workspace_crates(&here()).expect("cargo metadata answers");
    assert!(crates.iter().any(|krate| krate.name == "xtask"), "cargo metadata does not list xtask");
    assert_none(&dependency_rules::check(&crates));
}

#[test]
fn executables_keep_their_budgets() {
    assert_none(&budgets::check(&here()).expect("cargo tree answers"));
}

#[test]
fn no_dependency_is_unused() {
    let crates = dependency_rules::workspace_crates(&here()).expect("cargo metadata answers");
    assert_none(&unused_dependencies::check(&here(), &crates));
}

#[test]
fn files_and_functions_are_short_and_only_tardy_sys_is_unsafe() {
    assert!(here().rust_files().count() > 5, "expected more Rust files");
    assert_none(&source_rules::check(&here()));
}

#[test]
fn no_module_is_called_common_core_utils_or_helpers() {
    assert_none(&names::check(&here()));
}

#[test]
fn every_link_in_a_document_leads_to_a_file() {
    assert_none(&document_links::check(&here()));
}

#[test]
fn every_block_of_a_document_has_a_mark() {
    assert_none(&document_blocks::check(&here()));
}

#[test]
fn no_file_contains_a_path_of_one_machine() {
    assert_none(&paths::check(&here()));
}

#[test]
fn crates_are_small_and_re_export_no_modules_of_others() {
    assert_none(&crate_rules::check(&here()));
}

#[test]
fn kernel_files_are_opened_by_tardy_sys_only() {
    assert_none(&kernel_paths::check(&here()));
}

#[test]
fn files_are_created_by_one_module() {
    assert_none(&file_creation::check(&here()));
}

#[test]
fn programs_are_found_by_one_module() {
    assert_none(&program_lookup::check(&here()));
}

#[test]
fn modules_do_not_need_each_other() {
    assert_none(&module_circles::check(&here()));
}

#[test]
fn the_checker_of_schedules_shares_no_code_with_the_solver() {
    let checked =
        here().rust_files().filter(|file| file.path.contains("tardy-synthesis/src/checker")).count();
    assert!(checked > 3, "the checker is elsewhere");
    assert_none(&independent_checker::check(&here()));
}

#[test]
fn texts_and_names_avoid_the_phrases_of_the_style_guide() {
    assert_none(&english::check(&here()));
}

#[test]
fn every_file_of_tests_belongs_to_a_program() {
    assert_none(&test_files::check(&here()));
}

/// What a profile of Cargo.toml does in a panic.
fn panic_of(manifest: &str, profile: &str) -> String {
    let section = manifest.split(&format!("[profile.{profile}]\n")).nth(1);
    let section = section.unwrap_or_else(|| panic!("there is no profile '{profile}'"));
    let lines = || section.lines().take_while(|line| !line.starts_with('['));
    let value = |key: &str| {
        let line = lines().find_map(|line| line.strip_prefix(key)?.trim().strip_prefix('='));
        line.map(|value| value.trim().trim_matches('"').to_owned())
    };
    match (value("panic"), value("inherits")) {
        (Some(panic), _) => panic,
        (None, Some(base)) => panic_of(manifest, &base),
        (None, None) => "unwind".to_owned(),
    }
}

#[test]
fn the_probe_and_guests_end_in_a_panic_and_what_ships_unwinds() {
    let root = here().root;
    let manifest = std::fs::read_to_string(root.join("Cargo.toml")).expect("the workspace has a manifest");
    for profile in ["probe", "probe-of-development", "guest", "guest-of-tests", "web"] {
        assert_eq!(panic_of(&manifest, profile), "abort", "{profile}");
    }
    for profile in ["release", "dev"] {
        assert_eq!(panic_of(&manifest, profile), "unwind", "{profile}");
    }
    let script = std::fs::read_to_string(root.join("scripts/build-static")).expect("there is such a script");
    assert!(
        script.contains("release) probe_profile=probe ;;"),
        "a static tardy has a probe of its own profile"
    );
}
