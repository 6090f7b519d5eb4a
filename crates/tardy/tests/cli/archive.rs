//! `tardy archive`: what is kept, found, checked and shown.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::bench::{Bench, wait_until};

const RUN_FILES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/run_files");
const FOREIGN_FILES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../tardy-formats/tests/fixtures");

/// Every file below a directory, with its content.
fn files(directory: &Path) -> Vec<(PathBuf, Vec<u8>)> {
    let mut found = Vec::new();
    for entry in fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(files(&path));
        } else {
            let content = fs::read(&path).unwrap();
            found.push((path, content));
        }
    }
    found.sort();
    found
}

/// The names that `tardy list ARCHIVE` with these conditions has.
fn listed(bench: &Bench, conditions: &[&str]) -> Vec<String> {
    let arguments = [&["list", "A", "--json", "--sort", "name"], conditions].concat();
    let overview: Value = serde_json::from_str(&bench.run(&arguments).exits(0).out).unwrap();
    let names = overview["runs"].as_array().unwrap().iter();
    names.map(|run| run["name"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn runs_are_kept_once_and_found_as_in_the_directory_that_they_came_from() {
    let bench = Bench::new();
    let added = bench.run(&["archive", "add", "A", RUN_FILES]).exits(0).err;
    let count: usize = added.split(": ").nth(2).unwrap().split(' ').next().unwrap().parse().unwrap();
    assert!(count > 40, "{added}");
    let again = bench.run(&["archive", "add", "A", RUN_FILES, "--json"]).exits(0).out;
    let again: Value = serde_json::from_str(&again).unwrap();
    assert_eq!(again.as_array().unwrap().len(), count);
    assert!(again.as_array().unwrap().iter().all(|one| one["outcome"] == "known"));
    let verified = bench.run(&["archive", "verify", "A"]).exits(0).err;
    assert!(verified.contains(&format!("{count} runs read, nothing is wrong")), "{verified}");
    // A directory without an index is searched run by run, with the same answer.
    for conditions in [
        &["--kernel", "6.12"][..],
        &["--preemption", "rt", "--load", "none"],
        &["--verdict", "met"],
        &["--board", "pc"],
        &["--cause", "disturb"],
        &["--since", "2020-01-01"],
        &["--config", "PREEMPT_RT=y"],
        &["--kernel", "6.12", "--config", "HZ=250"],
    ] {
        let found = |place: &str| {
            let arguments = [&["list", place, "--json", "--sort", "date"], conditions].concat();
            let printed = bench.run(&arguments);
            let overview: Value = serde_json::from_str(&printed.out).unwrap_or_default();
            let runs = overview["runs"].as_array().cloned().unwrap_or_default();
            let mut ids: Vec<String> = runs.iter().map(|run| run["id"].to_string()).collect();
            ids.sort();
            ids
        };
        assert_eq!(found("A"), found(RUN_FILES), "{conditions:?}");
    }
    assert!(!listed(&bench, &["--kernel", "6.12", "--preemption", "rt"]).is_empty());
    let none = bench.run(&["list", "A", "--kernel", "2.6"]).exits(1).err;
    assert!(none.contains("no run in A meets all conditions"), "{none}");
}

#[test]
fn a_kept_run_is_opened_by_every_command_and_has_its_name() {
    let bench = Bench::new();
    let run = format!("{RUN_FILES}/timerlat.run.json");
    bench.run(&["archive", "add", "A", &run]).exits(0);
    assert_eq!(listed(&bench, &[]), ["timerlat"]);
    let overview: Value = serde_json::from_str(&bench.run(&["list", "A", "--json"]).exits(0).out).unwrap();
    let kept = overview["runs"][0]["file"].as_str().unwrap();
    assert_eq!(bench.run(&["show", kept]).out, bench.run(&["show", &run]).out);
    bench.run(&["report", kept, &run, "-o", "both.html"]).exits(0);
}

#[test]
fn other_tools_files_become_an_archive_in_one_command() {
    let bench = Bench::new();
    let printed = bench.run(&["import", FOREIGN_FILES, "--unit", "us", "--keep", "A"]);
    assert!(printed.err.contains("archive A: 6"), "{}", printed.err);
    assert!(listed(&bench, &["--board", "board"]).len() > 1);
    let again = bench.run(&["import", FOREIGN_FILES, "--unit", "us", "--keep", "A"]);
    assert!(again.err.contains("archive A: 0 runs added"), "{}", again.err);
}

#[test]
fn a_measured_run_is_put_into_the_archive_too() {
    let bench = Bench::new();
    let arguments = ["run", "--fake", "1", "--duration", "1s", "-q", "-o", "a.run.json", "--keep", "A"];
    let printed = bench.run(&arguments).exits(0);
    assert!(printed.err.contains("archive A: 1 run added"), "{}", printed.err);
    assert_eq!(listed(&bench, &[]), ["a"]);
}

#[test]
fn what_cannot_be_kept_is_named_and_the_others_are_kept() {
    let bench = Bench::new();
    let good = format!("{RUN_FILES}/timerlat.run.json");
    fs::write(bench.path("bad.run.json"), "{\"schema_version\": 99}").unwrap();
    let printed = bench.run(&["archive", "add", "A", "bad.run.json", "missing.run.json", &good]).exits(1);
    for part in ["bad.run.json: ", "missing.run.json: cannot read", "1 run added, 2 not kept"] {
        assert!(printed.err.contains(part), "{part}: {}", printed.err);
    }
    fs::create_dir(bench.path("photos")).unwrap();
    fs::write(bench.path("photos/1.jpg"), "").unwrap();
    let refused = bench.run(&["archive", "add", "photos", &good]).exits(1).err;
    assert!(refused.contains("photos has files, and is not an archive"), "{refused}");
    assert!(bench.run(&["archive", "verify", "nowhere"]).exits(1).err.contains("is not an archive"));
}

#[test]
fn a_flipped_bit_is_named_and_ends_with_3() {
    let bench = Bench::new();
    bench.run(&["archive", "add", "A", RUN_FILES]).exits(0);
    let (path, mut content) = files(&bench.path("A/runs")).swap_remove(3);
    let middle = content.len() / 2;
    content[middle] ^= 16;
    fs::write(&path, content).unwrap();
    let printed = bench.run(&["archive", "verify", "A"]).exits(3).err;
    assert!(printed.contains(&path.file_name().unwrap().to_string_lossy().into_owned()), "{printed}");
    assert!(printed.contains("restore it from a copy") && printed.contains("1 thing is wrong"), "{printed}");
}

/// Writes cyclictest's JSON of `count` weeks of a board whose latency grows by half in week `change`.
fn write_weeks(bench: &Bench, board: &str, count: usize, change: usize) {
    let text = fs::read_to_string(format!("{FOREIGN_FILES}/cyclictest-2.10.json")).unwrap();
    fs::create_dir_all(bench.path("weeks")).unwrap();
    for week in 0..count {
        let mut file: Value = serde_json::from_str(&text).unwrap();
        let start = format!("Thu, {:02} Oct 2026 03:{:02}:00 +0000", week % 28 + 1, week / 28);
        file["start_time"] = start.into();
        file["sysinfo"]["nodename"] = board.into();
        let release = if week < change { "6.12.10" } else { "6.12.48" };
        file["sysinfo"]["release"] = release.into();
        for thread in file["thread"].as_object_mut().unwrap().values_mut() {
            let add = if week < change { 0 } else { 30 } + week as u64 % 3;
            let bins = thread["histogram"].as_object().unwrap().iter();
            let moved: serde_json::Map<String, Value> = bins
                .map(|(us, count)| ((us.parse::<u64>().unwrap() + add).to_string(), count.clone()))
                .collect();
            let total: u64 = moved.values().map(|count| count.as_u64().unwrap()).sum();
            let us = || moved.keys().map(|us| us.parse::<u64>().unwrap());
            (thread["min"], thread["max"]) = (us().min().unwrap().into(), us().max().unwrap().into());
            thread["cycles"] = total.into();
            let sum: u64 = moved.iter().map(|(us, n)| us.parse::<u64>().unwrap() * n.as_u64().unwrap()).sum();
            thread["avg"] = ((sum as f64 / total as f64 * 100.0).round() / 100.0).into();
            thread["histogram"] = moved.into();
        }
        fs::write(bench.path(&format!("weeks/{board}-{week:02}.json")), file.to_string()).unwrap();
    }
}

#[test]
fn a_site_shows_boards_and_changes_and_one_more_run_writes_what_it_touches() {
    let bench = Bench::new();
    write_weeks(&bench, "rack1", 16, 9);
    write_weeks(&bench, "rack2", 8, 99);
    bench.run(&["import", "weeks", "--keep", "A"]).exits(0);
    bench.run(&["archive", "site", "A", "-o", "site", "--reports", "3"]).exits(0);
    let page = |name: &str| fs::read_to_string(bench.path(&format!("site/{name}"))).unwrap();
    let index = page("index.html");
    for part in ["2 boards", "24 runs on 2 kernels", "Newest changes", "boards&#x2f;rack1.html", "higher"] {
        assert!(index.contains(part), "{part}");
    }
    let board = page("boards/rack1.html");
    for part in
        ["16 runs in the order of their start: 1 run at which", "kernel: release", "6.12.48", "-before.html"]
    {
        assert!(board.contains(part), "{part}");
    }
    assert!(
        page("kernels/6.12.48.html").contains("rack1") && !page("kernels/6.12.48.html").contains("rack2")
    );
    assert_eq!(files(&bench.path("site/runs")).len(), 2 * 3 * 3, "a report, a comparison and a file of each");
    // Nothing new: the first page, the published results and the data are the same bytes, and nothing else is written.
    let before = files(&bench.path("site"));
    let again = bench.run(&["archive", "site", "A", "-o", "site", "--reports", "3"]).exits(0).err;
    assert!(again.contains("3 files written"), "{again}");
    assert_eq!(files(&bench.path("site")), before);
    // One more run of one board.
    write_weeks(&bench, "rack2", 9, 99);
    bench.run(&["import", "weeks", "--keep", "A"]).exits(0);
    let more = bench.run(&["archive", "site", "A", "-o", "site", "--reports", "3"]).exits(0).err;
    assert!(more.contains("8 files written, 3 removed"), "{more}");
    let fresh = bench.run(&["archive", "site", "A", "-o", "fresh", "--reports", "3"]).exits(0);
    assert!(fresh.err.contains("site fresh/index.html"));
    let relative = |place: &str| -> Vec<(PathBuf, Vec<u8>)> {
        let root = bench.path(place);
        let all = files(&root).into_iter();
        all.map(|(path, content)| (path.strip_prefix(&root).unwrap().to_owned(), content)).collect()
    };
    assert!(relative("fresh") == relative("site"), "continued, a site has the bytes of a new one");
}

#[test]
fn a_directory_of_something_else_is_not_overwritten_by_a_site() {
    let bench = Bench::new();
    bench.run(&["archive", "add", "A", &format!("{RUN_FILES}/timerlat.run.json")]).exits(0);
    fs::create_dir(bench.path("home")).unwrap();
    fs::write(bench.path("home/index.html"), "mine").unwrap();
    let refused = bench.run(&["archive", "site", "A", "-o", "home"]).exits(2).err;
    assert!(refused.contains("not of an archive's site"), "{refused}");
    assert_eq!(fs::read_to_string(bench.path("home/index.html")).unwrap(), "mine");
    let inside = bench.run(&["archive", "site", "A", "-o", "A/site"]).exits(2).err;
    assert!(inside.contains("must not be in the archive"), "{inside}");
    // What others put into the directories of a site stays.
    bench.run(&["archive", "site", "A", "-o", "site"]).exits(0);
    fs::write(bench.path("site/runs/mine.run.json.gz"), "mine").unwrap();
    fs::write(bench.path("site/boards/mine.html"), "mine").unwrap();
    bench.run(&["archive", "site", "A", "-o", "site", "--reports", "0"]).exits(0);
    let left: Vec<PathBuf> = files(&bench.path("site/runs")).into_iter().map(|(path, _)| path).collect();
    assert_eq!(left, [bench.path("site/runs/mine.run.json.gz")]);
    assert!(bench.path("site/boards/mine.html").exists());
}

#[test]
fn a_site_is_finished_without_a_damaged_run() {
    let bench = Bench::new();
    bench.run(&["archive", "add", "A", RUN_FILES]).exits(0);
    let (path, content) = files(&bench.path("A/runs")).swap_remove(5);
    fs::write(&path, &content[..content.len() / 2]).unwrap();
    let printed = bench.run(&["archive", "site", "A", "-o", "site", "--reports", "999"]).exits(1).err;
    let name = path.file_name().unwrap().to_string_lossy().into_owned();
    assert!(printed.contains(&name) && printed.contains("tardy archive verify"), "{printed}");
    assert!(bench.path("site/index.html").exists());
}

#[test]
fn an_archive_is_exported_as_parquet_and_the_export_is_continued() {
    let bench = Bench::new();
    bench.run(&["archive", "add", "A", RUN_FILES]).exits(0);
    let export = ["archive", "export", "A", "--to", "parquet", "-o", "P", "--json"];
    let exported: Value = serde_json::from_str(&bench.run(&export).exits(0).out).unwrap();
    assert_eq!(exported["days"], exported["days_written"]);
    assert!(exported["runs"].as_u64().unwrap() > 40, "{exported}");
    let before = files(&bench.path("P"));
    for table in ["runs", "series", "histograms", "facts", "options"] {
        assert!(before.iter().any(|(path, _)| path.starts_with(bench.path("P").join(table))), "{table}");
    }
    let again: Value = serde_json::from_str(&bench.run(&export).exits(0).out).unwrap();
    assert_eq!(again["days_written"], 0);
    assert!(files(&bench.path("P")) == before);
    let refused = bench.run(&["archive", "export", "A", "--to", "parquet", "-o", "A"]).exits(1).err;
    assert!(refused.contains("is not an export of an archive"), "{refused}");
}

#[test]
fn a_file_of_services_is_checked_before_a_measurement() {
    let bench = Bench::new();
    fs::write(bench.path("w.toml"), "[clickhouse]\nurl = 'http://127.0.0.1:1'\npassword = 'my-word'\n")
        .unwrap();
    for command in [&["run", "--keep", "w.toml"][..], &["list", "w.toml"], &["archive", "verify", "w.toml"]] {
        let error = bench.run(command).exits(1).err;
        assert!(error.contains("w.toml: line 3: unknown field `password`"), "{error}");
        assert!(!error.contains("my-word"), "{error}");
    }
    let text = "[clickhouse]\nurl = 'http://127.0.0.1:1'\ndatabase = 'd'\n\
                [s3]\nendpoint = 'http://127.0.0.1:1'\nbucket = 'b'\n\
                access-key-file = 'key'\nsecret-key-file = 'key'\n";
    fs::write(bench.path("w.toml"), text).unwrap();
    fs::write(bench.path("key"), "my-key\n").unwrap();
    // Port 1 of the loopback interface has no service.
    let error = bench.run(&["list", "w.toml"]).exits(1).err;
    assert!(error.contains("ClickHouse at http://127.0.0.1:1"), "{error}");
    let error = bench.run(&["archive", "add", "w.toml", RUN_FILES]).exits(1).err;
    assert!(error.contains("bucket b at http://127.0.0.1:1") && !error.contains("my-key"), "{error}");
}

#[test]
fn a_site_that_was_killed_is_continued() {
    let bench = Bench::new();
    bench.run(&["archive", "add", "A", RUN_FILES]).exits(0);
    let arguments = ["archive", "site", "A", "-o", "site", "--reports", "999"];
    // Not their contents: a file that is being written gets another name at any time.
    let names = || fs::read_dir(bench.path("site/runs")).map_or(0, Iterator::count);
    let pages = |place: &str| files(&bench.path(place).join("runs")).len();
    // Killed after it has written some pages, and before it has written all.
    loop {
        let mut site = bench.start(&arguments);
        wait_until("some pages", || names() > 5 || site.try_wait().unwrap().is_some());
        site.kill().unwrap();
        if !site.wait().unwrap().success() {
            break;
        }
        fs::remove_dir_all(bench.path("site")).unwrap();
    }
    let continued = bench.run(&arguments).exits(0).err;
    assert!(continued.contains("site site/index.html"), "{continued}");
    bench.run(&["archive", "site", "A", "-o", "fresh", "--reports", "999"]).exits(0);
    assert_eq!(pages("site"), pages("fresh"));
    for (path, content) in files(&bench.path("fresh")) {
        let same = bench.path("site").join(path.strip_prefix(bench.path("fresh")).unwrap());
        assert!(fs::read(&same).unwrap() == content, "{}", same.display());
    }
}
