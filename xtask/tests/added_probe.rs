//! Adds a probe to this repository: six existing files change, and it is measured and shown.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use xtask::added_probe::AddedProbe;
use xtask::{File, Repository};

/// The most existing files that a new probe changes.
const MOST_CHANGED: usize = 6;
/// What no new probe changes.
const ENGINE: &str = "crates/tardy-measure/src/engine/";

fn here() -> Repository {
    Repository::here().expect("the repository's files can be listed")
}

#[test]
fn an_added_probe_changes_at_most_six_files_and_none_of_the_engine() {
    let repository = here();
    assert!(repository.has(ENGINE), "the engine is elsewhere");
    let added = AddedProbe::to(&repository).expect("the probe can be added");
    let paths = |files: &[File]| files.iter().map(|file| file.path.clone()).collect::<Vec<_>>();
    let (changed, new) = (paths(&added.changed), paths(&added.new));
    assert!((1..=MOST_CHANGED).contains(&changed.len()), "{changed:?}");
    assert!(!changed.iter().chain(&new).any(|path| path.starts_with(ENGINE)), "{changed:?} {new:?}");
}

/// Builds tardy with the probe in a copy of the repository, runs the probe and looks for it in every output.
#[test]
#[ignore = "compiles all of tardy; make check-added-probe"]
fn long_an_added_probe_is_measured_and_shown() {
    let directory = Path::new(env!("CARGO_TARGET_TMPDIR")).join("added-probe");
    let tree = directory.join("tree");
    copy_with_the_probe(&tree);
    cargo(&tree, &["fmt", "--all", "--check"], None);
    let programs = build(&tree, &directory.join("target"));

    let results = directory.join("results");
    let _ = fs::remove_dir_all(&results);
    fs::create_dir_all(&results).expect("a directory can be made");
    let tardy = |arguments: &[&str]| {
        let mut tardy = Command::new(programs.join("tardy"));
        tardy.args(arguments).current_dir(&results).output().expect("tardy starts")
    };
    let sentence = "In 100 timeouts over 990ms with no load, poll(2) returned at most ";
    let options = ["--fake", "1", "--duration", "1s", "-o", "a.run.json", "--report", "a.html"];
    let ran = tardy(&[&["run", "--probe", "timeout"], &options[..]].concat());
    assert_shows(&ran, sentence);
    assert_shows(&tardy(&["show", "a.run.json"]), sentence);
    assert!(unfolded(&fs::read(results.join("a.html")).expect("there is a report")).contains(sentence));

    let text = fs::read(results.join("a.run.json")).expect("there is a run file");
    let run: serde_json::Value = serde_json::from_slice(&text).expect("it is JSON");
    assert_eq!(run["plan"]["phases"][0]["probe"]["kind"], "timeout");
    assert_eq!(run["series"][0]["kind"]["kind"], "timeout");
    assert_eq!(run["series"][0]["tally"]["recorded"], 100);
    assert_eq!(run["validity"]["valid"], true);

    let refused = tardy(&["run", "--probe", "timeout", "--fake", "1", "--dither", "1us"]);
    let error = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert!(!refused.status.success() && error.contains("this probe does not use it"), "{error}");
}

/// Copies the repository to `tree`, as it is on the disk, and adds the probe.
fn copy_with_the_probe(tree: &Path) {
    let repository = here();
    let _ = fs::remove_dir_all(tree);
    for file in &repository.files {
        let path = tree.join(&file.path);
        fs::create_dir_all(path.parent().expect("it is inside the tree")).expect("a directory can be made");
        fs::copy(repository.root.join(&file.path), path).expect("a file can be copied");
    }
    AddedProbe::to(&repository).and_then(|added| added.write(tree)).expect("the probe can be added");
}

/// Builds tardy and returns the directory of its programs. The program `tardy-probe` is built first: tardy's build would
/// place it among those of the repository.
fn build(tree: &Path, target: &Path) -> PathBuf {
    let programs = target.join("debug");
    let target = target.to_str().expect("the path is UTF-8");
    let build = |package: &str, probe: Option<&Path>| {
        cargo(tree, &["build", "--locked", "--package", package, "--target-dir", target], probe);
    };
    build("tardy-probe", None);
    build("tardy", Some(&programs.join("tardy-probe")));
    programs
}

#[track_caller]
fn cargo(tree: &Path, arguments: &[&str], probe: Option<&Path>) {
    let mut cargo = Command::new(env!("CARGO"));
    cargo.args(arguments).current_dir(tree);
    probe.map(|probe| cargo.env("TARDY_PROBE", probe));
    assert!(cargo.status().expect("cargo starts").success(), "cargo {}", arguments.join(" "));
}

#[track_caller]
fn assert_shows(output: &Output, sentence: &str) {
    let [out, error] = [&output.stdout, &output.stderr].map(|text| String::from_utf8_lossy(text));
    assert!(output.status.success() && unfolded(&output.stdout).contains(sentence), "{out}\n{error}");
}

/// A text in one line.
fn unfolded(text: &[u8]) -> String {
    String::from_utf8_lossy(text).split_whitespace().collect::<Vec<_>>().join(" ")
}
