//! The rules of this repository. Each rule is a function from a [`Repository`] to the places that break it.
//!
//! Only rules that neither Cargo nor clippy can express are here. The tests of this crate apply every rule to the repository
//! itself; `cargo xtask tidy` prints all complaints at once. Rejected alternative: a parser for Rust (syn). The rules need
//! words, comments and paths only, and every test run builds xtask, so it must compile in seconds.

pub mod added_probe;
pub mod budgets;
pub mod crate_rules;
pub mod dependency_rules;
pub mod document_blocks;
pub mod document_links;
pub mod english;
pub mod file_creation;
pub mod independent_checker;
pub mod kernel_paths;
pub mod lab_numbers;
mod marked_block;
pub mod module_circles;
pub mod names;
pub mod paths;
pub mod program_lookup;
mod prose;
mod repository;
mod rust_items;
mod rust_modules;
mod rust_source;
pub mod site;
pub mod source_rules;
pub mod test_files;
pub mod unused_dependencies;
mod use_tree;
pub mod web_page;
mod word_list;

pub use repository::{File, Repository};

/// One place that breaks a rule: where it is, what is wrong, and what to do.
pub type Complaint = String;

/// Everything in `repository` that breaks a rule, in the order of the rules.
///
/// # Errors
///
/// Cargo cannot be run, or its output is not understood.
pub fn complaints(repository: &Repository) -> Result<Vec<Complaint>, String> {
    let crates = dependency_rules::workspace_crates(repository)?;
    let mut all = dependency_rules::check(&crates);
    all.extend(unused_dependencies::check(repository, &crates));
    all.extend(source_rules::check(repository));
    all.extend(names::check(repository));
    all.extend(document_links::check(repository));
    all.extend(document_blocks::check(repository));
    all.extend(paths::check(repository));
    all.extend(crate_rules::check(repository));
    all.extend(kernel_paths::check(repository));
    all.extend(file_creation::check(repository));
    all.extend(program_lookup::check(repository));
    all.extend(module_circles::check(repository));
    all.extend(independent_checker::check(repository));
    all.extend(english::check(repository));
    all.extend(test_files::check(repository));
    all.extend(budgets::check(repository)?);
    Ok(all)
}
