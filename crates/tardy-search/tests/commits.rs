//! Bisection over the commits of a repository, with a builder that only reads a file of a commit.

use std::path::Path;
use std::process::Command;

use tardy_search::Verdict;
use tardy_search::bisection::{Bisection, EndError};
use tardy_search::measure::Condition;

const COMMITS: usize = 30;

fn git(tree: &Path, arguments: &[&str]) -> String {
    let mut git = Command::new("git");
    git.current_dir(tree).args([
        "-c",
        "user.name=t",
        "-c",
        "user.email=t@example.org",
        "-c",
        "commit.gpgsign=false",
    ]);
    let output = git.args(arguments).output().expect("git is installed");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap().trim().to_owned()
}

/// A repository of [`COMMITS`] commits. From `planted` on, what is built from it is slow; from `broken` it cannot be built, in that commit
/// alone.
fn repository(planted: usize, broken: Option<usize>) -> (tempfile::TempDir, Vec<String>) {
    let tree = tempfile::tempdir().unwrap();
    git(tree.path(), &["init", "--quiet"]);
    for number in 0..COMMITS {
        let latency = if Some(number) == broken {
            "does not compile"
        } else if number >= planted {
            "13.5us"
        } else {
            "9us"
        };
        std::fs::write(tree.path().join("latency"), latency).unwrap();
        std::fs::write(tree.path().join("other"), number.to_string()).unwrap();
        git(tree.path(), &["add", "."]);
        git(tree.path(), &["commit", "--quiet", "-m", &format!("change {number}")]);
    }
    let commits = git(tree.path(), &["rev-list", "--first-parent", "--reverse", "HEAD"]);
    let commits = commits.lines().map(str::to_owned).collect();
    (tree, commits)
}

/// What a built kernel of the commit would show; untestable if it cannot be built.
fn verdict(tree: &Path, commit: &str, condition: &Condition) -> Verdict {
    let built = git(tree, &["show", &format!("{commit}:latency")]);
    match tardy_record::units::parse_duration_ns(&built) {
        Ok(ns) if condition.is_bad(ns as f64) => Verdict::Bad,
        Ok(_) => Verdict::Good,
        Err(_) => Verdict::Untestable,
    }
}

fn search(planted: usize, broken: Option<usize>) -> Result<(String, String, usize, usize), EndError> {
    let condition: Condition = "p99>12us".parse().unwrap();
    let (tree, commits) = repository(planted, broken);
    let mut bisection = Bisection::among(commits.len());
    let mut tests = 0;
    while let Some(at) = bisection.next()? {
        bisection.record(at, verdict(tree.path(), &commits[at], &condition));
        tests += 1;
    }
    let found = bisection.found();
    let subject = |at: usize| git(tree.path(), &["log", "-1", "--format=%s", &commits[at]]);
    Ok((subject(found.last_good), subject(found.first_bad), found.untestable.len(), tests))
}

#[test]
fn a_commit_planted_among_thirty_is_found() {
    let (good, bad, untestable, tests) = search(17, None).unwrap();
    assert_eq!((good.as_str(), bad.as_str(), untestable), ("change 16", "change 17", 0));
    assert!(tests <= 7, "{tests}");
}

#[test]
fn a_commit_that_cannot_be_built_next_to_it_is_named() {
    let (good, bad, untestable, _) = search(17, Some(16)).unwrap();
    assert_eq!((good.as_str(), bad.as_str(), untestable), ("change 15", "change 17", 1));
}

#[test]
fn commits_that_do_not_differ_are_an_error() {
    assert_eq!(search(COMMITS, None), Err(EndError::BothGood));
}
