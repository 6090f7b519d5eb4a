//! Other tools' files: imported, shown, reported, compared, exported.

use std::fmt::Write;
use std::fs;
use std::path::PathBuf;
use std::process::Command;

use crate::bench::Bench;

fn fixture(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../tardy-formats/tests/fixtures").join(name)
}

fn bench_with(names: &[&str]) -> Bench {
    let bench = Bench::new();
    for name in names {
        fs::copy(fixture(name), bench.path(name)).unwrap();
    }
    bench
}

#[test]
fn a_histogram_of_cyclictest_is_a_run_like_any_other() {
    let bench = bench_with(&["cyclictest-2.4-hist.txt", "cyclictest-2.4.json"]);
    let command = "cyclictest -m -S -p90 -i200 -h400 -q -D10s";
    let import = ["import", "cyclictest-2.4-hist.txt", "--command", command, "-o", "text.run.json"];
    let told = bench.run(&import).exits(0).err;
    assert!(told.contains("2 series, 99474 readings, worst 12.109ms"), "{told}");
    bench.run(&["import", "cyclictest-2.4.json", "-o", "json.run.json"]).exits(0);
    let shown = bench.run(&["show", "text.run.json"]).exits(0).out;
    for expected in
        ["cyclictest every 200us, SCHED_FIFO 90, load unknown", "missed periods are unknown", "49,730"]
    {
        assert!(shown.contains(expected), "{expected} is not in\n{shown}");
    }
    let compared = bench.run(&["compare", "text.run.json", "json.run.json"]).exits(0).out;
    assert!(compared.contains("loads: unknown for both"), "{compared}");
    bench.run(&["report", "text.run.json", "json.run.json", "-o", "both.html"]).exits(0);
    bench.run(&["report", "text.run.json", "-o", "one.html"]).exits(0);
    bench.run(&["plot", "text.run.json", "-o", "one.svg"]).exits(0);
    assert!(fs::read_to_string(bench.path("one.html")).unwrap().contains("missed periods are unknown"));
    let run = bench.json("text.run.json");
    assert_eq!(run["series"][0]["tally"]["missed"], "unknown");
    assert_eq!(run["series"][0]["sum_ns"], "unknown");
}

#[test]
fn every_fixture_can_be_shown_reported_and_exported_and_follows_the_schema() {
    let bench = Bench::new();
    let directory = fixture("");
    let directory = directory.to_str().unwrap();
    // 5: some files contain no latency, so their runs are invalid.
    bench.run(&["import", directory, "--unit", "us", "-o", "runs"]).exits(5);
    let schema: serde_json::Value = serde_json::from_str(&bench.run(&["schema"]).exits(0).out).unwrap();
    let validator = jsonschema::validator_for(&schema).unwrap();
    let mut runs: Vec<String> = fs::read_dir(bench.path("runs"))
        .unwrap()
        .map(|entry| format!("runs/{}", entry.unwrap().file_name().to_string_lossy()))
        .collect();
    runs.sort();
    assert!(runs.len() > 30, "{} runs", runs.len());
    for run in &runs {
        if let Some(error) = validator.iter_errors(&bench.json(run)).next() {
            panic!("{run}: {error}");
        }
        let valid = bench.json(run)["validity"]["valid"].as_bool().unwrap();
        bench.run(&["show", run]).exits(if valid { 0 } else { 5 });
        bench.run(&["report", run, "-o", "report.html", "--force"]).exits(0);
        // The jitter of a signal can be negative, which the other formats cannot represent.
        let one_signal = bench.json(run)["series"]
            .as_array()
            .unwrap()
            .iter()
            .all(|series| series["kind"]["kind"] == "capture" && series["quantity"] == "spacing");
        let formats = ["csv", "json", "junit", "cyclictest", "hdr-log", "openmetrics"];
        for format in formats.iter().take(if one_signal { 3 } else { 6 }) {
            let no_place = match *format {
                "hdr-log" => has_a_series_without_distribution(&bench.json(run)) || run.contains("early"),
                "cyclictest" => run.contains("rtla-osnoise-top") || run.contains("early"),
                _ => false,
            };
            let status = if no_place {
                1
            } else if valid {
                0
            } else {
                5
            };
            bench.run(&["export", run, "--to", format]).exits(status);
        }
    }
}

