//! `tardy history`: runs made from an example, whose maxima change at one of them together with the kernel.

use serde_json::Value;

use crate::bench::Bench;

/// Writes `count` runs, the maxima of which are 45 % higher from run `change` on, with another kernel.
fn write_runs(bench: &Bench, count: usize, change: usize) {
    let example = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/standard.run.json");
    let example: Value = serde_json::from_slice(&std::fs::read(example).unwrap()).unwrap();
    for index in 0..count {
        let mut run = example.clone();
        run["origin"]["id"] = format!("run-{index}").into();
        run["origin"]["name"] = format!("nightly {}", index + 1).into();
        run["origin"]["started_at"] = format!("2026-10-{:02}T02:00:00Z", index + 1).into();
        let size = if index + 1 < change { 0.6 } else { 0.87 };
        let factor = size * [1.0, 1.03, 0.98, 1.01, 0.97][index % 5];
        for series in run["series"].as_array_mut().unwrap() {
            for maximum in series["block_maxima"]["maxima_ns"].as_array_mut().unwrap() {
                if let Some(ns) = maximum.as_f64() {
                    *maximum = Value::from((ns * factor) as i64);
                }
            }
        }
        if index + 1 >= change {
            let kernel = &mut run["facts"]["kernel"];
            kernel["release"]["value"] = "6.12.118+deb13-amd64".into();
            kernel["config"]["value"]["HZ"] = "1000".into();
            let line = kernel["command_line"]["value"].as_str().unwrap().to_owned() + " mitigations=off";
            kernel["command_line"]["value"] = line.into();
        }
        bench.write_run(&format!("{index:02}.run.json"), run);
    }
}

#[test]
fn a_change_is_shown_with_what_changed_on_the_machine() {
    let bench = Bench::new();
    write_runs(&bench, 20, 14);
    let shown = bench.run(&["history", ".", "-o", "history.html"]).exits(0).out;
    for part in [
        "20 runs in the order of their start: 1 run at which a figure changed.",
        "Run 14, nightly 14, started 2026-10-14T02:00:00Z",
        "Typical maximum of a second of doload: 12 us before, 17.4 us after, 44 % higher",
        "kernel: release",
        "6.12.118+deb13-amd64",
        "command line: mitigations",
        "option HZ",
        "Unchanged: p99.9 of no load",
    ] {
        assert!(shown.contains(part), "{part}:\n{shown}");
    }
    let document = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/history.md");
    let document = std::fs::read_to_string(document).unwrap();
    assert!(
        document.contains(&format!("```text sample\n{shown}```")),
        "the sample of docs/history.md is not:\n{shown}"
    );
    let page = std::fs::read_to_string(bench.path("history.html")).unwrap();
    assert!(page.contains("History of 20 runs") && page.contains(">run 14<") && page.contains("mitigations"));
    let json: Value = serde_json::from_str(&bench.run(&["history", ".", "--json"]).exits(0).out).unwrap();
    let changed =
        json["lines"].as_array().unwrap().iter().find(|line| line["changes"][0].is_object()).unwrap();
    assert_eq!(changed["changes"][0]["after"], 13);
    assert_eq!(changed["changes"][0]["differences"]["config"][0]["name"], "HZ");
}

#[test]
fn few_runs_and_damaged_files_are_named() {
    let bench = Bench::new();
    write_runs(&bench, 4, 9);
    std::fs::write(bench.path("damaged.run.json"), "{\"schema_version\": 1, \"broken\"").unwrap();
    let printed = bench.run(&["history", "."]).exits(1);
    assert!(printed.out.contains("too few to find a change: 6 of the same"), "{}", printed.out);
    assert!(printed.err.contains("damaged.run.json"), "{}", printed.err);
    bench.run(&["history", "no-such-directory"]).exits(1);
    bench.run(&["history", ".", "--least-change", "2"]).exits(2);
}

#[test]
fn a_page_is_not_overwritten() {
    let bench = Bench::new();
    write_runs(&bench, 4, 9);
    bench.run(&["history", ".", "-o", "history.html"]).exits(0);
    let again = bench.run(&["history", ".", "-o", "history.html"]).exits(1);
    assert!(again.err.contains("history.html"), "{}", again.err);
    bench.run(&["history", ".", "-o", "history.html", "--force"]).exits(0);
}
