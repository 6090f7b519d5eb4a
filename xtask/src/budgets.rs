//! What each executable may consist of: packages of others, and bytes.
//!
//! ARCHITECTURE.md has a table between two marks. `make budgets` builds each executable in an empty directory and writes the table.
//! The rule counts the packages anew, since that takes no build, and compares the recorded sizes.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fs;
use std::path::Path;
use std::process::Command;

use crate::marked_block::MarkedBlock;
use crate::repository::cargo;
use crate::{Complaint, Repository};

/// An executable and its budget.
struct Budget {
    program: &'static str,
    package: &'static str,
    /// The most packages of others that it is linked with.
    packages_max: usize,
    /// The most megabytes of 10⁶ bytes.
    size_max_mb: f64,
}

const BUDGETS: [Budget; 4] = [
    Budget { program: "tardy", package: "tardy", packages_max: 90, size_max_mb: 30.0 },
    Budget { program: "tardy-lab", package: "tardy-lab-command", packages_max: 80, size_max_mb: 18.0 },
    Budget {
        program: "tardy-archive",
        package: "tardy-archive-command",
        packages_max: 175,
        size_max_mb: 22.0,
    },
    Budget { program: "tardy-picture", package: "tardy-picture", packages_max: 70, size_max_mb: 5.0 },
];

/// The document with the table.
const DOCUMENT: &str = "ARCHITECTURE.md";
const BLOCK: MarkedBlock =
    MarkedBlock { begin: "<!-- budgets: written by make budgets -->", end: "<!-- end of budgets -->" };
/// Runs its arguments, and prints the CPU seconds that they took in the user's and the kernel's code as the last line of standard error.
const TIMED: &str = "TIMEFORMAT='%U %S'; time \"$0\" \"$@\"";

/// Compares the packages of each executable, and the sizes in the table, with the budgets.
///
/// # Errors
/// If cargo cannot be run.
pub fn check(repository: &Repository) -> Result<Vec<Complaint>, String> {
    let text = fs::read_to_string(repository.root.join(DOCUMENT)).map_err(|error| error.to_string())?;
    let mut complaints = Vec::new();
    for budget in &BUDGETS {
        let packages = packages_of(&repository.root, budget.package)?.len();
        if packages > budget.packages_max {
            complaints.push(format!(
                "{}: {packages} packages of others, of {} in its budget (xtask/src/budgets.rs). Do without one: 'cargo tree -p {} -e normal'",
                budget.program, budget.packages_max, budget.package
            ));
        }
        match recorded_size(&text, budget.program) {
            None => complaints.push(format!(
                "{DOCUMENT}: the budgets have no row of {}. Run 'make budgets'",
                budget.program
            )),
            Some(size) if size > budget.size_max_mb => complaints.push(format!(
                "{DOCUMENT}: {} has {size} MB, of {} in its budget (xtask/src/budgets.rs)",
                budget.program, budget.size_max_mb
            )),
            Some(_) => {}
        }
    }
    Ok(complaints)
}

/// Builds each executable into the empty directory `target`, and writes the table.
///
/// # Errors
/// If cargo fails, or the document cannot be written.
pub fn measure(repository: &Repository, target: &Path) -> Result<(), String> {
    let mut rows = String::from(
        "| executable | packages of others, at most | packages | MB, at most | MB | CPU seconds of a clean build |\n|---|---|---|---|---|---|\n",
    );
    for budget in &BUDGETS {
        let directory = target.join(budget.program);
        if directory.exists() {
            return Err(format!("{}: it is there already; remove it", directory.display()));
        }
        let arguments =
            ["build", "--locked", "--quiet", "--release", "--package", budget.package, "--target-dir"];
        let arguments = arguments.iter().map(OsStr::new).chain([directory.as_os_str()]);
        let seconds = cpu_seconds(&repository.root, &cargo(), arguments)
            .map_err(|error| format!("{} cannot be built: {error}", budget.package))?;
        let program = directory.join("release").join(budget.program);
        let size = fs::metadata(&program).map_err(|error| error.to_string())?.len() as f64 / 1e6;
        let packages = packages_of(&repository.root, budget.package)?.len();
        rows += &format!(
            "| `{}` | {} | {packages} | {} | {size:.1} | {seconds:.0} |\n",
            budget.program, budget.packages_max, budget.size_max_mb
        );
        fs::remove_dir_all(&directory).map_err(|error| format!("{}: {error}", directory.display()))?;
    }
    let path = repository.root.join(DOCUMENT);
    let text = fs::read_to_string(&path).map_err(|error| error.to_string())?;
    let replaced = BLOCK.replaced(&text, &rows).ok_or_else(|| format!("{DOCUMENT}: no block of budgets"))?;
    fs::write(&path, replaced).map_err(|error| format!("{DOCUMENT}: {error}"))
}