/// Whether any series has a count and extremes only: a single bin without an upper edge.
fn has_a_series_without_distribution(run: &serde_json::Value) -> bool {
    let is_one = |series: &serde_json::Value| {
        let bins = series["measured"].as_array().unwrap();
        bins.len() == 1 && bins[0][1].as_i64() == Some(i64::MAX)
    };
    run["series"].as_array().unwrap().iter().any(is_one)
}

/// Lines of threads are exported as such. A format that needs a distribution is refused.
#[test]
fn a_run_without_a_distribution_is_exported_as_lines_of_threads() {
    let bench = bench_with(&["cyclictest-2.4-quiet.txt"]);
    bench.run(&["import", "cyclictest-2.4-quiet.txt", "--unit", "us", "-o", "x.run.json"]).exits(0);
    let text = bench.run(&["export", "x.run.json", "--to", "cyclictest"]).exits(0).out;
    assert!(
        text.contains("T: 0 (    0) P:90 I:200 C:  49964 Min:      6 Act:    0 Avg:   11 Max:    1933"),
        "{text}"
    );
    let refused = bench.run(&["export", "x.run.json", "--to", "osadl", "-o", "plot"]).exits(1).err;
    assert!(refused.contains("without a distribution") && refused.contains("openmetrics"), "{refused}");
    assert!(!bench.path("plot").exists());
    let refused = bench.run(&["plot", "x.run.json", "-o", "x.svg"]).exits(1).err;
    assert!(
        refused.contains("nothing to draw: only counts and extremes are known of thread 0, thread 1"),
        "{refused}"
    );
    fs::copy(fixture("cyclictest-2.4.json"), bench.path("y.json")).unwrap();
    bench.run(&["import", "y.json", "-o", "y.run.json"]).exits(0);
    let told = bench.run(&["plot", "x.run.json", "y.run.json", "-o", "x.svg"]).exits(0).err;
    assert!(told.contains("is not drawn"), "{told}");
    bench.run(&["report", "x.run.json", "y.run.json", "-o", "x.html"]).exits(0);
    assert!(fs::read_to_string(bench.path("x.html")).unwrap().contains("there is no distribution of x"));
}

/// Ten of two thousand readings lay beyond `-h 400`.
#[test]
fn a_quantile_beyond_the_histogram_is_shown_as_at_least_its_end() {
    let bench = Bench::new();
    let text = "# Histogram\n000010 001990\n000399 000000\n# Total: 000001990\n# Min Latencies: 00010\n\
        # Avg Latencies: 00015\n# Max Latencies: 01200\n# Histogram Overflows: 00010\n\
        # Histogram Overflow at cycle number:\n# Thread 0: 00001 # 00009 others\n";
    fs::write(bench.path("h.txt"), text).unwrap();
    bench.run(&["import", "h.txt", "--unit", "us", "-o", "h.run.json"]).exits(0);
    let shown = bench.run(&["show", "h.run.json"]).exits(0).out;
    let row = shown.lines().find(|line| line.starts_with("thread 0")).unwrap();
    assert!(row.split_whitespace().any(|cell| cell == "≥400"), "{shown}");
    assert!(shown.contains("≥ 400 │") && shown.contains("all but 1 in 100 were less than 11 us"), "{shown}");
    bench.run(&["plot", "h.run.json", "-o", "h.svg"]).exits(0);
    let beside = bench.run(&["compare", "published:rpi3-4.14-rt", "h.run.json"]).exits(0).out;
    let duration = beside.lines().find(|line| line.starts_with("duration")).unwrap();
    assert!(duration.contains("not known") && duration.ends_with("unknown"), "{beside}");
}

