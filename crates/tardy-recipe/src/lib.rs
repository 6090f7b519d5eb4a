//! Recipes and plans: what a run measures.
//!
//! A [`Recipe`] consists of [`options`] from a file and from flags, whose [`values`] are parsed once. [`plan`] resolves it
//! for one machine, before anything is measured. Both `tardy run` and the program inside a lab's guest do so.

mod built_in;
pub mod options;
pub mod plan;
mod recipe;
mod recipe_text;
mod usage_error;
pub mod values;

pub use recipe::Recipe;
pub use recipe_text::{RecipeError, RecipeText, is_path};
pub use usage_error::{UsageError, wrong};

/// Parses flags of `tardy run`, for tests. Panics if they are wrong.
#[cfg(test)]
pub(crate) fn parsed_flags(flags: &[&str]) -> options::RecipeFlags {
    use clap::{Args, FromArgMatches};
    let command = options::RecipeFlags::augment_args(clap::Command::new("run"));
    let matches =
        command.try_get_matches_from(["run"].iter().chain(flags)).unwrap_or_else(|error| panic!("{error}"));
    options::RecipeFlags::from_arg_matches(&matches).unwrap()
}