/// The packages of others that an executable is linked with, each version once.
fn packages_of(root: &Path, package: &str) -> Result<BTreeSet<String>, String> {
    let output = Command::new(cargo())
        .args(["tree", "--locked", "--offline", "--package", package, "--edges", "normal,no-proc-macro"])
        .args(["--prefix", "none", "--target", "x86_64-unknown-linux-musl"])
        .current_dir(root)
        .output()
        .map_err(|error| format!("cannot run cargo tree: {error}"))?;
    if !output.status.success() {
        return Err(format!("cargo tree failed: {}", String::from_utf8_lossy(&output.stderr)));
    }
    Ok(packages_in(&String::from_utf8_lossy(&output.stdout)))
}

/// The packages in the output of `cargo tree --prefix none`, without those of this repository, which have a path behind the version.
fn packages_in(tree: &str) -> BTreeSet<String> {
    let lines = tree.lines().map(|line| line.trim_end_matches(" (*)"));
    lines.filter(|line| !line.is_empty() && !line.contains(" (/")).map(str::to_owned).collect()
}

/// The CPU time of a program and of what it starts.
fn cpu_seconds<'a>(
    directory: &Path,
    program: &OsStr,
    arguments: impl IntoIterator<Item = &'a OsStr>,
) -> Result<f64, String> {
    let output = Command::new("/bin/bash")
        .args(["-c", TIMED])
        .arg(program)
        .args(arguments)
        .current_dir(directory)
        .output()
        .map_err(|error| error.to_string())?;
    let said = String::from_utf8_lossy(&output.stderr);
    if !output.status.success() {
        return Err(said.trim().to_owned());
    }
    let times = said.lines().last().unwrap_or_default().split(' ').map(str::parse::<f64>);
    times.sum::<Result<f64, _>>().map_err(|error| format!("{error}: {said}"))
}

/// The megabytes of a program in the table.
fn recorded_size(text: &str, program: &str) -> Option<f64> {
    let row = BLOCK.content(text)?.lines().find(|line| line.starts_with(&format!("| `{program}` |")))?;
    row.split('|').nth(5)?.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packages_of_others_are_counted_once() {
        let tree = "tardy v0.1.0 (/here/crates/tardy)\nserde v1.0.1\nserde v1.0.1 (*)\nsha2 v0.10.9\nsha2 v0.11.1\n\n";
        assert_eq!(packages_in(tree).len(), 3);
    }

    #[test]
    fn a_table_is_replaced_and_read() {
        let row = "| `tardy` | 90 | 86 | 22 | 20.5 | 600 |\n";
        let text = BLOCK.replaced(&format!("a\n{}\nold\n{}\nb\n", BLOCK.begin, BLOCK.end), row).unwrap();
        assert!(text.starts_with("a\n") && text.ends_with("\nb\n") && !text.contains("old"));
        assert_eq!(recorded_size(&text, "tardy"), Some(20.5));
        assert_eq!(recorded_size(&text, "tardy-lab"), None);
    }

    #[test]
    fn the_cpu_time_of_a_program_is_measured_and_its_error_shown() {
        let shell = |commands: &str| {
            let arguments = ["-c", commands].map(OsStr::new);
            cpu_seconds(Path::new("/"), OsStr::new("/bin/sh"), arguments)
        };
        assert!(shell("i=0; while [ $i -lt 100000 ]; do i=$((i+1)); done").unwrap() > 0.0);
        assert!(shell("echo wrong >&2; exit 3").unwrap_err().contains("wrong"));
    }
}