#[test]
fn what_a_tools_command_states_is_compared_with_a_run() {
    let file = "cyclictest-2.4-hist.txt";
    let bench = bench_with(&[file]);
    let command = ["--command", "cyclictest -m -Sp90 -i200 -h400 -q", "-o", "tool.run.json"];
    bench.run(&[&["import", file], &command[..]].concat()).exits(0);
    let measure = ["run", "-q", "--fake", "1", "--loops", "1000", "--interval", "200us", "--cpus", "0,1"];
    bench.run(&[&measure[..], &["--policy", "other", "-o", "other.run.json"]].concat()).exits(0);
    let compared = bench.run(&["compare", "other.run.json", "tool.run.json"]).exits(1).out;
    assert!(compared.contains("policy and priority: other and fifo 90"), "{compared}");
    assert!(!compared.contains("- CPUs: "), "both measured CPU 0 and 1: {compared}");
    bench.run(&["import", file, "--unit", "us", "-o", "bare.run.json"]).exits(0);
    let compared = bench.run(&["compare", "tool.run.json", "bare.run.json"]).exits(0).out;
    assert!(compared.contains("policy and priority: fifo 90 and unknown"), "{compared}");
}

/// Runs whose series have different names are compared as a whole. Runs of different quantities are not compared.
#[test]
fn imported_runs_of_the_same_quantity_are_compared() {
    let names =
        ["cyclictest-2.4.json", "jitterdebugger-results.json", "oslat-2.4.json", "rtla-timerlat-hist.txt"];
    let bench = bench_with(&names);
    for name in names {
        bench.run(&["import", name, "-o", &format!("{name}.run.json")]).exits(0);
    }
    let [cyclictest, jitterdebugger, oslat, rtla] = names.map(|name| format!("{name}.run.json"));
    let refused = bench.run(&["compare", &cyclictest, &jitterdebugger]).exits(1);
    assert!(refused.out.contains("tool: cyclictest and jitterdebugger"), "{}", refused.out);
    assert!(refused.err.contains("--anyway prints the tables") && !refused.out.contains("p99.9"));
    let compared = bench.run(&["compare", &cyclictest, &jitterdebugger, "--anyway"]).exits(0).out;
    for expected in ["each is the only", "all of 'cpu 0', 'cpu 1' with all of"] {
        assert!(compared.contains(expected), "{expected} is not in\n{compared}");
    }
    let max = compared.lines().find(|line| line.starts_with("max ")).unwrap();
    assert_eq!(max.split_whitespace().collect::<Vec<_>>().join(" "), "max 12,109 2,049 5.9 times lower");
    let told = bench.run(&["compare", &cyclictest, &oslat]).exits(1);
    assert!(
        told.out.contains("NOTHING TO COMPARE") && told.err.contains("count different things"),
        "{}",
        told.err
    );
    let told = bench.run(&["compare", &rtla, &cyclictest]).exits(1).err;
    assert!(
        told.contains("2 'timerlat, kernel thread'") && told.contains("--phase BASE=CANDIDATE"),
        "{told}"
    );
    let thread = ["compare", &rtla, &cyclictest, "--anyway", "--phase", "timerlat, kernel thread=1"];
    let compared = bench.run(&thread).exits(0).out;
    assert!(compared.contains("timerlat, kernel thread, only cpu 0, which both have"), "{compared}");
    let wrong = bench.run(&["compare", &rtla, &cyclictest, "--phase", "3=1"]).exits(2).err;
    assert!(wrong.contains("the base has 1 'timerlat, timer IRQ', 2 'timerlat, kernel thread'"), "{wrong}");
    bench.run(&["compare", &cyclictest, &oslat, "--phase", "1=1"]).exits(2);
}

