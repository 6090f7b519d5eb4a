//! The checker of schedules and the code that finds them do not use each other.
//!
//! A mistake in shared code would be in a schedule and in its check, and would not be found. Both may use the types of an instance
//! and of a schedule.

use crate::rust_source::{code_only, line_of, words};
use crate::{Complaint, File, Repository};

const CRATE: &str = "crates/tardy-synthesis/src/";
/// The modules that find schedules and proofs.
const FINDING: [&str; 3] = ["solver", "gates", "certificate"];
/// What the checker may use of its crate.
const SHARED: [&str; 3] = ["instance", "schedule", "proof"];
const CHECKER: &str = "checker";

/// Looks at every module of both sides.
pub fn check(repository: &Repository) -> Vec<Complaint> {
    let mut complaints = Vec::new();
    for file in repository.rust_files() {
        let Some(module) = module_of(file) else { continue };
        let code = code_only(&file.text);
        for (at, name) in modules_used(&code) {
            let is_wrong = match module {
                CHECKER => name != CHECKER && !SHARED.contains(&name),
                _ => FINDING.contains(&module) && name == CHECKER,
            };
            if is_wrong {
                complaints.push(format!(
                    "{}:{}: uses crate::{name}. The checker of schedules and the code that finds them share types only ({})",
                    file.path,
                    line_of(&code, at),
                    SHARED.join(", ")
                ));
            }
        }
    }
    complaints
}

/// The name of the file's outermost module in the crate.
fn module_of(file: &File) -> Option<&str> {
    let path = file.path.strip_prefix(CRATE)?;
    path.split(['/', '.']).next()
}

/// The modules of the crate that are named after `crate::`, each with its place.
fn modules_used(code: &str) -> impl Iterator<Item = (usize, &str)> {
    let following = words(code).zip(words(code).skip(1));
    following.filter(|((_, word), _)| *word == "crate").map(|(_, (at, name))| (at, name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_checker_that_uses_the_solver_is_reported() {
        let path = |name: &str| format!("crates/tardy-synthesis/src/{name}");
        let files = [
            (path("checker.rs"), "use crate::instance::Instance;\nuse crate::solver::solve;"),
            (path("checker/links.rs"), "use crate::checker::fault::Fault;\nfn f() { crate::gates::of() }"),
            (path("gates.rs"), "use crate::schedule::Hop;\nuse crate::checker::check;"),
            (path("answer.rs"), "use crate::checker::check;\nuse crate::solver::solve;"),
        ];
        let files: Vec<(&str, &str)> = files.iter().map(|(path, text)| (path.as_str(), *text)).collect();
        let complaints = check(&Repository::of(&files));
        let places: Vec<&str> = complaints.iter().filter_map(|text| text.split(". The").next()).collect();
        assert_eq!(
            places,
            [
                "crates/tardy-synthesis/src/checker.rs:2: uses crate::solver",
                "crates/tardy-synthesis/src/checker/links.rs:2: uses crate::gates",
                "crates/tardy-synthesis/src/gates.rs:2: uses crate::checker",
            ]
        );
    }
}
