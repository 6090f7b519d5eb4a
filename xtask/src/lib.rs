//! The rules that this repository is held to, each a function from a [`Repository`] to the places that break it.
//!
//! Cargo and clippy hold the walls they can; what is here is what neither can say. The tests of this crate
//! apply every rule to the repository itself, and `cargo xtask tidy` prints what they would say.
//! Road not taken: a parser for Rust (syn). Counting lines needs none, and xtask is on every test's path, so it
//! has to compile in seconds.

pub mod dependency_rules;
pub mod document_links;
pub mod english;
pub mod names;
pub mod paths;
mod prose;
mod repository;
mod rust_source;
pub mod source_rules;
mod word_list;

pub use repository::{File, Repository};

/// One place that breaks a rule: what, where, and what to do.
pub type Complaint = String;

/// Everything in `repository` that breaks a rule, in the order of the rules.
///
/// # Errors
///
/// Where the rules cannot be applied at all: no cargo, or an unreadable file.
pub fn complaints(repository: &Repository) -> Result<Vec<Complaint>, String> {
    let mut all = dependency_rules::check(&dependency_rules::workspace_crates(repository)?);
    all.extend(source_rules::check(repository));
    all.extend(names::check(repository));
    all.extend(document_links::check(repository));
    all.extend(paths::check(repository));
    all.extend(english::check(repository));
    Ok(all)
}