#[test]
fn options_without_effect_are_refused() {
    let bench = bench_with(&["cyclictest-2.4.json", "rtla-timerlat-hist.txt"]);
    let refused =
        bench.run(&["import", "cyclictest-2.4.json", "--unit", "us", "-o", "x.run.json"]).exits(2).err;
    assert!(refused.contains("the files name their unit"), "{refused}");
    assert!(!bench.path("x.run.json").exists());
    let refused = bench
        .run(&["import", "rtla-timerlat-hist.txt", "--command", "cyclictest -q", "-o", "x.run.json"])
        .exits(2);
    assert!(refused.err.contains("only cyclictest's"), "{}", refused.err);
    let refused = bench.run(&["import", "rtla-timerlat-hist.txt", "--as", "excel"]).exits(2).err;
    assert!(refused.contains("rtla-hist"), "{refused}");
    bench.run(&["import", "rtla-timerlat-hist.txt", "-o", "x.run.json"]).exits(0);
    for arguments in [
        &["export", "x.run.json", "--to", "csv", "--unit", "ns"][..],
        &["export", "x.run.json", "--to", "csv", "--limit", "1ms"],
        &["export", "x.run.json", "--to", "osadl"],
        &["export", "x.run.json", "--to", "pdf"],
    ] {
        bench.run(arguments).exits(2);
    }
}

#[test]
fn directories_are_imported_whole_and_unknown_files_are_counted() {
    let bench = bench_with(&[]);
    fs::create_dir_all(bench.path("results/board 1")).unwrap();
    fs::copy(fixture("jitterdebugger-results.json"), bench.path("results/board 1/results.json")).unwrap();
    fs::copy(fixture("jitterdebugger-samples.raw"), bench.path("results/board 1/samples.raw")).unwrap();
    fs::write(bench.path("results/board 1/dmesg"), "no latency here\n").unwrap();
    fs::write(bench.path("results/empty"), "").unwrap();
    let told = bench.run(&["import", "results", "-o", "out"]).exits(0).err;
    assert!(told.contains("jitterdebugger-samples, 2 series, 80 readings"), "{told}");
    assert!(told.contains("2 files skipped: unknown format: "), "{told}");
    assert_eq!(fs::read_dir(bench.path("out")).unwrap().count(), 2);
    let named = bench.run(&["import", "results/board 1/dmesg"]).exits(1).err;
    assert!(named.contains("tardy import --list"), "{named}");
}

#[test]
fn a_file_that_fails_does_not_prevent_the_import_of_others() {
    let bench = bench_with(&["cyclictest-2.4-hist.txt", "cyclictest-2.4.json"]);
    let files = ["missing.txt", "cyclictest-2.4-hist.txt", "cyclictest-2.4.json"];
    let import =
        |unit: &[&str], files: &[&str]| bench.run(&[&["import", "-o", "runs"], unit, files].concat());
    let first = import(&[], &files).exits(1).err;
    assert!(first.contains("cannot read missing.txt") && first.contains("1 imported"), "{first}");
    let advice = "1 file does not state its unit and was not imported: cyclictest-2.4-hist.txt\n";
    let command = "tardy import -o runs missing.txt cyclictest-2.4-hist.txt cyclictest-2.4.json --unit us\n";
    assert!(first.contains(advice) && first.contains(command), "{first}");
    let in_us = || import(&["--unit", "us"], &files[1..]);
    let again = in_us().exits(0).err;
    assert!(again.contains("1 imported into runs, 1 unchanged, 0 failed"), "{again}");
    let mut runs = fs::read_dir(bench.path("runs")).unwrap().map(|entry| entry.unwrap().path());
    fs::write(runs.next().unwrap(), "somebody's own").unwrap();
    let kept = in_us().exits(1).err;
    assert!(
        kept.contains("exists; use --force") && kept.contains("0 imported into runs, 1 unchanged"),
        "{kept}"
    );
}

