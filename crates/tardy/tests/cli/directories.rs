//! Directories of runs: listed, shown, and as a page.

use std::fs;
use std::os::unix::fs::symlink;

use serde_json::Value;

use crate::bench::Bench;

/// A directory `runs` with three valid runs, one of them below it, and files that are not runs.
fn bench() -> Bench {
    let bench = Bench::new();
    fs::create_dir_all(bench.path("runs/old")).unwrap();
    for (seed, name) in [("1", "runs/a.run.json"), ("2", "runs/b.run.json"), ("3", "runs/old/c.json")] {
        let run = ["run", "-q", "--fake", seed, "--loops", "20000", "--interval", "1ms", "-o", name];
        bench.run(&run).exits(0);
    }
    fs::write(bench.path("runs/notes.txt"), "which board was it?").unwrap();
    bench
}

fn listed(bench: &Bench, arguments: &[&str]) -> Value {
    let printed = bench.run(&[&["list", "runs", "--json"], arguments].concat());
    serde_json::from_str(&printed.exits(0).out).unwrap()
}

fn names(overview: &Value) -> Vec<String> {
    overview["runs"].as_array().unwrap().iter().map(|run| run["name"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn the_runs_of_a_directory_are_listed_and_ranked() {
    let bench = bench();
    let printed = bench.run(&["list", "runs"]).exits(0);
    assert!(printed.out.starts_with("3 runs, wake-ups, ranked by the worst value."), "{}", printed.out);
    assert!(printed.out.contains("The same for all: interval 1ms, load none"), "{}", printed.out);
    for row in ["1. ", "2. ", "3. "] {
        assert!(printed.out.lines().any(|line| line.trim_start().starts_with(row)), "{}", printed.out);
    }
    assert!(printed.err.contains("1 other file is not a run file: runs/notes.txt"), "{}", printed.err);
    assert_eq!(bench.run(&["show", "runs"]).exits(0).out, printed.out);
    let overview = listed(&bench, &[]);
    let worst: Vec<i64> =
        overview["runs"].as_array().unwrap().iter().map(|run| run["worst_ns"].as_i64().unwrap()).collect();
    assert!(worst.is_sorted() && worst.len() == 3, "{worst:?}");
    assert_eq!(overview["other_files"][0], "runs/notes.txt");
}

#[test]
fn the_overview_is_sorted_by_any_column() {
    let bench = bench();
    assert_eq!(names(&listed(&bench, &["--sort", "name"])), ["a", "b", "c"]);
    assert_eq!(names(&listed(&bench, &["--sort", "name", "--reverse"])), ["c", "b", "a"]);
    let by_quantile = listed(&bench, &["--sort", "p99.9"]);
    assert_eq!(by_quantile["runs"][0]["rank"], 1);
    let refused = bench.run(&["list", "runs", "--sort", "board"]).exits(2).err;
    assert!(refused.contains("'board' is not a column") && refused.contains("kernel"), "{refused}");
}

#[test]
fn an_unreadable_run_is_counted_and_makes_the_status_1() {
    let bench = bench();
    let whole = fs::read(bench.path("runs/a.run.json")).unwrap();
    fs::write(bench.path("runs/cut.run.json"), &whole[..whole.len() / 2]).unwrap();
    let printed = bench.run(&["list", "runs"]).exits(1);
    assert!(printed.out.starts_with("3 runs"), "{}", printed.out);
    assert!(
        printed.err.contains("1 file cannot be read: runs/cut.run.json: the file is truncated"),
        "{}",
        printed.err
    );
}

#[test]
fn links_neither_loop_nor_lead_out_of_the_directory() {
    let bench = bench();
    fs::copy(bench.path("runs/a.run.json"), bench.path("outside.run.json")).unwrap();
    symlink("..", bench.path("runs/old/up")).unwrap();
    symlink("a.run.json", bench.path("runs/latest.run.json")).unwrap();
    symlink("../outside.run.json", bench.path("runs/out.run.json")).unwrap();
    let printed = bench.run(&["list", "runs"]).exits(0);
    assert!(printed.out.starts_with("3 runs"), "{}", printed.out);
    let reported = "1 symbolic link leads out of the directory and was not followed: runs/out.run.json";
    assert!(printed.err.contains(reported), "{}", printed.err);
}

#[test]
fn a_directory_without_runs_is_an_error() {
    let bench = Bench::new();
    let refused = bench.run(&["list"]).exits(1).err;
    assert!(refused.contains("no run files in .; 'tardy run'"), "{refused}");
    let refused = bench.run(&["list", "nowhere"]).exits(1).err;
    assert!(refused.contains("nowhere"), "{refused}");
}

#[test]
fn the_overview_is_a_page_that_holds_every_run() {
    let bench = bench();
    bench.run(&["report", "runs", "-o", "all.html"]).exits(0);
    let page = fs::read_to_string(bench.path("all.html")).unwrap();
    assert!(page.contains("<h1>3 runs in runs</h1>"), "{page}");
    for name in ["a", "b", "c"] {
        assert!(
            (1..=3).any(|rank| page.contains(&format!("<th scope=\"row\">{rank}. {name}</th>"))),
            "{name}"
        );
    }
    assert!(page.contains("runs&#x2f;notes.txt"), "{page}");
    let elsewhere = page.replace("http://www.w3.org/2000/svg", "");
    assert!(!elsewhere.contains("http:") && !elsewhere.contains("https:"), "the page needs nothing else");
    let refused = bench.run(&["report", "runs", "published:rpi3-4.14-rt"]).exits(2).err;
    assert!(refused.contains("published"), "{refused}");
    for command in ["report", "show"] {
        let refused = bench.run(&[command, "runs", "--redact"]).exits(2).err;
        assert!(refused.contains("redact single runs"), "{refused}");
    }
    let refused = bench.run(&["report", "runs", "-o", "all.html"]).exits(1).err;
    assert!(refused.contains("--force"), "{refused}");
}