#[test]
fn units_are_given_by_pattern_and_an_unused_pattern_is_refused() {
    let bench = bench_with(&[]);
    fs::create_dir(bench.path("old")).unwrap();
    for name in ["a.us.txt", "b.ns.txt"] {
        fs::copy(fixture("cyclictest-2.4-hist.txt"), bench.path(&format!("old/{name}"))).unwrap();
    }
    let patterns = ["import", "old", "-o", "runs", "--unit", "*.ns.txt=ns", "--unit", "us"];
    let told = bench.run(&patterns).exits(0).err;
    let line = |name: &str| told.lines().find(|line| line.contains(name)).unwrap().to_owned();
    assert!(line("a.us.txt").contains("worst 12.109ms"), "{told}");
    assert!(line("b.ns.txt").contains("worst 12.109us"), "{told}");
    let unused =
        bench.run(&["import", "old", "-o", "more", "--unit", "*.hist=us", "--unit", "us"]).exits(2).err;
    assert!(unused.contains("'*.hist' matches no file"), "{unused}");
    let wrong = bench.run(&["import", "old", "--unit", "ms"]).exits(2).err;
    assert!(wrong.contains("expected us, ns or PATTERN=UNIT"), "{wrong}");
}

#[test]
fn the_unit_of_cyclictests_lines_is_recognised() {
    let bench = bench_with(&["cyclictest-2.4-quiet.txt", "cyclictest-2.4-quiet-ns.txt"]);
    let told = bench.run(&["import", ".", "-o", "runs"]).exits(0).err;
    assert!(told.contains("worst 2.003ms") && told.contains("worst 51.681us"), "{told}");
    // --unit decides, and the import states what speaks against it.
    let given = ["import", "cyclictest-2.4-quiet-ns.txt", "--unit", "us", "-o", "x.run.json"];
    let told = bench.run(&given).exits(0).err;
    assert!(told.contains("worst 51.681ms") && told.contains("read as ns, it would be 28.4 us"), "{told}");
    let shown = bench.run(&["show", "x.run.json"]).exits(0).out.replace("\n  ", " ");
    assert!(shown.contains("as microseconds because of --unit; the widths of the columns are"), "{shown}");
    let json = ["import", "cyclictest-2.4.json", "--unit", "us", "-o", "y.run.json"];
    fs::copy(fixture("cyclictest-2.4.json"), bench.path("cyclictest-2.4.json")).unwrap();
    let refused = bench.run(&json).exits(2).err;
    assert!(refused.contains("unit: not used here: the files name their unit"), "{refused}");
}

#[test]
fn a_mean_of_many_intervals_raises_a_doubt_about_the_unit() {
    let bench = Bench::new();
    let text = "T: 0 (1) P:90 I:200 C: 100 Min: 8262 Act: 25161 Avg: 28438 Max: 51681\n";
    fs::write(bench.path("squeezed.txt"), text).unwrap();
    let import = |unit: &str, out: &str| {
        bench.run(&["import", "squeezed.txt", "--unit", unit, "-o", out]).exits(0).err
    };
    let doubted = import("us", "us.run.json");
    assert!(doubted.contains("142 times the interval of 200us") && doubted.contains("28.4 us"), "{doubted}");
    assert!(!import("ns", "ns.run.json").contains("times the interval"));
}

#[test]
fn standard_input_is_imported() {
    let bench = bench_with(&["cyclictest-2.4.json"]);
    let mut command = bench.command(&["import", "-", "-o", "a.run.json"]);
    command.stdin(fs::File::open(bench.path("cyclictest-2.4.json")).unwrap());
    let told = crate::bench::Running::of(command).printed().exits(0).err;
    assert!(told.contains("stdin: rt-tests-json, 2 series"), "{told}");
    bench.run(&["show", "a.run.json"]).exits(0);
}

#[test]
fn links_are_followed_within_the_directory_only() {
    let bench = bench_with(&["cyclictest-2.4.json"]);
    fs::create_dir(bench.path("old")).unwrap();
    fs::copy(fixture("oslat-2.4.json"), bench.path("old/a.json")).unwrap();
    for (target, link) in [("a.json", "old/same"), (".", "old/loop"), ("../cyclictest-2.4.json", "old/out")] {
        std::os::unix::fs::symlink(target, bench.path(link)).unwrap();
    }
    let told = bench.run(&["import", "old", "-o", "runs"]).exits(0).err;
    assert!(told.contains("1 imported into runs, 0 failed"), "{told}");
    assert!(told.contains("1 symbolic link leads out") && told.contains("old/out"), "{told}");
    bench.run(&["import", "old/out", "-o", "named.run.json"]).exits(0);
}

#[test]
fn an_import_does_not_overwrite_the_imported_file() {
    let bench = bench_with(&["cyclictest-2.4.json"]);
    let name = "cyclictest-2.4.json";
    let refused = bench.run(&["import", name, "-o", &format!("./{name}"), "--force"]).exits(2).err;
    assert!(refused.contains("the file to import"), "{refused}");
    assert_eq!(fs::read(bench.path(name)).unwrap(), fs::read(fixture(name)).unwrap());
}

#[test]
fn a_unit_that_contradicts_results_json_is_refused() {
    let bench = bench_with(&[]);
    fs::copy(fixture("jitterdebugger-results.json"), bench.path("results.json")).unwrap();
    fs::copy(fixture("jitterdebugger-samples.raw"), bench.path("samples.raw")).unwrap();
    let refused = bench.run(&["import", "samples.raw", "--unit", "ns", "-o", "a.run.json"]).exits(1).err;
    assert!(refused.contains("gives the unit microseconds"), "{refused}");
    bench.run(&["import", "samples.raw", "--unit", "us", "-o", "a.run.json"]).exits(0);
}

/// Text as Windows programs write it, and compressed files.
#[test]
fn a_byte_order_mark_is_skipped_and_other_encodings_are_named() {
    let bench = bench_with(&[]);
    let text = fs::read_to_string(fixture("cyclictest-2.4.json")).unwrap();
    fs::write(bench.path("mark.json"), format!("\u{feff}{text}")).unwrap();
    bench.run(&["import", "mark.json", "-o", "a.run.json"]).exits(0);
    let wide: Vec<u8> = format!("\u{feff}{text}").encode_utf16().flat_map(u16::to_le_bytes).collect();
    for (name, content, what) in [
        ("wide.json", wide.as_slice(), "iconv"),
        ("a.xz", b"\xfd7zXZ\0\0".as_slice(), "xz -d"),
        ("a.bz2", b"BZh91AY".as_slice(), "bzip2 -d"),
        ("a.zip", b"PK\x03\x04 and no capture".as_slice(), "unzip"),
    ] {
        fs::write(bench.path(name), content).unwrap();
        let told = bench.run(&["import", name, "-o", "b.run.json"]).exits(1).err;
        assert!(told.contains(what), "{told}");
    }
}

#[test]
fn a_file_name_cannot_send_control_characters_to_the_terminal() {
    let bench = bench_with(&[]);
    let name = "a\n\u{1b}[2Jb.json";
    fs::copy(fixture("cyclictest-2.4.json"), bench.path(name)).unwrap();
    let told = bench.run(&["import", name, "-o", "a.run.json"]).exits(0).err;
    assert!(told.lines().count() == 1 && !told.contains('\u{1b}'), "{told:?}");
    fs::write(bench.path(name), "no latency here\n").unwrap();
    let told = bench.run(&["import", name]).exits(1).err;
    assert!(told.lines().count() == 1 && !told.contains('\u{1b}'), "{told:?}");
}

#[test]
fn the_lists_name_every_format() {
    let bench = Bench::new();
    let listed = bench.run(&["import", "--list"]).exits(0).out;
    assert!(listed.contains("cyclictest") && listed.contains("xenomai-plot"), "{listed}");
    let listed = bench.run(&["export", "--list"]).exits(0).out;
    assert!(listed.contains("openmetrics") && listed.contains("junit"), "{listed}");
}

/// 70 lines of a histogram whose worst reading is 12 ms: the highest row that is left is not the maximum.
#[test]
fn a_file_that_was_cut_off_has_no_verdict() {
    let bench = bench_with(&["cyclictest-2.4-hist.txt"]);
    let whole = std::fs::read_to_string(bench.path("cyclictest-2.4-hist.txt")).unwrap();
    let cut: String = whole.split_inclusive('\n').take(70).collect();
    std::fs::write(bench.path("cut.txt"), cut).unwrap();
    bench.run(&["import", "cyclictest-2.4-hist.txt", "--unit", "us", "-o", "whole.run.json"]).exits(0);
    let imported = bench.run(&["import", "cut.txt", "--unit", "us", "-o", "cut.run.json"]).exits(0);
    assert!(format!("{}{}", imported.out, imported.err).contains("worst ≥ 67us"), "{}", imported.err);
    for (limit_us, expected) in
        [(1000, "was kept is unknown: the file does not establish the maximum"), (60, "was exceeded")]
    {
        let mut run = bench.json("cut.run.json");
        run["plan"]["limit_ns"] = (limit_us * 1000).into();
        std::fs::write(bench.path("limited.run.json"), run.to_string()).unwrap();
        let shown = bench
            .run(&["show", "limited.run.json"])
            .exits(if limit_us == 60 { 3 } else { 4 })
            .out
            .replace("\n  ", " ");
        assert!(shown.contains(expected) && shown.contains("≥ 67 us"), "{shown}");
        assert!(!shown.contains("at most 1 in"), "no share is bounded: {shown}");
        bench.run(&["report", "limited.run.json", "-o", "report.html", "--force"]).exits(0);
        let page = std::fs::read_to_string(bench.path("report.html")).unwrap();
        assert!(page.contains("≥67"), "the page marks it");
        let junit = bench.run(&["export", "limited.run.json", "--to", "junit"]);
        let junit = junit.exits(if limit_us == 60 { 3 } else { 4 }).out;
        let judged =
            if limit_us == 60 { "failures=\"2\" errors=\"1\"" } else { "failures=\"0\" errors=\"3\"" };
        assert!(junit.contains(judged), "{junit}");
    }
    let compared = bench.run(&["compare", "whole.run.json", "cut.run.json", "--json"]).exits(0).out;
    let compared: serde_json::Value = serde_json::from_str(&compared).unwrap();
    for row in compared["candidates"][0]["rows"].as_array().unwrap() {
        let max = row["ratios"].as_array().unwrap().iter().find(|ratio| ratio["name"] == "max").unwrap();
        assert_eq!(
            (&max["ratio"], &max["candidate_at_least"]),
            (&serde_json::Value::Null, &true.into()),
            "{max}"
        );
        assert_eq!(row["shape"], serde_json::Value::Null);
    }
    let exported = bench.run(&["export", "cut.run.json", "--to", "cyclictest"]).exits(0).out;
    assert!(!exported.contains("Max Latencies"), "{exported}");
}

/// A tree of the document's values would need twice the address space.
#[test]
fn an_import_of_large_json_fits_into_little_memory() {
    let bench = Bench::new();
    let rows = 1_500_000;
    let mut text = "{\"cmdline:\": \"cyclictest -N\", \"rt_test_version:\": \"2.10\", \"resolution_in_ns\": 1, \"thread\": \
                    {\"0\": {\"histogram\": {"
        .to_owned();
    for row in 0..rows {
        let comma = if row == 0 { "" } else { "," };
        write!(text, "{comma}\n        \"{}\": 7", 1000 + row).unwrap();
    }
    writeln!(text, "}}, \"cycles\": {}, \"min\": 1000, \"max\": {}}}}}}}", rows * 7, 999 + rows).unwrap();
    std::fs::write(bench.path("large.json"), &text).unwrap();
    let program = env!("CARGO_BIN_EXE_tardy");
    let limit_kb = (std::fs::metadata(program).unwrap().len() + (256 << 20)) / 1024;
    let script = format!("ulimit -v {limit_kb} && exec \"$0\" import large.json -o large.run.json");
    let limited = Command::new("sh").args(["-c", &script, program]).current_dir(bench.path(".")).output();
    let printed = limited.unwrap();
    assert!(printed.status.success(), "{}", String::from_utf8_lossy(&printed.stderr));
    let written = std::fs::metadata(bench.path("large.run.json")).unwrap().len();
    assert!(text.len() > 30_000_000 && written > 20_000_000, "{} and {written} bytes", text.len());
}
